"""Which replicas of a fleet may take a call now. Which of them gets it is the router's to say.

Replicas that failed in a row are left alone, each by itself: no replica's fault and no request's takes the
fleet away. Where all have been left alone, those that still speak are tried all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_gateway.errors import OUT_OF_FILES, ApiError
from promptcache_gateway.fleet.tries import BUSY, FAILURES, REFUSALS, none_able

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from promptcache_gateway.fleet.members import Members
    from promptcache_gateway.fleet.replica import Replica
    from promptcache_gateway.upstreams.base import Upstream, WholeReply

_MOST_SILENT, _MOST_ANSWERS = 16, 3


class Eligible:
    """Those of a fleet's replicas that may take a call.

    Args:
        replicas: the fleet's, as they are when it is asked.
    """

    def __init__(self, replicas: Members) -> None:
        self._replicas = replicas

    def candidates(self, tried: set[str]) -> list[Replica]:
        """Those that may take a call, with room or without: the well ones, else all that can be tried."""
        known = [one for one in self._replicas if one.serves and one.name not in tried]
        well = [one for one in known if one.well]
        closed = well or [one for one in known if not one.circuit.is_open]
        return closed or [one for one in known if one.speaks]

    def able(self, tried: set[str]) -> list[Replica]:
        """Those of them with room."""
        return [one for one in self.candidates(tried) if one.has_room]

    def any_room(self, tried: set[str]) -> bool:
        """Whether a call can go anywhere."""
        return bool(self.able(tried)) or any(one.is_due and one.name not in tried for one in self._replicas)

    def to_be_probed(self, tried: set[str]) -> Replica | None:
        """A replica that was left alone for long enough: one call finds out how it is."""
        due = (one for one in self._replicas if one.is_due and one.name not in tried)
        return next((one for one in due if one.circuit.allows()), None)

    async def ask(self, name: str, question: Callable[[Upstream], Awaitable[WholeReply]]) -> WholeReply:
        """Ask what any replica can tell, the next one where one does not.

        What is asked is no request to a model: an answer speaks neither for a replica nor against it, only
        silence does.

        Args:
            name: the fleet's, for messages.
            question: asks one replica.

        Raises:
            ApiError: none could tell.
        """
        tried: set[str] = set()
        answers: list[WholeReply] = []
        silence: ApiError | None = None
        while len(tried) < _MOST_SILENT and len(answers) < _MOST_ANSWERS:
            able = self.able(tried) or self.candidates(tried)
            if not able:
                break
            tried.add(able[0].name)
            try:
                reply = await question(able[0].upstream)
            except ApiError as error:
                if error.status in FAILURES and error.code != OUT_OF_FILES:
                    able[0].failed()
                if not error.unanswered:
                    raise
                silence = error
                continue
            if reply.status not in BUSY | REFUSALS:
                return reply
            if reply.status in REFUSALS and any(one.status in REFUSALS for one in answers):
                break  # where two refuse, the question is at fault
            answers.append(reply)
        if answers:
            return answers[0]
        raise silence or none_able(name, len(self._replicas))
