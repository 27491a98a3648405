"""A caller's connection within bounds: what is no HTTP, has too large a head or comes too slowly is refused.

The refusal has the API's own shape. Who takes nothing of an answer is hung up on: it would hold a place, and
the call behind it, for ever. Time is looked at once a second for all connections (`lose_patience`), so
that a request pays for it with two looks at a clock. What a request says is judged elsewhere.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from typing import TYPE_CHECKING

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from promptcache_gateway.error_shapes import error_body
from promptcache_gateway.errors import header_too_large, invalid_request, too_slow
from promptcache_gateway.plane.routes import shape_of
from promptcache_gateway.unsent import unsent_bytes

if TYPE_CHECKING:
    import asyncio

    from promptcache_gateway.errors import ApiError

_LEAST_RATE = 16 * 1024  # bytes a second
_AROUND = 4  # a header's colon, space and end of line
_AT_ONCE = struct.pack("ii", 1, 0)  # SO_LINGER: what the kernel holds for the caller is dropped, too
_TOO_LARGE = b"431 Request Header Fields Too Large"


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's protocol with limits.

    Attributes:
        max_header_bytes: the most bytes of a request's head.
        head_timeout_s: seconds in which a head must have come; 0: any.
        body_timeout_s: the same of a body, and a second more for every 16 KiB of it; 0: any.
        send_timeout_s: seconds in which some of what waits for the caller must have been taken; 0: any.
        stalled: the caller was hung up on because it took nothing.
    """

    max_header_bytes = 64 * 1024
    head_timeout_s = 0.0
    body_timeout_s = 0.0
    send_timeout_s = 0.0
    stalled = False
    _untaken = 0
    _taken_at: float | None = None
    _head_bytes = 0
    _body_bytes = 0
    _in_head = True
    _since: float | None = None
    _too_large = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody has connected; a request is expected."""
        self._since = self.loop.time()
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Take bytes from the network, unless the head they belong to does not end."""
        if not self._in_head:
            self._body_bytes += len(data)
        else:
            if not self._head_bytes:
                self._since = self.loop.time()
            self._head_bytes += len(data)
        super().data_received(data)
        if self._in_head and self._head_bytes > self.max_header_bytes and not self.transport.is_closing():
            self._refuse(_TOO_LARGE, header_too_large(self.max_header_bytes))

    def on_headers_complete(self) -> None:
        """The head has ended; what follows is a body."""
        if self._head_bytes > self.max_header_bytes and self._head_size() > self.max_header_bytes:
            self._too_large = True
            raise ValueError("too large")  # ends the parsing, and comes back in `send_400_response`
        self._in_head = False
        self._head_bytes = self._body_bytes = 0
        self._since = self.loop.time()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request has ended; what follows is another's head."""
        self._in_head = True
        self._since = None
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer bytes that are no request, and hang up."""
        if self._too_large:
            self._refuse(_TOO_LARGE, header_too_large(self.max_header_bytes))
        else:
            self._refuse(b"400 Bad Request", invalid_request(msg, code="invalid_http"))

    def resume_writing(self) -> None:
        """The caller has taken most of what waited for it."""
        self._taken_at = None
        super().resume_writing()

    def lose_patience(self, now: float) -> None:
        """Refuse a request that takes too long to come, and hang up on who takes nothing of an answer.

        ``now`` is the loop's time in seconds.
        """
        if self._takes_nothing(now):
            self._hang_up()
        else:
            self._refuse_late(now)

    def _takes_nothing(self, now: float) -> bool:
        """Whether the caller has taken none of what waits for it for too long, however much that is."""
        waiting = self.transport.get_write_buffer_size()
        if not (self.send_timeout_s and waiting and self._is_all_written()):
            self._taken_at = None
            return False
        untaken = waiting + unsent_bytes(self.transport)
        if self._taken_at is None or untaken != self._untaken:
            self._untaken, self._taken_at = untaken, now
        return now - self._taken_at > self.send_timeout_s

    def _is_all_written(self) -> bool:
        """Whether nothing is added to what waits, so that it only becomes less."""
        answered = self.cycle is None or self.cycle.response_complete
        return self.flow.write_paused or answered or self.transport.is_closing()

    def _hang_up(self) -> None:
        self.stalled = True
        with contextlib.suppress(OSError):
            self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        self.transport.abort()

    def _refuse_late(self, now: float) -> None:
        if self._since is None or self.transport.is_closing() or self._is_busy():
            return
        waited, limit = now - self._since, self.head_timeout_s
        if not self._in_head:
            limit = self.body_timeout_s + (self._body_bytes / _LEAST_RATE if self.body_timeout_s else 0.0)
        if not 0 < limit < waited:
            return
        if (self._in_head and not self._head_bytes) or (not self._in_head and self.cycle.response_complete):
            self.transport.close()  # there is nothing to answer, or it has its answer
        else:
            self._refuse(b"408 Request Timeout", too_slow("headers" if self._in_head else "body", waited))

    def _is_busy(self) -> bool:
        """Whether it is not the caller who is waited for, or something is being answered already."""
        cycle = self.cycle
        if self._in_head:
            return cycle is not None and not cycle.response_complete
        answering = cycle.response_started and not cycle.response_complete
        return answering or self.flow.read_paused or bool(self.pipeline)

    def _head_size(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + _AROUND for name, value in self.headers)

    def _refuse(self, status: bytes, error: ApiError) -> None:
        path = self.scope["path"] if self.scope is not None and "path" in self.scope else ""
        body = error_body(error, shape_of(path))
        head = b"HTTP/1.1 %s\r\ncontent-type: application/json\r\nconnection: close\r\n" % status
        self.transport.write(head + b"content-length: %d\r\n\r\n" % len(body) + body)
        self.transport.close()
