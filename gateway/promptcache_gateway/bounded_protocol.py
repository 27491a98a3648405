"""A caller's connection within bounds: what is no HTTP, has too large a head or comes too slowly is refused.

The refusal has the API's own shape. Who takes nothing of an answer is hung up on: it would hold a place, and
the call behind it, for ever. Time is looked at once a second for all connections (`lose_patience`), so
that a request pays for it with two looks at a clock. What a request says is judged elsewhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from typing import TYPE_CHECKING

import httptools
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from promptcache_gateway.answer_cycle import AnswerCycle
from promptcache_gateway.error_shapes import error_body
from promptcache_gateway.errors import header_too_large, invalid_request, too_slow
from promptcache_gateway.gone import has_hung_up
from promptcache_gateway.known_headers import LastHeaders
from promptcache_gateway.other_protocol import without_upgrade
from promptcache_gateway.plane.routes import shape_of
from promptcache_gateway.request_target import cut_target
from promptcache_gateway.untaken import Untaken

if TYPE_CHECKING:
    from promptcache_gateway.errors import ApiError

_LEAST_RATE = 16 * 1024  # bytes a second
_INVALID = "Invalid HTTP request received."
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

    cycle: AnswerCycle
    _answering: RequestResponseCycle | None = None  # `cycle` is the last that has come
    _last_headers: LastHeaders
    _untaken: Untaken
    max_header_bytes = 64 * 1024
    head_timeout_s = 0.0
    body_timeout_s = 0.0
    send_timeout_s = 0.0
    stalled = False
    _packet = 0  # bytes of what is being parsed: several heads may be in it
    _head_bytes = 0
    _body_bytes = 0
    _outside = 0  # bytes since the last of a body: trailers, extensions of chunks
    _deaf = False  # what comes is not looked at any more
    _declines = False  # the caller would rather speak another protocol
    _in_head = True
    _since: float | None = None
    _idle_since: float | None = None  # its answer is out and nothing more has come
    _too_large = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody has connected; a request is expected."""
        self._since = self.loop.time()
        self._last_headers = LastHeaders()
        self._untaken = Untaken()
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """The caller is gone, also to the answer under way when more requests have come behind it."""
        super().connection_lost(exc)
        self.pipeline.clear()
        if self._answering is not None and not self._answering.response_complete:
            self._answering.disconnected = True
            self._answering.message_event.set()

    def data_received(self, data: bytes) -> None:
        """Take bytes from the network, unless the head or the trailers they belong to do not end."""
        if self._deaf:
            return
        if not self._in_head:
            self._body_bytes += len(data)
            self._outside += len(data)
        else:
            if not self._head_bytes:
                self._since = self.loop.time()
            self._head_bytes += len(data)
        self._parse(data)
        beyond = self._head_bytes if self._in_head else self._outside
        if beyond > self.max_header_bytes and not (self._deaf or self.transport.is_closing()):
            self._refuse(_TOO_LARGE, header_too_large(self.max_header_bytes))

    def _parse(self, data: bytes) -> None:
        self._packet = len(data)
        self._idle_since = None
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._stay(data[upgrade.args[0] :])
        except httptools.HttpParserError:
            self.send_400_response(_INVALID)

    def _stay(self, rest: bytes) -> None:
        """Read a request on as the HTTP/1.1 it is, without its wish for another protocol (RFC 9110, 7.8).

        The parser would take ``rest``, the request's body, for the other protocol's bytes.
        """
        parser = self.parser
        head = without_upgrade(parser.get_method(), self.url, parser.get_http_version(), self.headers)
        self._declines = False
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn's own
        self._parse(head + rest)

    def on_message_begin(self) -> None:
        """A head begins, be it in the middle of what has come."""
        if self._since is None:
            self._since = self.loop.time()
        self._head_bytes = self._head_bytes or 1
        HttpToolsProtocol.on_message_begin(self)  # by its name, which is cheaper, here as below

    def on_headers_complete(self) -> None:
        """The head has ended; what follows is a body."""
        most = self.max_header_bytes
        if (self._head_bytes > most or self._packet > most) and self._head_size() > most:
            self._too_large = True
            raise ValueError("too large")  # ends the parsing, and comes back in `send_400_response`
        if self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT":
            self._declines = True  # `_stay` begins again
            return
        self._begin()
        self.headers = []  # trailers are no headers of the request, whatever their names (RFC 9110, 6.5.1)
        self._in_head = False
        self._head_bytes = self._body_bytes = self._outside = 0
        self._since = self.loop.time()

    def _begin(self) -> None:
        """Begin to answer a request whose head has come, or have it wait for the one before."""
        parser, scope, before = self.parser, self.scope, self.cycle
        version = parser.get_http_version()
        scope["method"] = parser.get_method().decode("ascii")
        if version != "1.1":
            scope["http_version"] = version
        scope["path"], scope["raw_path"], scope["query_string"] = cut_target(self.url)
        scope["headers"] = self._last_headers.of(self.headers)
        self.cycle = AnswerCycle(
            scope,
            self.transport,
            self.flow,
            self.logger,
            self.access_logger,
            self.access_log,
            self.server_state.default_headers,
            asyncio.Event(),
            self.expect_100_continue,
            version != "1.0" and parser.should_keep_alive(),
            self.on_response_complete,
        )
        if before is None or before.response_complete:
            self._answering = self.cycle
            self._start_asgi_task(self.cycle, self.app)
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((self.cycle, self.app))

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        self._outside = 0
        cycle = self.cycle
        if not cycle.response_complete and cycle.put(body) > HIGH_WATER_LIMIT:
            self.flow.pause_reading()

    def on_message_complete(self) -> None:
        """The request has ended; what follows is another's head."""
        if self._declines:
            return
        self._in_head = True
        self._since = None
        cycle = self.cycle
        if not cycle.response_complete:
            cycle.more_body = False
            cycle.message_event.set()
        if self.flow.read_paused and not self.pipeline:
            self.flow.resume_reading()  # nobody asks for more of it, and who reads nothing sees no hang-up

    def on_response_complete(self) -> None:
        """An answer is out. One that waits is begun; else the caller may take its time, and no timer is set:
        `lose_patience` looks at the clock for all connections."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._answering, app = self.pipeline.pop()
            self._start_asgi_task(self._answering, app)
        else:
            self._idle_since = self.loop.time()

    def send_400_response(self, msg: str) -> None:
        """Answer bytes that are no request, and hang up."""
        if self._too_large:
            self._refuse(_TOO_LARGE, header_too_large(self.max_header_bytes))
        else:
            self._refuse(b"400 Bad Request", invalid_request(msg, code="invalid_http"))

    def resume_writing(self) -> None:
        """The caller has taken most of what waited for it."""
        self._untaken.forget()
        super().resume_writing()

    def lose_patience(self, now: float) -> None:
        """Refuse a request that takes too long to come. Hang up on who takes nothing of an answer, is gone
        where nothing is read, or has not asked for long.

        ``now`` is the loop's time in seconds.
        """
        if self._takes_nothing(now):
            self.stalled = True
            self.drop()
        elif self.flow.read_paused and has_hung_up(self.transport):
            self.drop()
        elif self._idle_since is not None and now - self._idle_since > self.timeout_keep_alive:
            self.transport.close()
        else:
            self._refuse_late(now)

    def _takes_nothing(self, now: float) -> bool:
        """Whether the caller has taken none of what waits for it for too long."""
        waits = self.transport.get_write_buffer_size() > 0
        if not (self.send_timeout_s and waits and self._is_all_written()):
            self._untaken.forget()
            return False
        return self._untaken.seconds(self.transport, now) > self.send_timeout_s

    def _is_all_written(self) -> bool:
        """Whether nothing is added to what waits, so that it only becomes less."""
        answered = self.cycle is None or self.cycle.response_complete
        return self.flow.write_paused or answered or self.transport.is_closing()

    async def taken(self) -> None:
        """Wait until the caller has taken all that was written but for a little, or is gone."""
        if self.flow.write_paused:
            await self.flow.drain()

    def drop(self) -> None:
        """Hang up at once, whatever waits for the caller."""
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

    def note_refused(self, error: ApiError) -> None:
        """Hear what a request is refused for; a server may have it counted."""

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
        """Answer what is no request and hang up, unless that would end up within another's answer."""
        cycle = self.cycle
        self._deaf = True
        if self._in_head and cycle is not None and not cycle.response_complete:
            cycle.keep_alive = False  # what is wrong came behind it: its answer is the last
            return
        if not self._in_head and cycle.response_started:
            self.transport.close()
            return
        self.note_refused(error)
        path = self.scope["path"] if self.scope is not None and "path" in self.scope else ""
        body = error_body(error, shape_of(path))
        head = b"HTTP/1.1 %s\r\ncontent-type: application/json\r\nconnection: close\r\n" % status
        self.transport.write(head + b"content-length: %d\r\n\r\n" % len(body) + body)
        self.transport.close()
