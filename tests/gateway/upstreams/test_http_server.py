"""What becomes of a foreign server's failures: whether it is safe to ask again."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from promptcache_gateway.errors import ApiError
from promptcache_gateway.exchange import Call
from promptcache_gateway.settings import UpstreamSettings
from promptcache_gateway.upstreams.base import Inbound
from promptcache_gateway.upstreams.http_pool import ConnectTimeoutError, HttpPool
from promptcache_gateway.upstreams.http_server import HttpServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.gateway.mock_upstream import MockUpstream, Wire

ASKED = Inbound("GET", [], b"")


@asynccontextmanager
async def server_at(mock: MockUpstream, **more: Any) -> AsyncIterator[HttpServer]:
    server = HttpServer(UpstreamSettings(url=mock.url, **more), "theirs", mock.url)
    await server.start()
    try:
        yield server
    finally:
        await server.close()


CALL = Call(
    id="pcr_1",
    received_at=0.0,
    dialect="anthropic.messages",
    path="/v1/messages",
    body=b"{}",
    payload={},
    model="m",
    stream=False,
    tenant="t",
    template=None,
    upstream="theirs",
    use_cache=True,
    want_body=False,
)
HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n"


@pytest.mark.parametrize(("said", "again"), [(b"", True), (b"HTTP", False), (HEAD + b"{", False)])
async def test_when_it_is_safe_to_ask_again(mock: MockUpstream, said: bytes, again: bool) -> None:
    async def breaks_off(wire: Wire) -> None:
        await wire.send(said)
        wire.writer.close()

    mock.script = breaks_off
    async with server_at(mock) as server:
        with pytest.raises(ApiError, match="The upstream theirs") as caught:
            await server.reply(await server.request("POST", "/v1/messages", b"", {}, b"{}"), CALL, None)
        assert (caught.value.status, caught.value.unanswered) == (502, again)
        for method in ("GET", "POST"):
            with pytest.raises(ApiError, match="The upstream theirs") as caught:
                await server.ask(method, "/v1/models", ASKED, {}, None)
            assert (caught.value.status, caught.value.unanswered) == (502, True)


@pytest.mark.parametrize("said", [b"", HEAD + b"{"])
async def test_what_is_not_answered_in_time_may_be_worked_on(mock: MockUpstream, said: bytes) -> None:
    async def stops(wire: Wire) -> None:
        await wire.send(said)
        await wire.gone()

    mock.script = stops
    async with server_at(mock, read_timeout_s=0.1) as server:
        with pytest.raises(ApiError) as caught:
            await server.reply(await server.request("POST", "/v1/messages", b"", {}, b"{}"), CALL, None)
        assert (caught.value.status, caught.value.unanswered) == (504, False)
        with pytest.raises(ApiError) as caught:
            await server.ask("POST", "/v1/messages/count_tokens", ASKED, {}, b"{}")
        assert (caught.value.status, caught.value.unanswered) == (504, True)


async def test_what_could_not_be_connected_to_in_time_was_sent_nothing(
    mock: MockUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(pool: HttpPool, head: bytes, body: bytes | None) -> None:
        raise ConnectTimeoutError

    monkeypatch.setattr(HttpPool, "send", never)
    async with server_at(mock) as server:
        with pytest.raises(ApiError) as caught:
            await server.request("POST", "/v1/messages", b"", {}, b"{}")
        assert (caught.value.status, caught.value.unanswered) == (504, True)
        assert server.health()["ok"] is False
