"""uvicorn's side of one request, with a shorter way for an answer whose length is known.

uvicorn looks at every header by itself, with two regular expressions each. Here all are looked at
together, and what is not plain (a connection to be closed, a body in pieces, a header that cannot be
sent) goes its way. An answer that broke off is cut without uvicorn's calling it an error of the application.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uvicorn.protocols.http.httptools_impl import (
    HEADER_RE,
    HEADER_VALUE_RE,
    STATUS_LINE,
    RequestResponseCycle,
)

from promptcache_gateway.plane.hangup import CUT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from uvicorn._types import ASGISendEvent

_LENGTH = b"content-length"
_WEIGHTY = frozenset({_LENGTH, b"connection", b"transfer-encoding"})


class AnswerCycle(RequestResponseCycle):
    """One request and its answer. A cycle of uvicorn's becomes one by its class."""

    async def send(self, message: ASGISendEvent) -> None:
        """ASGI's send."""
        if not (self.flow.write_paused or self.disconnected or self.access_log) and self._sent(message):
            return
        if message["type"] == CUT:
            self._cut()
            return
        await super().send(message)

    def _cut(self) -> None:
        """Close the connection behind what was sent."""
        self.disconnected = True  # to whom nothing more is owed
        self.transport.close()

    def _sent(self, message: ASGISendEvent) -> bool:
        """Send what is plain; False where it is not, and nothing has happened."""
        if message["type"] == "http.response.start":
            return self._sent_head(message["status"], message.get("headers", ()))
        if message["type"] != "http.response.body" or message.get("more_body"):
            return False
        return self._sent_body(message.get("body", b""))

    def _sent_head(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        if self.response_started or not self.keep_alive or self.scope["method"] == "HEAD":
            return False
        sent = [*self.default_headers, *headers]
        names = [name for name, _ in sent]
        if [name for name in names if name in _WEIGHTY] != [_LENGTH]:
            return False
        values = [value for _, value in sent]
        length = values[names.index(_LENGTH)]
        said = b"".join(names)
        if HEADER_RE.search(said) or HEADER_VALUE_RE.search(b"".join(values)) or said != said.lower():
            return False
        if not length.isdigit():
            return False
        self.response_started = True
        self.waiting_for_100_continue = False
        self.expected_content_length = int(length)
        self.chunked_encoding = False
        lines = [b"%b: %b\r\n" % header for header in sent]
        self.transport.write(b"".join([STATUS_LINE[status], *lines, b"\r\n"]))
        return True

    def _sent_body(self, body: bytes) -> bool:
        """The whole body at once."""
        whole = self.chunked_encoding is False and len(body) == self.expected_content_length
        if not self.response_started or self.response_complete or not whole or self.scope["method"] == "HEAD":
            return False
        self.transport.write(body)
        self.expected_content_length = 0
        self.response_complete = True
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()
        return True
