"""Buckets of limits in this process's memory: what a parent keeps for its workers."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from promptcache_gateway.shared.base import Taken

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from promptcache_gateway.shared.base import Take

_MOST = 100_000


class Buckets:
    """Buckets by name; one that nobody has taken from is full.

    Args:
        clock: seconds of a clock that only runs forward.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._levels: dict[str, tuple[float, float]] = {}

    def take(self, takes: Sequence[Take]) -> Taken:
        """Take all or nothing."""
        now = self._clock()
        left = [self._left(take, now) for take in takes]
        granted = not any(take.wait_s(there) for take, there in zip(takes, left, strict=True))
        if granted:
            left = [there - take.amount for take, there in zip(takes, left, strict=True)]
        for take, there in zip(takes, left, strict=True):
            self._levels.pop(take.name, None)
            self._levels[take.name] = (there, now)
        while len(self._levels) > _MOST:
            del self._levels[next(iter(self._levels))]
        return Taken(granted, tuple(left))

    def _left(self, take: Take, now: float) -> float:
        left, at = self._levels.get(take.name, (take.size, now))
        return min(take.size, left + (now - at) * take.size / 60.0)
