"""Taking other settings while requests run: what can change does, what cannot is said.

An upstream whose settings stay goes on as it is, with its connections and its state. One that is no longer
named is closed when the last request that may use it has ended.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptcache_gateway.settings import Settings
    from promptcache_gateway.upstreams.base import Upstream

NEEDS_RESTART = (
    "host",
    "port",
    "workers",
    "diagnosis",
    "engine",
    "max_header_bytes",
    "head_timeout_s",
    "body_timeout_s",
    "send_timeout_s",
    "shutdown_grace_s",
    "data_dir",
    "database",
    "bounds",
    "responses",
    "sources",
    "shared",
    "log_format",
    "log_level",
    "log_requests",
    "otel",
)
"""Settings that a running gateway keeps as they were."""


def merge(running: Settings, wanted: Settings) -> tuple[Settings, tuple[str, ...]]:
    """The settings to run with from now on, and the names of those that wait for a restart."""
    waiting = tuple(name for name in NEEDS_RESTART if getattr(running, name) != getattr(wanted, name))
    return replace(wanted, **{name: getattr(running, name) for name in waiting}), waiting


async def start_all(upstreams: Iterable[Upstream]) -> None:
    """Start upstreams; where one cannot be, those that were are closed again and its error is raised."""
    started: list[Upstream] = []
    try:
        for upstream in upstreams:
            started.append(upstream)
            await upstream.start()
    except BaseException:
        for upstream in started:
            await upstream.close()
        raise


class Retirement:
    """Upstreams that are no longer named, until nobody uses them."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def retire(self, upstreams: Iterable[Upstream], users: Iterable[asyncio.Task[object]]) -> None:
        """Close the upstreams once the requests ``users`` have ended."""
        task = asyncio.create_task(_close_after(tuple(upstreams), tuple(users)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def finish(self) -> None:
        """Close them now."""
        for task in tuple(self._tasks):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task


async def _close_after(upstreams: tuple[Upstream, ...], users: tuple[asyncio.Task[object], ...]) -> None:
    try:
        if users:
            await asyncio.wait(users)
    finally:
        for upstream in upstreams:
            await upstream.close()
