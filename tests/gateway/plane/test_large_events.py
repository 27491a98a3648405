"""Events too large to be held: their parts go out as they come, and nothing else gets in between."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import orjson
import pytest

from promptcache_gateway.plane.heartbeat import COMMENT
from promptcache_gateway.settings import Settings, UpstreamSettings
from promptcache_gateway.upstreams.event_relay import MAX_PARTIAL_EVENT
from tests.gateway.anthropic_wire import START, event
from tests.gateway.mock_upstream import DONE, MockUpstream, chunk, sse
from tests.gateway.serving import Served, serve

if TYPE_CHECKING:
    from pathlib import Path

    from tests.gateway.mock_upstream import Wire

ASK = {"model": "m", "max_tokens": 9, "stream": True, "messages": [{"role": "user", "content": "Hi"}]}
TEXT = "x" * (MAX_PARTIAL_EVENT + 100_000)
OPENING = event("message_start", message=START)
CODES = {"dies": "upstream_disconnected", "stalls": "upstream_timeout", "ends": "upstream_torn"}


def script_of(way: str, whole: bytes) -> object:
    """A stream that goes wrong within an event that is too large to be held."""

    async def script(wire: Wire) -> None:
        await wire.start_events()
        for start in range(0, len(whole) - 50, 500_000):
            await wire.part(whole[:-50][start : start + 500_000])
        await asyncio.sleep(0.1)
        if way == "dies":
            wire.writer.close()
        elif way == "stalls":
            await wire.gone()
        else:
            await wire.end()

    return script


def events_of(answer: bytes) -> list[bytes]:
    """The data of each event, as a client reads them."""
    lines = (block.split(b"\n") for block in answer.split(b"\n\n"))
    data = (b"\n".join(line[6:] for line in block if line.startswith(b"data: ")) for block in lines)
    return [one for one in data if one]


@pytest.mark.parametrize("way", ["dies", "stalls", "ends"])
@pytest.mark.parametrize(
    ("kind", "path", "opening", "whole"),
    [
        ("openai", "/v1/chat/completions", b"", sse(chunk(TEXT))),
        ("anthropic", "/v1/messages", b"", event("content_block_delta", delta={"text": TEXT})),
    ],
)
def test_an_error_behind_a_torn_event_is_an_event_of_its_own(
    mock: MockUpstream, tmp_path: Path, kind: str, path: str, opening: bytes, whole: bytes, way: str
) -> None:
    mock.script = script_of(way, opening + whole)
    upstream = UpstreamSettings(url=mock.url, kind=kind, read_timeout_s=3.0)
    with serve(Settings(upstream=upstream, data_dir=tmp_path, keep_alive_s=0.2)) as served:
        answer = served.post(ASK, path=path)
        record = served.record(answer)
    sent = (opening + whole)[:-50] + b"\n\n"
    before, found, rest = answer.content.partition(sent)
    assert found == sent, "not a byte within what the upstream sent"
    assert not before.replace(COMMENT, b"")
    assert (record["error"], record["status"]) == (CODES[way], 504 if way == "stalls" else 502)
    behind = events_of(rest)
    if way == "ends":
        assert behind == []
    else:
        assert orjson.loads(behind[-1])["error"]


@pytest.mark.parametrize("way", ["dies", "stalls", "ends"])
@pytest.mark.parametrize(
    ("kind", "path", "opening", "whole", "asked"),
    [
        ("openai", "/v1/messages", b"", sse(chunk(TEXT)), ASK),
        (
            "anthropic",
            "/v1/chat/completions",
            OPENING,
            event("content_block_delta", index=0, delta={"type": "text_delta", "text": TEXT}),
            ASK,
        ),
    ],
)
def test_a_translated_stream_says_it_in_the_caller_s_dialect(
    mock: MockUpstream,
    tmp_path: Path,
    kind: str,
    path: str,
    opening: bytes,
    whole: bytes,
    asked: dict[str, object],
    way: str,
) -> None:
    mock.script = script_of(way, opening + whole)
    upstream = UpstreamSettings(url=mock.url, kind=kind, read_timeout_s=3.0)
    settings = Settings(upstream=upstream, data_dir=tmp_path, keep_alive_s=0.2)
    with serve(settings) as served:
        answer = served.post(asked, path=path)
        record = served.record(answer)
    last = orjson.loads(events_of(answer.content)[-1])
    assert (last.get("error") or last.get("response", {}).get("error") or last)["message"], last
    assert last.get("type", "error") in {"error", "response.failed"}
    assert record["status"] in {502, 504}
    assert record["error"] in {"upstream_unreadable", CODES[way]}


def test_a_stop_within_a_large_event_is_said_behind_it(mock: MockUpstream, tmp_path: Path) -> None:
    mock.script = script_of("stalls", sse(chunk(TEXT)))
    upstream = UpstreamSettings(url=mock.url)
    got = b""
    settings = Settings(upstream=upstream, data_dir=tmp_path, keep_alive_s=0.05)
    with (
        serve(settings) as served,
        served.http.stream("POST", "/v1/chat/completions", json=ASK) as answer,
    ):
        sent = sse(chunk(TEXT))[:-50]
        for piece in answer.iter_raw():
            before, got = len(got), got + piece
            if before < len(sent) <= len(got):
                _soon(served)
    _, found, rest = got.partition(sent + b"\n\n")
    assert found
    assert orjson.loads(events_of(rest)[0])["error"]["code"] == "shutting_down"


def _soon(served: Served) -> None:
    assert served.loop is not None
    served.loop.call_later(0.3, served.gateway.end_requests)  # some heartbeats later


def test_a_comment_waits_for_the_end_of_a_large_event(mock: MockUpstream, tmp_path: Path) -> None:
    whole = sse(chunk(TEXT, finish="stop"))

    async def slow(wire: Wire) -> None:
        await wire.start_events()
        for start in range(0, len(whole), 500_000):
            await wire.part(whole[start : start + 500_000])
            await asyncio.sleep(0.3 if start > MAX_PARTIAL_EVENT - 500_000 else 0.0)
        await asyncio.sleep(0.3)
        await wire.part(DONE)
        await wire.end()

    mock.script = slow
    upstream = UpstreamSettings(url=mock.url)
    with serve(Settings(upstream=upstream, data_dir=tmp_path, keep_alive_s=0.1)) as served:
        answer = served.post(ASK)
    relayed = answer.content.rpartition(b": promptcache ")[0]
    assert relayed.replace(COMMENT, b"") == whole + DONE
    assert whole in relayed
    assert COMMENT in relayed
