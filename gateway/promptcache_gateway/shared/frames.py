"""Messages between the processes of one gateway, over a pair of sockets that nobody else can reach.

A frame is a length, a kind and a body. Sending never waits: what a peer that has fallen far behind cannot
take is not sent, and the sender is told. Bodies are pickled by their senders and unpickled by those whom they
concern; both are the same program, and the sockets were never anybody else's.
"""

from __future__ import annotations

import asyncio
import pickle
import struct
import threading
from enum import IntEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator

_HEAD = struct.Struct("!IB")
_MOST_WAITING = 64 << 20
_LIMIT = 1 << 20


class Kind(IntEnum):
    """What a frame says.

    From a worker to its parent: ``READY`` (it answers requests), ``RECORD`` (a request has ended),
    ``LEARNED`` (a template), ``STANDS`` (its answer to ``ASK``), ``SPENT`` (what is taken of limits; what is
    charged in advance is marked, and so is its settlement). Between workers, passed on by the
    parent: ``SEEN`` (a request has come in), ``SETTLED`` (how it ended). From the parent to its workers:
    ``WELCOME`` (what is known of old), ``RECALL`` (a template another one learned), ``ASK`` (how do things
    stand?), ``RENAME``, ``FORGET`` (a tenant), ``DRAIN`` (a replica), ``LEVEL`` (what is left of limits,
    where ``SPENT`` asked).
    ``NEWS`` of a topic goes from one worker to all others.
    """

    READY = 1
    RECORD = 2
    LEARNED = 3
    STANDS = 4
    SEEN = 5
    SETTLED = 6
    WELCOME = 7
    RECALL = 8
    ASK = 9
    RENAME = 10
    FORGET = 11
    SPENT = 12
    LEVEL = 13
    NEWS = 14
    DRAIN = 15


class Channel:
    """One end of the sockets. It belongs to one event loop; any thread may send through it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._loop, self._thread = asyncio.get_running_loop(), threading.get_ident()

    @classmethod
    async def open(cls, end: socket.socket) -> Channel:
        """A channel over a connected socket, which it owns from now on."""
        end.setblocking(False)  # noqa: FBT003 - the socket's own method
        return cls(*await asyncio.open_connection(sock=end, limit=_LIMIT))

    def send(self, kind: Kind, value: Any = None) -> bool:
        """Send a value; False where the peer is gone, or too far behind to take it."""
        return self.pass_on(kind, pickle.dumps(value, pickle.HIGHEST_PROTOCOL))

    def pass_on(self, kind: Kind, body: bytes) -> bool:
        """Send a body that is pickled already."""
        transport = self._writer.transport
        if transport.is_closing() or transport.get_write_buffer_size() > _MOST_WAITING:
            return False
        frame = (_HEAD.pack(len(body), kind), body)
        if threading.get_ident() == self._thread:
            self._writer.writelines(frame)
            return True
        try:
            self._loop.call_soon_threadsafe(self._writer.writelines, frame)
        except RuntimeError:  # the loop is closed
            return False
        return True

    async def frames(self) -> AsyncIterator[tuple[Kind, bytes]]:
        """What the peer sends, until it is gone."""
        try:
            while True:
                length, kind = _HEAD.unpack(await self._reader.readexactly(_HEAD.size))
                yield Kind(kind), await self._reader.readexactly(length)
        except (asyncio.IncompleteReadError, ConnectionError):
            return

    async def close(self) -> None:
        """Send what is still waiting, and close."""
        try:
            self._writer.close()
            await self._writer.wait_closed()
        except (ConnectionError, OSError):
            pass


def unpack(body: bytes) -> Any:
    """The value of a frame from a process of our own."""
    return pickle.loads(body)  # noqa: S301 - see the module's docstring
