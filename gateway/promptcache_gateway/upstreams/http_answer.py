"""A foreign server's answer while it arrives: its head at once, its body as it is asked for.

The connection puts in what it parses, the reader takes it out. Where the reader is slower than the server,
the connection stops reading, so that a caller who does not read fills nobody's memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator

    from promptcache_gateway.upstreams.base import RawHeaders

_HIGH_WATER = 256 * 1024
_TE = b"transfer-encoding"


class Wire(Protocol):
    """What an answer does to the connection it comes by."""

    def pause(self) -> None:
        """Read nothing more for now."""
        ...

    def resume(self) -> None:
        """Read on."""
        ...

    def abort(self) -> None:
        """Close at once, whatever is on its way."""
        ...


class HttpAnswer:
    """One answer on one connection.

    Args:
        connection: by which it comes.
        loop: where it is waited for.

    Attributes:
        status: HTTP status, 0 until the head has come.
        headers: as received, names in lower case.
        complete: the whole body has come, whether or not it has been read.
        paused: its reader is behind, and nothing more is read from the network until it has caught up.
    """

    __slots__ = (
        "_buffered",
        "_connection",
        "_error",
        "_loop",
        "_pieces",
        "_waiter",
        "complete",
        "headers",
        "paused",
        "status",
    )

    def __init__(self, connection: Wire, loop: asyncio.AbstractEventLoop) -> None:
        self.status = 0
        self.headers: RawHeaders = []
        self.complete = False
        self.paused = False
        self._connection = connection
        self._loop = loop
        self._pieces: list[bytes] = []
        self._buffered = 0
        self._error: OSError | None = None
        self._waiter: asyncio.Future[None] | None = None

    # --- the reader's side ---

    @property
    def buffered(self) -> int:
        """Bytes of the body that have come and have not been read."""
        return self._buffered

    @property
    def content_length(self) -> int | None:
        """The announced length of the body in bytes, None where it is not announced."""
        announced = b""
        for name, value in self.headers:
            if name == b"content-length":
                announced = announced or value
            elif name == _TE and value:
                return None
        return int(announced) if announced.isdigit() else None

    def header(self, name: bytes) -> bytes:
        """The first value of a header by its name in lower case, empty where there is none."""
        for known, value in self.headers:
            if known == name:
                return value
        return b""

    async def head(self) -> None:
        """Wait for status and headers; raises `OSError` or `TimeoutError` where they do not come."""
        while not self.status:
            await self._more()

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body as it comes; raises `OSError` or `TimeoutError` where it breaks off."""
        while True:
            if self._pieces:
                yield self._take()
            elif self.complete:
                return
            else:
                await self._more()

    async def read(self) -> bytes:
        """The rest of the body; raises as `pieces` does."""
        if self.complete:
            return self._take()
        return b"".join([piece async for piece in self.pieces()])

    def close(self) -> None:
        """Give up what has not come; of a complete answer nothing is left to give up."""
        if not self.complete:
            self._connection.abort()

    def _take(self) -> bytes:
        pieces = self._pieces
        taken = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        pieces.clear()
        self._buffered = 0
        self._read_on()
        return taken

    def _read_on(self) -> None:
        if self.paused:
            self.paused = False
            self._connection.resume()

    async def _more(self) -> None:
        if self._error is not None:
            raise self._error
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    # --- the connection's side ---

    def begin(self, status: int, headers: RawHeaders) -> None:
        """The head has come. Here as below: whoever waits hears of it by `wake`."""
        self.status, self.headers = status, headers

    def put(self, piece: bytes) -> None:
        """A piece of the body has come."""
        self._pieces.append(piece)
        self._buffered += len(piece)
        if self._buffered > _HIGH_WATER and not self.paused:
            self.paused = True
            self._connection.pause()

    def end(self) -> None:
        """The body is complete; the connection reads on, for its next request."""
        self.complete = True
        if self.paused:
            self._read_on()

    def fail(self, error: OSError) -> None:
        """Nothing more will come."""
        self._error = error
        self.wake()

    def wake(self) -> None:
        """Have the reader look at what has come: once for all that came together."""
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)
