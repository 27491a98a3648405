"""One connection to a foreign server: requests one after another, answers as httptools parses them.

What a head may hold, when an answer is complete and whether the connection may be used again is decided
here. Which connection a request gets is the pool's business, what an answer means its reader's.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import httptools

from promptcache_gateway.upstreams.http_answer import HttpAnswer

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptcache_gateway.upstreams.base import RawHeaders

_MAX_HEAD = 64 * 1024
_TOO_LARGE = f"its head is larger than {_MAX_HEAD:,} bytes"
_BROKEN_OFF = "it breaks off in its head"
_LEAST_STATUS, _MOST_STATUS = 100, 599
_COPIED = 16 * 1024
"""Bytes of a body that are cheaper to copy behind the head than to send by themselves."""


class BrokenAnswerError(ConnectionError):
    """Bytes of an answer came, but no head that can be read: the server may have done what was asked.

    Its text says why, and holds nothing of what the server said.
    """


class HttpConnection(asyncio.Protocol):
    """A connection that is idle or carries one exchange.

    Args:
        read_timeout_s: seconds of silence in the middle of an exchange after which it is given up.
        on_idle: called when an exchange has ended and another may follow.
        on_lost: called when the connection is gone.
    """

    def __init__(
        self,
        read_timeout_s: float,
        on_idle: Callable[[HttpConnection], None],
        on_lost: Callable[[HttpConnection], None],
    ) -> None:
        self.idle_since = 0.0
        self._read_timeout_s = read_timeout_s
        self._on_idle = on_idle
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parser: Any = httptools.HttpResponseParser(self)
        # What servers really send; the aiohttp client is as lenient.
        self._parser.set_dangerous_leniencies(
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )
        self._answer: HttpAnswer | None = None
        self._headers: RawHeaders = []
        self._head_bytes = 0
        self._in_head = True
        self._until_close = False
        self._stray = False
        self._heard = False
        self._unsent = 0
        self._deadline = 0.0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def closed(self) -> bool:
        """Whether nothing can be sent on it any more."""
        return self._transport is None or self._transport.is_closing()

    def send(self, head: bytes, body: bytes | None) -> HttpAnswer:
        """Send a request; its answer, of which nothing has come yet."""
        answer = self._answer = HttpAnswer(self, self._loop)
        self._heard = False
        self._unsent = 0
        if self._transport is None or self._transport.is_closing():
            self._fail(ConnectionResetError("the server has hung up"))
            return answer
        self._watch()
        if body is None:
            self._transport.write(head)
        elif len(body) <= _COPIED:
            self._transport.write(head + body)
        else:
            self._transport.writelines((head, body))
            self._unsent = self._transport.get_write_buffer_size()
        return answer

    def abort(self) -> None:
        """Hang up, whatever is under way."""
        self._fail(ConnectionAbortedError("given up"))

    def pause(self) -> None:
        """Stop reading: the answer's reader is behind."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def resume(self) -> None:
        """Read on."""
        self._deadline = self._loop.time() + self._read_timeout_s
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    # --- called by the event loop ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport) or hasattr(transport, "write")
        self._transport = transport  # type: ignore[assignment]  # uvloop's are no subclasses

    def data_received(self, data: bytes) -> None:
        """Take bytes from the network."""
        answer = self._answer
        if answer is None:
            self.abort()  # nothing was asked
            return
        self._deadline = self._loop.time() + self._read_timeout_s
        self._heard = True
        self._head_bytes += len(data) if self._in_head else 0
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(ConnectionResetError(f"it is no HTTP ({type(error).__name__})"))
        if self._stray:
            self.abort()
        elif self._in_head and self._head_bytes > _MAX_HEAD:
            self._fail(ConnectionResetError(_TOO_LARGE))
        answer.wake()

    def connection_lost(self, error: Exception | None) -> None:
        """The server is gone; that completes a body whose length it did not announce."""
        answer = self._answer
        if answer is not None and self._until_close and error is None:
            self._answer = None
            answer.end()
            answer.wake()
        self._fail(error if isinstance(error, OSError) else ConnectionResetError(_BROKEN_OFF))
        self._on_lost(self)

    def resume_writing(self) -> None:
        """All but a little of a large request is sent: a sign of life."""
        self._unsent = 0
        self._deadline = self._loop.time() + self._read_timeout_s

    # --- called by the parser ---

    def on_message_begin(self) -> None:
        """An answer begins; one that nobody asked for must not pass for the next one's."""
        self._stray = self._answer is None

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or a trailer, which is dropped."""
        if self._in_head:
            self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """A head has come; one that only says that another will follow is skipped."""
        status, headers = self._parser.get_status_code(), self._headers
        self._headers = []
        if self._answer is None or _LEAST_STATUS <= status < 200:
            return
        if not _LEAST_STATUS <= status <= _MOST_STATUS:
            self._fail(ConnectionResetError(f"there is no status {status}"))
            return
        if self._head_bytes > _MAX_HEAD and _size(headers) > _MAX_HEAD:  # the first may count a body, too
            self._fail(ConnectionResetError(_TOO_LARGE))
            return
        self._in_head = False
        self._head_bytes = 0
        self._until_close = status not in {204, 304} and not _is_framed(headers)
        self._answer.begin(status, headers)

    def on_body(self, piece: bytes) -> None:
        """A piece of the body."""
        if self._answer is not None:
            self._answer.put(piece)

    def on_message_complete(self) -> None:
        """An answer is complete."""
        answer, transport = self._answer, self._transport
        if answer is None or self._in_head or transport is None:
            return
        self._answer = None
        self._in_head = True
        answer.end()
        if not self._parser.should_keep_alive() or transport.get_write_buffer_size():
            transport.abort()  # to close would be to wait until the server has read the rest of the request
        elif not transport.is_closing():
            self.idle_since = self._loop.time()
            self._on_idle(self)

    # --- time, and ends ---

    def _watch(self) -> None:
        """Look at the clock at the deadline; one that has been moved by then is waited for again."""
        self._deadline = self._loop.time() + self._read_timeout_s
        if self._timer is None:
            self._timer = self._loop.call_at(self._deadline, self._when_due)

    def _when_due(self) -> None:
        self._timer = None
        answer, transport = self._answer, self._transport
        if answer is None or transport is None:
            return
        unsent = transport.get_write_buffer_size()
        if answer.paused or unsent < self._unsent:  # it is we who are slow, or the server takes the request
            self._deadline = self._loop.time() + self._read_timeout_s
        self._unsent = unsent
        if self._loop.time() < self._deadline:
            self._timer = self._loop.call_at(self._deadline, self._when_due)
        else:
            self._fail(TimeoutError("silence"))

    def _fail(self, error: OSError) -> None:
        answer, self._answer = self._answer, None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._transport is not None:
            self._transport.abort()
        if answer is not None:
            if self._heard and not answer.status and not isinstance(error, TimeoutError):
                error = BrokenAnswerError(_BROKEN_OFF if error.errno else str(error))
            answer.fail(error)


def _size(headers: RawHeaders) -> int:
    return sum([len(name) + len(value) for name, value in headers])


def _is_framed(headers: RawHeaders) -> bool:
    """Whether the head tells where the body ends."""
    for name, value in headers:
        if name == b"content-length":
            return True
        if name == b"transfer-encoding":
            return value.lower().rstrip().endswith(b"chunked")
    return False
