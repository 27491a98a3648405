"""uvicorn's side of one request, with a shorter way for an answer that is there as a whole.

uvicorn takes an answer as two messages and looks at every header by itself, with two regular expressions
each. Here one call sends it all, and what is not plain (a connection to be closed, a header that cannot be
sent) is left to uvicorn, as streams are. An answer that broke off is cut without uvicorn's calling it an
error of the application.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from uvicorn.protocols.http.httptools_impl import (
    HEADER_RE,
    STATUS_LINE,
    RequestResponseCycle,
)

from promptcache_gateway.plane.hangup import CUT
from promptcache_gateway.upstreams.headers import is_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from uvicorn._types import ASGISendEvent

_WEIGHTY = frozenset({b"content-length", b"connection", b"transfer-encoding"})
_BODILESS = frozenset({204, 304})
_COPIED = 64 * 1024  # bytes of a body that are copied behind the head, rather than sent by themselves


class AnswerCycle(RequestResponseCycle):
    """One request and its answer."""

    def put(self, piece: bytes) -> int:
        """Take a piece of the body; how many bytes of it wait. One that comes as a whole is not copied."""
        before: bytes | bytearray = self.body
        if not before:
            self.body = piece  # type: ignore[assignment]  # read as it is, and never added to
        elif isinstance(before, bytes):
            self.body = bytearray(before) + piece
        else:
            before += piece
        self.message_event.set()
        return len(self.body)

    async def send(self, message: ASGISendEvent) -> None:
        """ASGI's send."""
        if message["type"] == CUT:
            self._cut()
            return
        await super().send(message)

    def _cut(self) -> None:
        """Close the connection behind what was sent."""
        self.disconnected = True  # to whom nothing more is owed
        self.transport.close()

    def body_at_once(self) -> bytes | None:
        """The whole body where it has come; None where it has to be waited for, or nobody waits any more."""
        if self.more_body or self.disconnected or self.response_complete:
            return None
        body, self.body = bytes(self.body), bytearray()
        self.flow.resume_reading()
        self.message_event.clear()
        return body

    def send_at_once(self, status: int, headers: Iterable[tuple[bytes, bytes]], body: bytes) -> bool:
        """Send a whole answer, its length added to the headers; False where it is not plain, and nothing
        has happened."""
        if self.response_started or self.disconnected or self.flow.write_paused or self.access_log:
            return False
        if not self.keep_alive or status in _BODILESS or self.scope["method"] == "HEAD":
            return False
        told = [*self.default_headers, *headers]
        names, values = zip(*told) if told else ((), ())  # noqa: B905 - they are pairs
        if not all(map(_is_plain, names)) or not is_text(b"".join(values)):
            return False
        lines = b"\r\n".join(map(b": ".join, told))
        end = b"\r\n" if told else b""
        self._write(b"%b%b%bcontent-length: %d\r\n\r\n" % (STATUS_LINE[status], lines, end, len(body)), body)
        self.response_started = self.response_complete = True
        self.waiting_for_100_continue = self.chunked_encoding = False
        self.message_event.set()
        self.on_response()
        return True

    def _write(self, head: bytes, body: bytes) -> None:
        if len(body) <= _COPIED:
            self.transport.write(head + body)
        else:
            self.transport.write(head)
            self.transport.write(body)


@lru_cache(maxsize=512)
def _is_plain(name: bytes) -> bool:
    """Whether a header's name can be sent as it is, and says nothing of the connection or the length."""
    return not HEADER_RE.search(name) and name == name.lower() and name not in _WEIGHTY
