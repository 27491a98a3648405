"""When to ask again, and how long to wait before: what the server says, else twice as long each time.

Other requests wait too while a server asks for it: a limit is the account's, not the request's.
"""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_FIRST_S = 0.5
_MOST_S = 30.0
_ASKED_AT_MOST_S = 300.0


@dataclass(frozen=True, slots=True)
class Patience:
    """How often and how long.

    Attributes:
        retries: how often a request is sent again.
        first_s: seconds before the first time.
        most_s: the longest pause that is chosen here.
        asked_at_most_s: the longest pause a server may ask for; beyond it the request has failed.
        jitter: a number from 0 to 1, so that many do not come back in the same moment.
    """

    retries: int = 5
    first_s: float = _FIRST_S
    most_s: float = _MOST_S
    asked_at_most_s: float = _ASKED_AT_MOST_S
    jitter: Callable[[], float] = random.random

    def pause_s(self, attempt: int, status: int | None, headers: Mapping[str, str]) -> float | None:
        """Seconds to wait after a failed attempt; None: it is not asked for again.

        Args:
            attempt: how often it was sent.
            status: what was answered, or None where nothing was.
            headers: of the answer, whose names are found in any case.
        """
        if attempt > self.retries or not (status is None or status in _AGAIN):
            return None
        if headers.get("x-should-retry", "").strip().lower() == "false":
            return None
        asked = asked_s(headers)
        if asked is not None:
            return None if asked > self.asked_at_most_s else asked * (1 + self.jitter() / 10)
        return min(self.most_s, self.first_s * float(2 ** (attempt - 1))) * (0.5 + self.jitter() / 2)


def asked_s(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """The seconds an answer asks to wait, never below 0; None where it does not say.

    >>> asked_s({"retry-after-ms": "1500", "retry-after": "2"}), asked_s({"retry-after": "soon"})
    (1.5, None)
    """
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    try:
        moment = parsedate_to_datetime(headers.get("retry-after", ""))
    except (ValueError, TypeError, IndexError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    current = datetime.fromtimestamp(time.time() if now is None else now, UTC)
    return max(0.0, (moment - current).total_seconds())


class Pause:
    """A pause that all requests to one server keep."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until = clock()

    def ask(self, seconds: float) -> None:
        """Begin a pause, or make the present one longer."""
        self._until = max(self._until, self._clock() + seconds)

    async def keep(self) -> None:
        """Wait until it is over."""
        while (left := self._until - self._clock()) > 0:  # noqa: ASYNC110 - the moment may move
            await asyncio.sleep(left)
