"""The control plane's door: health at once, the rest by an application that is made when first asked for.

FastAPI and what it brings cost half a second and a fifth of the process's memory. A gateway that only
forwards never pays them, and its health is known as soon as it listens.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import orjson

from promptcache._version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fastapi import FastAPI
    from starlette.types import Message, Receive, Scope, Send

    from promptcache_gateway.observe import Observer
    from promptcache_gateway.settings import Settings
    from promptcache_gateway.template_sources import SourceSettings
    from promptcache_gateway.upstreams.base import RawHeaders, Upstream


class ControlPlane:
    """Everything that is not a provider's API, behind ASGI's three arguments."""

    def __init__(
        self,
        observer: Observer,
        upstreams: Sequence[Upstream],
        sources: SourceSettings | None = None,
        settings: Callable[[], Settings] | None = None,
    ) -> None:
        self._observer = observer
        self._settings = settings
        self._sources = sources
        self._upstreams = upstreams
        self._app: FastAPI | None = None
        self._making = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["path"] == "/health" and scope["method"] == "GET":
            await self._answer_health(send)
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

        return create_control_app(self._observer, self._upstreams, self._sources, self._settings)

    async def _answer_health(self, send: Send) -> None:
        status, body = health_report(self._upstreams)
        data = orjson.dumps(body)
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(data))]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": data})


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


def health_report(upstreams: Sequence[Upstream]) -> tuple[int, dict[str, Any]]:
    """Status and body of ``/health``: 503 where no upstream can take requests."""
    report = {upstream.name: dict(upstream.health()) for upstream in upstreams}
    failing = [name for name, entry in report.items() if entry["ok"] is False]
    status = "unavailable" if len(failing) == len(report) else "degraded" if failing else "ok"
    body = {"status": status, "version": __version__, "upstreams": report}
    return 503 if status == "unavailable" else 200, body


def brief_health(upstreams: Sequence[Upstream]) -> tuple[int, RawHeaders, bytes]:
    """Status, headers and body of ``/health`` for those who may not know where requests go."""
    status, report = health_report(upstreams)
    shown = {name: report[name] for name in ("status", "version")}
    return status, [(b"content-type", b"application/json")], orjson.dumps(shown)


def create_control_plane(
    observer: Observer,
    upstreams: Sequence[Upstream],
    sources: SourceSettings | None = None,
    settings: Callable[[], Settings] | None = None,
) -> ControlPlane:
    """Make the control plane; ``settings`` tells those of the moment, None: nothing is said of budgets."""
    return ControlPlane(observer, upstreams, sources, settings)
