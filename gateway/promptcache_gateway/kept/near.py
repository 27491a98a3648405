"""Kept responses in memory, of this process and of those beside it on this machine.

The workers of one gateway tell each other what they keep and what they forget, through the parent's sockets:
a conversation's next turn may reach any of them. Nothing of it leaves the machine's memory.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import astuple
from typing import TYPE_CHECKING, Any, TypeVar

from promptcache_gateway.kept.memory import Memory
from promptcache_gateway.kept.patience import patiently
from promptcache_gateway.kept.response import Kept

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptcache_gateway.kept.settings import KeptSettings
    from promptcache_gateway.shared.through_parent import ThroughParent

_TOPIC = "kept-responses"
_LOOK_S = 60.0
_PAUSES_S = (0.01, 0.05, 0.2, 0.5)  # what a peer tells may come a moment after its caller's next request

T = TypeVar("T")


class InMemory:
    """A `Place` in memory.

    Args:
        settings: the bounds.
    """

    def __init__(self, settings: KeptSettings) -> None:
        self._memory = Memory(settings)
        self._peers: ThroughParent | None = None
        self._looking: asyncio.Task[None] | None = None

    def share(self, peers: ThroughParent) -> None:
        """Tell the other workers of this machine, and hear them."""
        self._peers = peers
        peers.on(_TOPIC, self._hear)

    async def start(self) -> None:
        """Begin to look for what is too old, also while nobody asks."""
        self._looking = asyncio.create_task(self._look())

    async def close(self) -> None:
        """End; what is kept is gone."""
        if self._looking is not None:
            self._looking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._looking

    def put(self, kept: Kept) -> bool:
        """Keep a response, here and at the peers."""
        if not self._memory.put(kept):
            return False
        self._tell("put", astuple(kept))
        return True

    async def chain(self, tenant: str, name: str, take: Callable[[int], None]) -> tuple[Kept, ...] | None:
        """A response and all before it; ``take`` is told how many bytes that is, and may refuse it."""
        found = await self._found(lambda: self._memory.chain(tenant, name, take))
        if found is not None:
            self._tell("use", (tenant, name))
        return found

    async def get(self, tenant: str, name: str) -> Kept | None:
        """One response."""
        return await self._found(lambda: self._memory.get(tenant, name))

    async def remove(self, tenant: str, name: str) -> bool:
        """Forget a response, here and at the peers."""
        there = await self._found(lambda: self._memory.remove(tenant, name))
        self._tell("remove", (tenant, name))
        return there

    def forget(self, tenant: str) -> None:
        """Forget all of a tenant's here; the peers are told by whoever told this process."""
        self._memory.forget(tenant)

    async def _found(self, question: Callable[[], T]) -> T:
        async def ask() -> T:
            return question()

        return await patiently(ask, _PAUSES_S if self._peers is not None else ())

    def _tell(self, what: str, value: Any) -> None:
        if self._peers is not None:
            self._peers.publish(_TOPIC, (what, value))

    def _hear(self, told: tuple[str, Any]) -> None:
        what, value = told
        if what == "put":
            self._memory.put(Kept(*value))
        elif what == "use":
            self._memory.chain(*value)
        else:
            self._memory.remove(*value)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_S)
            self._memory.expire()
