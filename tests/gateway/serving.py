"""The gateway on a real socket, inside the test process."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx

from promptcache_gateway.app import Gateway, create_app
from promptcache_gateway.server import bind, make_server
from promptcache_gateway.settings import Settings, UpstreamSettings
from tests.gateway.mock_upstream import call, in_thread, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass
class Served:
    """A running gateway."""

    url: str
    gateway: Gateway
    http: httpx.Client = field(repr=False)
    loop: asyncio.AbstractEventLoop | None = field(default=None, repr=False)

    def post(self, body: Any, *, path: str = "/v1/chat/completions", **headers: str) -> httpx.Response:
        """Post bytes as they are, or a value as JSON; underscores in header names become dashes."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        named.setdefault("content-type", "application/json")
        if isinstance(body, bytes):
            return self.http.post(path, content=body, headers=named)
        return self.http.post(path, json=body, headers=named)

    def get(self, path: str) -> httpx.Response:
        return self.http.get(path)

    def record(self, response: httpx.Response) -> dict[str, Any]:
        """What the gateway recorded of an exchange."""
        request_id = response.headers["x-promptcache-request-id"]
        found = self.get(f"/promptcache/v1/requests/{request_id}")
        assert found.status_code == 200, found.text
        record: dict[str, Any] = found.json()
        return record


@contextmanager
def serve(settings: Settings, **parts: Any) -> Iterator[Served]:
    """Run a gateway in a thread until the block ends."""
    with in_thread() as loop, bind("127.0.0.1", 0) as bound:
        gateway = create_app(settings, **parts)
        call(loop, gateway.start())
        server = make_server(gateway, settings)
        serving = call_soon(loop, server.serve(sockets=[bound]))
        try:
            wait_until(lambda: server.started)
            url = f"http://127.0.0.1:{bound.getsockname()[1]}"
            with httpx.Client(base_url=url, timeout=20) as client:
                yield Served(url, gateway, client, loop)
        finally:
            gateway.end_feeds()
            server.should_exit = True
            serving.result(30)
            call(loop, gateway.close())


@contextmanager
def serve_both(chat: str, messages: str, folder: Path) -> Iterator[Served]:
    """A gateway before a server of chats and, for models ``claude-*``, one of messages, by their URLs."""
    upstreams = (
        UpstreamSettings(name="chat", url=chat, apis=("chat",)),
        UpstreamSettings(name="claude", url=messages, kind="anthropic", models=("claude-*",)),
    )
    with serve(Settings(upstreams=upstreams, data_dir=folder)) as served:
        yield served


def call_soon(loop, coroutine):
    return asyncio.run_coroutine_threadsafe(coroutine, loop)
