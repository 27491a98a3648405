"""An answer that is no stream of events and breaks off does not look whole; the log says it in our words."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from promptcache_gateway.plane.hangup import CUT, EXTENSION, HangUps, HangUpWatch
from promptcache_gateway.upstreams.whole_bodies import MAX_WHOLE_BODY
from tests.gateway.mock_upstream import CHAT_BYTES, MockUpstream, Wire, answer_chat, wait_until

if TYPE_CHECKING:
    from tests.gateway.serving import Served

BODY = {"model": "m", "messages": [{"role": "user", "content": "a secret"}]}
SENT = b'{"id": "' + b"x" * 50_000


async def breaks_off(wire: Wire) -> None:
    """An answer that is relayed because it is too large to hold, and does not come to its end."""
    head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    await wire.send((head % (MAX_WHOLE_BODY + 1)).encode() + SENT)
    await asyncio.sleep(0.05)
    wire.reset()


def test_it_is_cut_and_said_once(
    proxied: Served, mock: MockUpstream, caplog: pytest.LogCaptureFixture
) -> None:
    mock.script = breaks_off
    got = b""
    with caplog.at_level(logging.WARNING):
        with proxied.http.stream("POST", "/v1/chat/completions", json=BODY) as answer:
            assert answer.status_code == 200
            with pytest.raises(httpx.RemoteProtocolError):  # noqa: PT012 - what came before counts
                for piece in answer.iter_raw():
                    got += piece
        assert got == SENT, "what had come is passed on"
        wait_until(lambda: proxied.get("/promptcache/v1/requests").json()["data"])
    record = proxied.record(answer)
    assert (record["status"], record["error"]) == (502, "upstream_disconnected")
    (said,) = caplog.records
    assert (said.levelname, said.name) == ("WARNING", "promptcache.gateway")
    assert "broke off (upstream_disconnected)" in said.getMessage()
    assert record["id"] in said.getMessage()
    assert "secret" not in caplog.text
    mock.script = answer_chat
    assert proxied.post(BODY).content == CHAT_BYTES


async def test_only_our_own_server_is_told() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        await asyncio.sleep(60)

    await HangUpWatch({}, receive).cut(send)
    assert sent == []
    await HangUpWatch({"extensions": {EXTENSION: HangUps()}}, receive).cut(send)
    assert sent == [{"type": CUT}]
