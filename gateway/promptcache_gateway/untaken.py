"""For how long the other end of a connection has taken none of what waits for it, however much that is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_gateway.unsent import unsent_bytes

if TYPE_CHECKING:
    import asyncio


class Untaken:
    """What waits for the other end, as it was at the last look; between two looks it only becomes less."""

    __slots__ = ("_since", "_size")

    def __init__(self) -> None:
        self._size = 0
        self._since: float | None = None

    def seconds(self, transport: asyncio.Transport, now: float) -> float:
        """Look at a transport for which something waits: seconds since some of it was last seen to be taken.

        ``now`` is the loop's time in seconds. The first look begins to count.
        """
        size = transport.get_write_buffer_size() + unsent_bytes(transport)
        if self._since is None or size != self._size:
            self._size, self._since = size, now
        return now - self._since

    def forget(self) -> None:
        """Begin anew: nothing waits, or more may be added to it."""
        self._since = None
