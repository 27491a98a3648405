"""The control plane's door: health at once, the rest by an application that is made when first asked for.

FastAPI and what it brings cost half a second and a fifth of the process's memory. A gateway that only
forwards never pays them, and its health is known as soon as it listens.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from promptcache_gateway.health import PATHS, Health
from promptcache_gateway.plane.responses import JSON_TYPE, send_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fastapi import FastAPI
    from starlette.types import Message, Receive, Scope, Send

    from promptcache_gateway.observe import Observer
    from promptcache_gateway.settings import Settings
    from promptcache_gateway.template_sources import SourceSettings
    from promptcache_gateway.upstreams.base import Upstream


class ControlPlane:
    """Everything that is not a provider's API, behind ASGI's three arguments."""

    def __init__(
        self,
        observer: Observer,
        upstreams: Sequence[Upstream],
        sources: SourceSettings | None = None,
        settings: Callable[[], Settings] | None = None,
        health: Health | None = None,
    ) -> None:
        diagnosing = observer.journal is None or observer.journal.diagnosing
        self._health = Health(upstreams, diagnosing=diagnosing) if health is None else health
        self._observer = observer
        self._settings = settings
        self._sources = sources
        self._upstreams = upstreams
        self._app: FastAPI | None = None
        self._making = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["path"] in PATHS and scope["method"] == "GET":
            status, body = self._health.answer(scope["path"], names=True)
            await send_whole(send, status, [JSON_TYPE], body)
            return
        app = self._app or await self._first_asked()
        await app(scope, receive, send)

    async def _first_asked(self) -> FastAPI:
        async with self._making:  # in a thread: others are served meanwhile
            if self._app is None:
                self._app = await asyncio.to_thread(self._make)
            return self._app

    def _make(self) -> FastAPI:
        from promptcache_gateway.control_app import create_control_app  # noqa: PLC0415 - see above

        return create_control_app(
            self._observer, self._upstreams, self._sources, self._settings, self._health
        )


class TrackedResponse:
    """Remembers how far a response has gone, so that it can be ended from outside.

    Attributes:
        started: whether its head has been sent.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self.started = False
        self._complete = False

    async def send(self, message: Message) -> None:
        """Send a part of it."""
        self.started = True
        self._complete = message["type"] == "http.response.body" and not message.get("more_body", False)
        await self._send(message)

    async def finish(self) -> None:
        """End it where it has begun and not ended."""
        if self.started and not self._complete:
            with contextlib.suppress(Exception):
                await self._send({"type": "http.response.body", "body": b"", "more_body": False})


def create_control_plane(
    observer: Observer,
    upstreams: Sequence[Upstream],
    sources: SourceSettings | None = None,
    settings: Callable[[], Settings] | None = None,
    health: Health | None = None,
) -> ControlPlane:
    """Make the control plane; ``settings`` tells those of the moment, None: nothing is said of budgets."""
    return ControlPlane(observer, upstreams, sources, settings, health)
