"""Whose turn it is: requests in the order of their prefixes, each held while its leader computes its prefix.

A prefix that nobody has computed is led by one request. The others with it wait for the first byte of its
answer, since a cache can be read from then on, and other prefixes go on meanwhile. Waiting is bounded; a
leader that fails hands over to the next.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from promptcache_gateway.batch.prefixes import FREE

if TYPE_CHECKING:
    from collections.abc import Sequence

_NO_MORE = -1


class Turns:
    """Hands out places, from 0 on, to workers that ask.

    Args:
        leaders: for each place the place it waits for, or `FREE`.
        hold_s: seconds after a leader was sent, when the others are let go whatever it does.
    """

    def __init__(self, leaders: Sequence[int], *, hold_s: float) -> None:
        self._hold_s = hold_s
        self._held: dict[int, list[int]] = {}
        self._ready: asyncio.PriorityQueue[int] = asyncio.PriorityQueue()
        self._left = len(leaders)
        self._timers: dict[int, asyncio.TimerHandle] = {}
        for place, leader in enumerate(leaders):
            if leader == FREE:
                self._ready.put_nowait(place)
            else:
                self._held.setdefault(leader, []).append(place)

    async def next(self) -> int | None:
        """The next place whose turn it is, the first in order; None when all have had theirs."""
        if not self._left:
            return None
        place = await self._ready.get()
        if place == _NO_MORE:
            self._ready.put_nowait(_NO_MORE)  # for the next who asks
            return None
        self._left -= 1
        if not self._left:
            self._ready.put_nowait(_NO_MORE)
        if place in self._held:
            loop = asyncio.get_running_loop()
            self._timers[place] = loop.call_later(self._hold_s, self.begun, place)
        return place

    def begun(self, place: int) -> None:
        """The answer to a place has begun: let go whom it held."""
        if (timer := self._timers.pop(place, None)) is not None:
            timer.cancel()
        for follower in self._held.pop(place, ()):
            self._ready.put_nowait(follower)

    def failed(self, place: int) -> None:
        """A place has failed before its answer began: the first it held leads the others."""
        if (timer := self._timers.pop(place, None)) is not None:
            timer.cancel()
        followers = self._held.pop(place, [])
        if not followers:
            return
        first, *others = followers
        if others:
            self._held.setdefault(first, []).extend(others)
        self._ready.put_nowait(first)

    def stop(self) -> None:
        """Nobody has a turn any more."""
        self._left = 0
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._held.clear()
        self._ready.put_nowait(_NO_MORE)
