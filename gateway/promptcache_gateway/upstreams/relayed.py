"""A foreign server's answer while it streams: its bytes go on as they come.

What events say of usage is noticed by `EventRelay`, and whether they came to their end by `endings`; this
module owns the connection, and turns a death on the way into an error event in the API's shape.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from promptcache.usage import Usage
from promptcache_gateway.error_shapes import error_event
from promptcache_gateway.errors import ApiError
from promptcache_gateway.upstreams.endings import TORN, Ending
from promptcache_gateway.upstreams.event_relay import EventRelay
from promptcache_gateway.upstreams.headers import to_caller

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from promptcache_gateway.exchange import Dialect, EngineFacts
    from promptcache_gateway.upstreams.http_answer import HttpAnswer

# What the first event with generated output holds; events before it come before the prompt is computed.
_OPENINGS: dict[Dialect, bytes] = {
    "anthropic.messages": b"content_block_",
    "openai.responses": b".delta",
}


class RelayedStream:
    """A `StreamReply` over an answer that is still coming."""

    engine: EngineFacts | None = None

    def __init__(self, answer: HttpAnswer, dialect: Dialect, *, withhold_usage: bool) -> None:
        self._answer = answer
        self._dialect = dialect
        self._opening = _OPENINGS.get(dialect, b"data:")
        self._relay = EventRelay(withhold_usage=withhold_usage)
        compressed = answer.header(b"content-encoding").strip().lower() not in {b"", b"identity"}
        # Compressed events cannot be read; they go through as they are.
        self.events = streams_events(answer) and not compressed
        self.status = answer.status
        self.headers = to_caller(answer.headers, decoded=False)
        self.first_output_at: float | None = None
        self.error: str | None = None

    @property
    def response_id(self) -> str | None:
        """The ``id`` of the first event that had one."""
        return self._relay.response_id

    @property
    def usage(self) -> Usage:
        """The last usage the events carried."""
        chunks = self._relay.chunks
        return Usage.from_stream(chunks) if chunks else Usage.unreported()

    async def pieces(self) -> AsyncIterator[bytes]:
        """The server's bytes, whole events at a time where they are events."""
        feed = self._relay.feed if self.events else _as_it_is
        ending = Ending(self._dialect)
        try:
            async for data in self._answer.pieces():
                piece = feed(data)
                if self.first_output_at is None and self._opening in piece:
                    self.first_output_at = time.perf_counter()
                if piece:
                    ending.note(piece)
                    yield piece
        except TimeoutError:
            yield self._death("upstream_timeout", "stopped sending")
        except OSError:
            yield self._death("upstream_disconnected", "closed the connection before its answer was complete")
        else:
            rest = self._relay.finish()
            if rest:
                ending.note(rest)
                yield rest
            if self.events and self.status < 400 and self._relay.error is None and not ending.came():
                self.error = TORN
        self.error = self.error or self._relay.error

    async def close(self) -> None:
        """Drop the connection if the answer is not over; a finished one is back in the pool."""
        self._answer.close()

    def _death(self, code: str, what: str) -> bytes:
        """The last event of a stream that ended early; what is held of a torn event is dropped.

        Of one too large to be held a part is out: it is ended, or the error would be read as its text.
        """
        self.error = code
        if not self.events:
            return b""
        status = 504 if code == "upstream_timeout" else 502
        error = ApiError(status, f"The upstream {what}.", kind="upstream_error", code=code)
        return self._relay.torn + error_event(error, self._dialect)


def streams_events(answer: HttpAnswer) -> bool:
    """Whether the answer is server-sent events."""
    return answer.header(b"content-type").lower().startswith(b"text/event-stream")


def _as_it_is(data: bytes) -> bytes:
    return data
