"""What the workers of one machine hold in common: their parent keeps the buckets and passes on the news."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from promptcache_gateway.shared.frames import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from promptcache_gateway.shared.base import Take, Taken
    from promptcache_gateway.shared.frames import Channel
    from promptcache_gateway.shared.link import Link

_PATIENCE_S = 0.05


class ThroughParent:
    """A worker's `Common`.

    Args:
        channel: to the parent.
        link: what hears the parent.
    """

    def __init__(self, channel: Channel, link: Link) -> None:
        self._channel = channel
        self._asked: dict[int, tuple[asyncio.Future[Taken], Sequence[Take]]] = {}
        self._number = 0
        self._hears: dict[str, Callable[[Any], None]] = {}
        link.on(Kind.LEVEL, self._answered)
        link.on(Kind.NEWS, self._hear)

    async def start(self) -> None:
        """Nothing: the channel is open."""

    async def close(self) -> None:
        """Nothing: the channel is another's."""

    async def take(self, takes: Sequence[Take]) -> Taken | None:
        """Take all or nothing of the parent's buckets; None where it does not answer at once."""
        self._number += 1
        answer: asyncio.Future[Taken] = asyncio.get_running_loop().create_future()
        if not self._channel.send(Kind.SPENT, (self._number, tuple(takes))):
            return None
        self._asked[self._number] = answer, takes
        try:
            return await asyncio.wait_for(answer, _PATIENCE_S)
        except TimeoutError:
            return None

    def charge(self, take: Take) -> None:
        """Have something taken."""
        self._channel.send(Kind.SPENT, (0, (take,)))

    def publish(self, topic: str, value: Any) -> None:
        """Tell the other workers."""
        self._channel.send(Kind.NEWS, (topic, value))

    def on(self, topic: str, hear: Callable[[Any], None], *, from_the_beginning: bool = False) -> None:
        """Hear the other workers; what was said before this one was there is not kept."""
        del from_the_beginning
        self._hears[topic] = hear

    def _answered(self, answer: tuple[int, Taken]) -> None:
        number, taken = answer
        waiting, takes = self._asked.pop(number)
        if not waiting.done():
            waiting.set_result(taken)
        elif taken.granted:
            self._give_back(takes)

    def _give_back(self, takes: Sequence[Take]) -> None:
        """What is granted too late is no advance: its request has gone by what this worker knows."""
        for take in takes:
            if take.advanced:
                self.charge(replace(take, needed=0.0, amount=-take.advanced, advanced=-take.advanced))

    def _hear(self, news: tuple[str, Any]) -> None:
        topic, value = news
        if topic in self._hears:
            self._hears[topic](value)
