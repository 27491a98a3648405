"""Requests that come at the same time: what is left for one lets one in, whatever its size."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NoReturn

import httpx
import pytest

from promptcache_gateway.errors import ApiError
from promptcache_gateway.plane.advance import prompt_tokens
from promptcache_gateway.price_settings import PriceSettings
from promptcache_gateway.settings import Settings, UpstreamSettings
from promptcache_gateway.tenancy import Caller, Limits, TenantLimits
from promptcache_gateway.tenancy.budgets import Budget
from promptcache_gateway.tenancy.ledger import Ledger
from tests.gateway.mock_upstream import CHAT, MockUpstream, Wire, wait_until
from tests.gateway.serving import Served, serve

if TYPE_CHECKING:
    from pathlib import Path

PRICES = PriceSettings(models={"m": {"input": 1_000.0, "output": 2_000.0}})
LIMITS = {
    "budget": TenantLimits(budget_usd=1.0),
    "tokens": TenantLimits(tokens_per_minute=1_000),
}
SIZES = {"small": 2_000, "large": 100_000}  # words of 4 bytes: 8 KB, and more than threads look at


class Gate:
    """An upstream that answers nobody before it is opened; then it says what was used."""

    def __init__(self, tokens: int, status: str = "200 OK") -> None:
        self.open = threading.Event()
        self._status = status
        self._body = json.dumps(
            {**CHAT, "usage": {"prompt_tokens": tokens, "completion_tokens": 0, "total_tokens": tokens}}
        ).encode()

    async def __call__(self, wire: Wire) -> None:
        while not self.open.is_set():
            await asyncio.sleep(0.01)
        await wire.respond(self._body, status=self._status)


def house(mock: MockUpstream, folder: Path, limits: TenantLimits) -> Settings:
    upstream = UpstreamSettings(url=mock.url, name="u", retries=0)
    return Settings(upstreams=(upstream,), data_dir=folder, prices=PRICES, tenants={"default": limits})


def body_of(words: int) -> bytes:
    said = [{"role": "user", "content": "abc " * words}]
    return json.dumps({"model": "m", "messages": said}).encode()


def post(served: Served, body: bytes) -> httpx.Response:
    return httpx.post(f"{served.url}/v1/chat/completions", content=body, timeout=30)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("limit", LIMITS)
def test_what_is_left_for_one_lets_one_in(mock: MockUpstream, tmp_path: Path, limit: str, size: str) -> None:
    gate = Gate(SIZES[size])
    mock.script = gate
    with serve(house(mock, tmp_path, LIMITS[limit])) as served, ThreadPoolExecutor(16) as pool:
        first = pool.submit(post, served, body_of(SIZES[size]))
        wait_until(lambda: mock.seen, 20)
        others = list(pool.map(lambda _: post(served, body_of(SIZES[size])), range(15)))
        gate.open.set()
        assert first.result().status_code == 200
        assert {other.status_code for other in others} == {429}
        assert len(mock.seen) == 1
        assert all("retry-after" in other.headers for other in others)
        assert {other.json()["error"]["code"] for other in others} == {"rate_limit_exceeded"}
        assert post(served, body_of(1)).status_code == 429, "the first has really used it up"


@pytest.mark.parametrize("status", ["200 OK", "500 Internal Server Error"])
@pytest.mark.parametrize("limit", LIMITS)
def test_what_was_not_used_is_given_back(mock: MockUpstream, tmp_path: Path, limit: str, status: str) -> None:
    gate = Gate(10, status)
    mock.script = gate
    with serve(house(mock, tmp_path, LIMITS[limit])) as served, ThreadPoolExecutor(2) as pool:
        first = pool.submit(post, served, body_of(100_000))
        wait_until(lambda: mock.seen, 20)
        refused = post(served, body_of(1))
        assert refused.status_code == 429
        assert refused.headers.get("x-should-retry") != "false", "it will be worth trying again"
        gate.open.set()
        assert first.result().status_code == int(status[:3])
        mock.script = Gate(10)
        mock.script.open.set()
        assert post(served, body_of(1)).status_code == 200


def test_a_caller_who_leaves_gives_it_back(mock: MockUpstream, tmp_path: Path) -> None:
    gate = Gate(10)
    mock.script = gate
    with serve(house(mock, tmp_path, TenantLimits(tokens_per_minute=100_000, budget_usd=1e6))) as served:
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{served.url}/v1/chat/completions", content=body_of(10), timeout=0.5)
        gate.open.set()
        wait_until(lambda: not served.gateway.traffic().running)
        assert post(served, body_of(1)).status_code == 200
        wait_until(lambda: not served.gateway._ledger._held)


def test_a_mutation_that_fails_gives_it_back(
    mock: MockUpstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> NoReturn:
        raise RuntimeError("a mutation")

    with serve(house(mock, tmp_path, TenantLimits(tokens_per_minute=1_000, budget_usd=1e6))) as served:
        with monkeypatch.context() as patched:
            patched.setattr(served.gateway._plane._complete._mutator, "prepare", fail)
            assert post(served, body_of(5_000)).status_code == 500
        assert not served.gateway._ledger._held
        assert post(served, body_of(1)).status_code == 200


def test_a_picture_counts_by_the_text_around_it() -> None:
    picture = b'{"url":"data:image/png;base64,' + b"iVBORw0KGgo" * 10_000 + b'"}'
    assert prompt_tokens(picture) < 100
    assert prompt_tokens(b"word " * 10_000) == 12_500
    assert prompt_tokens(b"a" * 1_024 + b" " + b"b" * 1_023 + b" " + b"c" * 5_000) == (1_023 + 2) // 4


def test_long_words_that_are_no_picture_take_no_time() -> None:
    began = time.process_time()
    assert prompt_tokens((b"a" * 1_023 + b" ") * 8_192) == 2 * 1024 * 1024
    assert time.process_time() - began < 2.0, "the event loop stands still meanwhile"


def test_key_and_tenant_are_both_held_and_let_go_in_any_order() -> None:
    caller = Caller("t", admin=False, key_id="k", budget=Budget(2.0))
    ledger = Ledger(lambda _: (), {"t": Budget(3.0)})
    with ledger.holding(caller, 1.5):
        with ledger.holding(caller, 1.0):
            with pytest.raises(ApiError, match="this key"), ledger.holding(caller, 0.1):
                pass
            other = Caller("t", admin=False, key_id="other", budget=None)
            with ledger.holding(other, 1.0), pytest.raises(ApiError, match="this tenant"):
                ledger.holding(other, 0.1).__enter__()
        with ledger.holding(caller, 0.1):
            pass
    assert ledger._held == {}
    assert ledger.refused["t"] == 2


async def test_a_limit_that_is_common_is_charged_and_settled_there() -> None:
    from promptcache_gateway.shared.buckets import Buckets

    class Common:
        buckets = Buckets(lambda: 0.0)

        async def take(self, takes: Any) -> Any:
            return self.buckets.take(takes)

        def charge(self, take: Any) -> None:
            self.buckets.take([take])

    limits, peer = (Limits({"t": TenantLimits(tokens_per_minute=100)}, clock=lambda: 0.0) for _ in range(2))
    limits.common = peer.common = Common()  # type: ignore[assignment]
    await limits.advance("t", 500)
    with pytest.raises(ApiError):
        await peer.advance("t", 1)
    limits.charge("t", 20, advanced=500)
    await peer.advance("t", 80)
    with pytest.raises(ApiError):
        await limits.advance("t", 1)
