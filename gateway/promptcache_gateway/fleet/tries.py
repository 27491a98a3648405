"""What one call has met at the replicas of a fleet: who was asked, who is to be, and what it gets in the end.

Nothing is sent here. A replica that refuses (401, 403, 404) what another then answers is at fault itself: a
key that was withdrawn, a model that was not loaded. Where two refuse, the request is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_gateway.errors import ApiError
from promptcache_gateway.upstreams.base import WholeReply

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptcache_gateway.fleet.replica import Replica

FAULT = 500
"""May be the request's own: it is repeated once only."""

BUSY = frozenset({429, FAULT, 502, 503, 529})
"""Answers that say that another replica had better be asked."""

FAILURES = frozenset({FAULT, 502, 503, 504, 529})
"""Answers that speak against a replica."""

REFUSALS = frozenset({401, 403, 404})
"""Answers that speak against a replica where another gives a better one."""

_NOT_FOUND = frozenset({"previous_response_not_found", "conversation_not_found"})
_TRIES = 3
_MOST_ASKED = 16  # replicas, for an answer that nobody here knows the home of


class Tries:
    """The tries of one call.

    Args:
        barred: names of replicas that it must not be sent to.
        searches: it goes on from an answer whose home is not known.

    Attributes:
        tried: names of those that it may not be sent to, or has been.
        begun: it has been sent to one.
    """

    def __init__(self, barred: Iterable[str] = (), *, searches: bool = False) -> None:
        self.tried = set(barred)
        self.begun = False
        self._searches, self._found_none = searches, False
        self._left = _MOST_ASKED if searches else _TRIES
        self._failure: ApiError | WholeReply | None = None
        self._refused: list[tuple[Replica, WholeReply]] = []

    @property
    def over(self) -> bool:
        """Whether no other replica is to be asked."""
        return self._left <= 0

    @property
    def refused(self) -> bool:
        """Whether there is an answer already, and another replica is only asked what it says."""
        return bool(self._refused)

    def unanswered(self, replica: Replica, error: ApiError) -> None:
        """Note that a replica did not answer."""
        self._note(replica)
        self._failure = error

    def unable(self, error: ApiError) -> None:
        """Note that there is nobody to be asked any longer."""
        self._failure = self._failure or error
        self._left = 0

    def answered(self, replica: Replica, reply: WholeReply) -> bool:
        """Note an answer; True where it is the one that the caller gets."""
        self._note(replica)
        if self._searches and _is_not_there(reply):
            self._found_none = True
            self._failure = self._failure or reply
            return False
        if reply.status in REFUSALS and not self._found_none:
            return self._refuse(replica, reply)
        if reply.status not in BUSY:
            self._judge(reply.status)
            return True
        repeated = isinstance(self._failure, WholeReply) and self._failure.status == reply.status == FAULT
        self._failure = reply
        self._left = 0 if repeated else min(self._left, _TRIES - 1)
        return False

    def answer(self) -> WholeReply:
        """What the caller gets where nothing better came; raises `ApiError`."""
        if self._refused:
            return self._refused[0][1]
        assert self._failure is not None, "a call that ends without an answer has met something"
        if isinstance(self._failure, WholeReply):
            return self._failure
        raise self._failure

    def streamed(self, status: int) -> None:
        """Note that a replica began to answer."""
        self._judge(status)

    def _note(self, replica: Replica) -> None:
        self.tried.add(replica.name)
        self.begun = True
        self._left -= 1

    def _refuse(self, replica: Replica, reply: WholeReply) -> bool:
        if self._refused:
            for earlier, _ in self._refused:
                earlier.circuit.succeeded()
            replica.circuit.succeeded()
            self._left = 0
            return False
        self._refused.append((replica, reply))
        self._left = min(self._left, 1)
        return False

    def _judge(self, status: int) -> None:
        """Where another has answered what these refused, the fault is theirs."""
        if status < 400:
            for replica, reply in self._refused:
                replica.refused_alone(reply.status)


def _is_not_there(reply: WholeReply) -> bool:
    """Whether an upstream says that it does not know an answer that a request goes on from."""
    return reply.status == 404 or (reply.status == 400 and reply.error in _NOT_FOUND)


def none_able(name: str, replicas: int, *, others: bool = False) -> ApiError:
    """What a call gets where no replica can be sent anything; ``others``: some have been asked."""
    message = f"None of the {replicas} {'other ' if others else ''}replicas of {name} can take requests."
    return ApiError(
        503, message, kind="upstream_error", code="upstream_unreachable", retry_after=5, unanswered=False
    )


def all_busy(name: str) -> ApiError:
    """What a call gets that waited too long for a replica with room."""
    message = f"Every replica of {name} has as many requests as it may have."
    return ApiError(429, message, kind="rate_limit_error", code="fleet_busy", retry_after=1)
