"""The application by itself: under any ASGI server, its lifespan starts and stops what is behind it."""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from promptcache_gateway.app import Gateway, create_app
from promptcache_gateway.settings import EngineSettings, Settings, UpstreamSettings
from promptcache_gateway.upstreams.local import LocalUpstream
from promptcache_gateway.upstreams.openai_http import OpenAIUpstream


def drive(gateway: Gateway, scope: dict[str, Any], messages: Iterable[str]) -> list[dict[str, Any]]:
    """Run one scope; what was sent."""
    incoming = iter(messages)
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": next(incoming)}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(gateway(scope, receive, send))
    return sent


def proxy(folder: Path) -> Gateway:
    return create_app(Settings(upstream=UpstreamSettings(url="http://127.0.0.1:9"), data_dir=folder))


def test_the_settings_choose_the_upstream(tmp_path: Path) -> None:
    assert isinstance(proxy(tmp_path).upstream, OpenAIUpstream)
    assert isinstance(create_app(Settings(data_dir=tmp_path)).upstream, LocalUpstream)


def test_the_lifespan_starts_and_stops(tmp_path: Path) -> None:
    gateway = proxy(tmp_path)
    sent = drive(gateway, {"type": "lifespan"}, ["lifespan.startup", "lifespan.shutdown"])
    assert [message["type"] for message in sent] == [
        "lifespan.startup.complete",
        "lifespan.shutdown.complete",
    ]
    assert (tmp_path / "promptcache.db").exists()
    assert gateway.upstream.health()["ok"] is False


def test_a_start_that_fails_is_told_in_one_sentence(tmp_path: Path) -> None:
    engine = EngineSettings(model=str(tmp_path / "none.gguf"))
    gateway = create_app(Settings(engine=engine, data_dir=tmp_path))
    sent = drive(gateway, {"type": "lifespan"}, ["lifespan.startup"])
    assert [message["type"] for message in sent] == ["lifespan.startup.failed"]
    assert "none.gguf" in sent[0]["message"]


def test_a_websocket_is_turned_away(tmp_path: Path) -> None:
    sent = drive(proxy(tmp_path), {"type": "websocket", "path": "/"}, ["websocket.connect"])
    assert sent == [{"type": "websocket.close", "code": 1000}]
