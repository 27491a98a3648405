"""Whether a foreign server could be reached when it was last tried, for the health page.

The server is not asked for this: what calls meet is noted. Only after a failure it is tried for a
connection now and then, since a gateway that reports a failure may get no more calls to find out by.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

RETRY_S = 5.0


class Reachability:
    """What the calls to one server have met."""

    def __init__(
        self, host: str, port: int, *, retry_s: float = RETRY_S, clock: Callable[[], float] = time.time
    ) -> None:
        self._address = (host, port)
        self._retry_s = retry_s
        self._clock = clock
        self._answered_at: float | None = None
        self._since: float | None = None
        self._failed_at: float | None = None
        self._error: str | None = None
        self._watcher: asyncio.Task[None] | None = None

    @property
    def ok(self) -> bool | None:
        """False after a failure, True after an answer, None where nothing is known."""
        if self._since is not None:
            return False
        return None if self._answered_at is None else True

    def answered(self) -> None:
        """Note an answer, whatever it was."""
        self._answered_at = self._clock()
        self._since = self._error = None

    def failed(self, code: str) -> None:
        """Note that no answer came back."""
        self._failed_at = self._clock()
        self._error = code
        if self._since is None:
            self._since = self._failed_at
        if self._watcher is None or self._watcher.done():
            self._watcher = asyncio.create_task(self._watch())

    def report(self) -> dict[str, Any]:
        """``ok``; when it answered last; since when it fails, when it did last, and how. Unix seconds."""
        known = {"answered_at": self._answered_at}
        if self._since is not None:
            known |= {"failing_since": self._since, "failed_at": self._failed_at}
        report: dict[str, Any] = {name: value for name, value in known.items() if value is not None}
        return {"ok": self.ok, **report, **({"error": self._error} if self._error else {})}

    async def close(self) -> None:
        """Stop trying."""
        if self._watcher is not None:
            self._watcher.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._watcher

    async def _watch(self) -> None:
        while self._since is not None:
            await asyncio.sleep(self._retry_s)
            try:
                async with asyncio.timeout(self._retry_s):
                    _, writer = await asyncio.open_connection(*self._address)
            except (OSError, TimeoutError):
                if self._since is not None:
                    self._failed_at = self._clock()
            else:
                writer.close()
                # It can be connected to; whether it answers is for the next call to find out.
                self._since = self._error = self._answered_at = None
