"""One submitted call: what the engine tells of it, carried from its worker thread to the event loop.

What comes through has been put into the gateway's words already; the engine itself is `local`'s.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Protocol

from promptcache_gateway.errors import ApiError
from promptcache_gateway.exchange import EngineFacts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache_gateway.upstreams.pieces import End, Piece


class Cancellable(Protocol):
    """What may be stopped."""

    def cancel(self) -> None:
        """Stop computing; harmless after the end."""
        ...


class EngineRun:
    """The `Run` of one request.

    Attributes:
        choices: answers it was asked for.
        generations: what computes them, once submitted.
    """

    def __init__(self, choices: int) -> None:
        self.choices = choices
        self.generations: Sequence[Cancellable] = ()
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[EngineFacts | Piece | End | ApiError] = asyncio.Queue()

    def put(self, news: EngineFacts | Piece | End | ApiError) -> None:
        """Take what the engine tells; called from its worker thread."""
        # The loop may be closed already when the gateway stops; then nobody waits for the news.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._queue.put_nowait, news)

    def cancel(self) -> None:
        """Stop computing; harmless after the end."""
        for generation in self.generations:
            generation.cancel()

    async def admission(self) -> EngineFacts:
        """What the engine knows at admission; raises `ApiError` where the call ends before that."""
        news = await self._take()
        if isinstance(news, EngineFacts):
            return news
        raise ApiError(
            503,
            "The request was given up before it began.",
            kind="server_error",
            code="engine_unavailable",
        )

    async def next(self) -> Piece | End:
        """The next piece of text, or a choice's end; raises `ApiError` where the engine failed."""
        news = await self._take()
        while isinstance(news, EngineFacts):  # a further choice's admission
            news = await self._take()
        return news

    async def _take(self) -> EngineFacts | Piece | End:
        news = await self._queue.get()
        if isinstance(news, ApiError):
            self.cancel()  # the other choices are of no use without the one that failed
            raise news
        return news
