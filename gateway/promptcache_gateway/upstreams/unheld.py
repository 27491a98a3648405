"""A foreign server's answer that cannot be held whole, too large or for want of room: it goes on as it comes.

Whoever speaks the server's API gets its bytes all the same. What it cost stands at its end as a rule, and is
read there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import orjson

from promptcache.usage import Usage
from promptcache_gateway.upstreams.headers import to_caller

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from promptcache_gateway.exchange import EngineFacts
    from promptcache_gateway.upstreams.base import StreamReply
    from promptcache_gateway.upstreams.http_answer import HttpAnswer
    from promptcache_gateway.upstreams.whole_bodies import NotHeldError

_TAIL = 64 * 1024
_USAGE = re.compile(rb'"usage"\s*:\s*\{')
_ID = re.compile(rb'\s*\{\s*"id"\s*:\s*"([A-Za-z0-9_.:-]{1,128})"')
_MAX_DRAINED = 256 * 1024 * 1024


class UnheldStream:
    """A `StreamReply` over such an answer: no events.

    Attributes:
        unheld: what is to be said to a caller who cannot be given these bytes.
    """

    events = False
    engine: EngineFacts | None = None
    first_output_at: float | None = None

    def __init__(self, answer: HttpAnswer, met: NotHeldError) -> None:
        """``met`` holds what has been read, and what that takes of the memory for answers."""
        self._answer = answer
        self._parts, self._hold = met.parts, met.hold
        self._readable = answer.header(b"content-encoding").strip().lower() in {b"", b"identity"}
        self._tail = bytearray()
        self._begun = False
        self.unheld = met.why
        self.status = answer.status
        self.headers = to_caller(answer.headers, decoded=False)
        self.usage = Usage.unreported()
        self.response_id: str | None = None
        self.error: str | None = None

    async def pieces(self) -> AsyncIterator[bytes]:
        """The server's bytes. One that breaks off has an error and no last piece."""
        while self._parts:
            yield self._noted(self._parts.pop(0))
        self._end_hold()
        try:
            async for piece in self._answer.pieces():
                yield self._noted(piece)
        except TimeoutError:
            self.error = "upstream_timeout"
        except OSError:
            self.error = "upstream_disconnected"
        else:
            self._note_usage()

    async def close(self) -> None:
        """Drop the connection if the answer is not over."""
        self._answer.close()
        self._end_hold()

    def _end_hold(self) -> None:
        if self._hold is not None:
            self._hold.end()

    def _noted(self, piece: bytes) -> bytes:
        if not self._begun:
            self._begun = True
            match = _ID.match(piece)
            self.response_id = None if match is None else match[1].decode()
        self._tail += piece
        if len(self._tail) > 2 * _TAIL:
            del self._tail[:-_TAIL]
        return piece

    def _note_usage(self) -> None:
        usage = last_usage(bytes(self._tail)) if self._readable else None
        if usage is not None:
            self.usage = usage


async def drained(reply: StreamReply) -> None:
    """Read an answer to its end for what it cost, and drop it; one that does not end is given up."""
    size = 0
    try:
        async for piece in reply.pieces():
            size += len(piece)
            if size > _MAX_DRAINED:
                return
    finally:
        await reply.close()


def last_usage(tail: bytes) -> Usage | None:
    """The usage among the last members of a JSON object of which the end is there; None: it is not.

    A key is one of the object's own where it and what follows make an object by themselves: in one below
    there is a bracket too many, and quotes in a text are escaped.
    """
    for found in _USAGE.finditer(tail):
        try:
            payload = orjson.loads(b"{" + tail[found.start() :])
        except orjson.JSONDecodeError:
            continue
        return Usage.from_response(payload)
    return None
