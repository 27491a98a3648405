"""What a place must do in which responses are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptcache_gateway.kept.response import Kept
    from promptcache_gateway.shared.through_parent import ThroughParent


class Place(Protocol):
    """A place for kept responses. What it cannot answer now it says with `ApiError` 503."""

    def share(self, peers: ThroughParent) -> None:
        """Know of the other workers of this machine. Call it before `start`."""
        ...

    async def start(self) -> None:
        """Begin; raises `StartupError` where it cannot be used."""
        ...

    async def close(self) -> None:
        """End, after what waits has been written."""
        ...

    def put(self, kept: Kept) -> bool:
        """Keep a response; never waits. False where it is not kept."""
        ...

    async def chain(self, tenant: str, name: str, take: Callable[[int], None]) -> tuple[Kept, ...] | None:
        """A response and all before it, the first one first; None where any of them is not there.

        ``take`` is told how many bytes it is before it is read, from any thread; what it raises goes on.
        """
        ...

    async def get(self, tenant: str, name: str) -> Kept | None:
        """One response, None where there is none."""
        ...

    async def remove(self, tenant: str, name: str) -> bool:
        """Forget a response; False where it was not there."""
        ...

    def forget(self, tenant: str) -> None:
        """Forget all of a tenant's; from any thread."""
        ...
