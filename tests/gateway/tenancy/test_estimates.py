"""Requests whose upstream does not say what they used: an estimate is charged, and they are counted apart."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import TYPE_CHECKING, Any

import pytest

from promptcache.usage import Usage
from promptcache_gateway.plane.estimate import OutputMeter, estimated
from promptcache_gateway.price_settings import PriceSettings
from promptcache_gateway.settings import Settings, UpstreamSettings
from promptcache_gateway.store.spending import spent_by
from promptcache_gateway.tenancy import TenantLimits
from tests.gateway.mock_upstream import MockUpstream, Wire, chunk, sse, wait_until
from tests.gateway.serving import Served, serve
from tests.gateway.store.records import record

if TYPE_CHECKING:
    from pathlib import Path

PRICES = PriceSettings(models={"m": {"input": 1_000.0, "output": 2_000.0}})
BODY: dict[str, Any] = {
    "model": "m",
    "messages": [{"role": "user", "content": "Hi " * 400}],
    "stream": True,
    "stream_options": {"include_usage": False},
}
RAW = json.dumps(BODY).encode()
INPUT = -(-len(RAW) // 4)
LIMITS = {"default": TenantLimits(budget_usd=0.5)}


def house(mock: MockUpstream, folder: Path, limits: dict[str, TenantLimits]) -> Settings:
    upstream = UpstreamSettings(url=mock.url, name="u")
    return Settings(upstreams=(upstream,), data_dir=folder, prices=PRICES, tenants=limits)


async def says_no_usage(wire: Wire) -> None:
    await wire.events(sse(chunk("four" * 10)), sse(chunk("four" * 10)), b"data: [DONE]\n\n")


def budget(served: Served) -> dict[str, Any]:
    (row,) = served.get("/promptcache/v1/budgets").json()
    return dict(row)


def hang_up(served: Served, mock: MockUpstream, *, after: bytes) -> None:
    """Ask, read until something has come (nothing: until the upstream was asked), and leave."""
    with socket.create_connection(("127.0.0.1", int(served.url.rpartition(":")[2]))) as caller:
        head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(RAW)}\r\n\r\n"
        caller.sendall(head.encode() + RAW)
        caller.settimeout(5)
        read = b""
        while after not in read:
            read += caller.recv(65536)
        wait_until(lambda: mock.seen)


def test_a_stream_without_usage_is_charged_by_its_bytes_and_counted_apart(
    mock: MockUpstream, tmp_path: Path
) -> None:
    mock.script = says_no_usage
    with serve(house(mock, tmp_path, LIMITS)) as served:
        answer = served.post(RAW)
        assert answer.status_code == 200
        assert mock.last.body == RAW, "what the caller asked for stays"
        row = budget(served)
        assert row["spent_usd"] == pytest.approx((INPUT * 1_000 + 20 * 2_000) / 1e6)
        assert (row["requests"], row["unpriced_requests"]) == (1, 1)
        assert served.record(answer)["cost_usd"] is None, "an estimate is no cost"
        assert [served.post(RAW).status_code for _ in range(2)] == [200, 429]


@pytest.mark.parametrize(("begun", "output"), [(True, 10), (False, 0)])
def test_hanging_up_before_the_usage_comes_is_no_way_around_a_budget(
    mock: MockUpstream, tmp_path: Path, begun: bool, output: int
) -> None:
    async def never_ends(wire: Wire) -> None:
        if begun:
            await wire.start_events()
            await wire.part(sse(chunk("four" * 10)))
        await asyncio.wait_for(wire.gone(), 5)

    mock.script = never_ends
    with serve(house(mock, tmp_path, LIMITS)) as served:
        hang_up(served, mock, after=b"fourfour" if begun else b"")
        wait_until(lambda: budget(served)["requests"])
        row = budget(served)
        assert row["spent_usd"] == pytest.approx((INPUT * 1_000 + output * 2_000) / 1e6)
        assert row["unpriced_requests"] == 1


def test_a_limit_of_tokens_counts_them_too(mock: MockUpstream, tmp_path: Path) -> None:
    mock.script = says_no_usage
    with serve(house(mock, tmp_path, {"default": TenantLimits(tokens_per_minute=INPUT + 10)})) as served:
        assert [served.post(RAW).status_code for _ in range(2)] == [200, 429]


def test_a_refusal_and_a_caller_without_bounds_cost_nothing(mock: MockUpstream, tmp_path: Path) -> None:
    async def refuses(wire: Wire) -> None:
        await wire.respond(b'{"error":{"message":"no"}}', status="400 Bad Request")

    mock.script = refuses
    with serve(house(mock, tmp_path, LIMITS)) as served:
        assert served.post(RAW).status_code == 400
        assert budget(served)["requests"] == 0
    mock.script = says_no_usage
    with serve(house(mock, tmp_path / "other", {})) as served:
        seen = served.gateway.observer
        served.post(RAW)
        assert seen.journal is not None
        assert seen.journal.store.flush()
        assert seen.journal.store.spending(0) == []


@pytest.mark.parametrize(
    ("dialect", "event", "length"),
    [
        ("openai.chat", b'data: {"choices":[{"delta":{"role":"assistant","content":"a\\"b"}}]}\n\n', 4),
        ("openai.chat", b'data: {"delta":{"tool_calls":[{"function":{"arguments":"{}"}}]}}\n\n', 2),
        ("openai.completions", b'data: {"choices":[{"text" : "abc"}]}\n\n', 3),
        ("openai.responses", b'data: {"type":"response.output_text.delta","delta":"abcd"}\n\n', 4),
        ("openai.responses", b'data: {"type":"response.output_text.done","text":"abcd"}\n\n', 0),
        ("anthropic.messages", b'data: {"delta":{"type":"text_delta","text":"abcde"}}\n\n', 5),
        ("openai.embeddings", b'data: {"text":"abcde"}\n\n', 0),
    ],
)
def test_the_text_of_events_is_measured_and_nothing_around_it(
    dialect: Any, event: bytes, length: int
) -> None:
    meter = OutputMeter(dialect)
    meter.piece(event * 3, events=True)
    assert meter.seen == length * 3


def test_what_an_upstream_says_is_not_estimated() -> None:
    told = Usage(total_input=10, output=3)
    assert estimated(told, 4_000, 400, cut=False) is None
    assert estimated(told, 4_000, 8, cut=True) is None
    begun = estimated(told, 4_000, 401, cut=True)
    assert begun is not None
    assert (begun.total_input, begun.output) == (10, 101)


def test_an_estimate_without_a_price_is_counted_too() -> None:
    one = record(prompt_tokens=None, output_tokens=None, estimated_tokens=7)
    spent = spent_by(one)
    assert spent is not None
    assert (spent.usd, spent.requests, spent.unpriced) == (0.0, 1, 1)
