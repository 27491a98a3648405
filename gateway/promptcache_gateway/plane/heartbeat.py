"""Keep a stream of events alive while nothing is generated: a comment now and then, which clients ignore.

A prefill of many seconds looks like a dead connection to clients and proxies between. The timer belongs to
the stream and not to its pieces, so that a piece costs no more than a look at the clock.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

    from starlette.types import Send

COMMENT = b": keep-alive\n\n"
_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r", b"\n\r\n")


class Heartbeat:
    """Context in which a comment is sent whenever nothing else was for a while, and no event is half sent.

    Args:
        send: ASGI's send.
        interval_s: seconds of silence before a comment; 0: there are none.
    """

    def __init__(self, send: Send, interval_s: float) -> None:
        self._raw = send
        self._interval_s = interval_s
        self._loop = asyncio.get_running_loop()
        self._sent_at = self._loop.time()
        self._last = b""
        self._timer: asyncio.TimerHandle | None = None
        self._beat: asyncio.Task[None] | None = None

    @property
    def between_events(self) -> bool:
        """Whether what was sent last ended an event: one too large to be held goes out in parts."""
        return not self._last or self._last.endswith(_ENDS)

    async def send(self, piece: bytes) -> None:
        """Send a piece of the body, noticed."""
        self._sent_at, self._last = self._loop.time(), piece
        await self._raw({"type": "http.response.body", "body": piece, "more_body": True})

    def __enter__(self) -> Self:
        if self._interval_s > 0:
            self._timer = self._loop.call_later(self._interval_s, self._when_due)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._beat is not None:
            self._beat.cancel()

    def _when_due(self) -> None:
        now = self._loop.time()
        if now - self._sent_at >= self._interval_s:
            self._sent_at = now
            beats = self._beat is not None and not self._beat.done()
            if self.between_events and not beats:  # a caller who does not read needs no second one
                self._beat = self._loop.create_task(self._comment())
        self._timer = self._loop.call_later(self._sent_at + self._interval_s - now, self._when_due)

    async def _comment(self) -> None:
        if not self.between_events:  # any more
            return
        with contextlib.suppress(Exception):  # the caller is gone, which the stream itself finds out
            await self._raw({"type": "http.response.body", "body": COMMENT, "more_body": True})
