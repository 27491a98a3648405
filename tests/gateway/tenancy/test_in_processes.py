"""The command itself: settings that follow SIGHUP, and budgets, spans and own views with several workers."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from promptcache_gateway.tenancy.budgets import Budget
from promptcache_gateway.tenancy.key_file import KeyFile
from tests.gateway.mock_upstream import CHAT, mock_upstream, wait_until
from tests.gateway.shared.processes import crew
from tests.gateway.telemetry.receiver import receiver
from tests.gateway.test_server import process, said_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.gateway.mock_upstream import MockUpstream, Wire

BODY = {"model": "m", "messages": [{"role": "user", "content": "Hi there"}]}
PRICE = '[prices.models."m"]\ninput = {price}\noutput = 0\ncache_read = {price}\n'


def post(url: str, key: str = "") -> httpx.Response:
    """Each on a connection of its own: whichever worker takes it."""
    headers = {"x-api-key": key} if key else {}
    return httpx.post(f"{url}/v1/chat/completions", json=BODY, headers=headers, timeout=20)


def get(url: str, path: str, key: str = "") -> httpx.Response:
    headers = {"x-api-key": key} if key else {}
    return httpx.get(f"{url}/promptcache/v1/{path}", headers=headers, timeout=20)


def test_prices_and_mutations_follow_sighup(mock: MockUpstream, tmp_path: Path) -> None:
    config = tmp_path / "promptcache.toml"
    upstream = f'[upstreams.u]\nurl = "{mock.url}"\n'
    config.write_text(upstream + PRICE.format(price=1000))
    arguments = ["--port", "0", "--config", str(config), "--data-dir", str(tmp_path)]
    with process(*arguments) as started:
        url = said_until(started, "Stop with").split("base_url")[1].split()[0].removesuffix("/v1")

        def cost() -> float:
            return float(get(url, "requests?limit=1").json()["data"][0]["cost_usd"])

        assert post(url).status_code == 200
        assert cost() == pytest.approx(2.006)
        assert b"prompt_cache_key" not in mock.last.body

        config.write_text(upstream + PRICE.format(price=-1))
        started.send_signal(signal.SIGHUP)
        assert "prices.models" in said_until(started, "were not taken")
        post(url)
        assert cost() == pytest.approx(2.006)

        rules = '[mutations]\nprompt_cache_key = "tenant"\n[alerts]\nquiet_s = 60\n'
        config.write_text(upstream + rules + PRICE.format(price=500))
        started.send_signal(signal.SIGHUP)
        said_until(started, "took the settings")
        post(url)
        assert cost() == pytest.approx(1.003)
        assert b'"prompt_cache_key":"' in mock.last.body


def test_with_several_workers(mock: MockUpstream, tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "keys.json")
    shop, _ = file.create("shop", budget=Budget(11.0, "day"))
    boss, _ = file.create("boss", admin=True)
    config = tmp_path / "promptcache.toml"
    with receiver() as collector:
        config.write_text(
            f'[serve]\nworkers = 2\n[upstreams.u]\nurl = "{mock.url}"\n[otel]\nendpoint = "{collector.url}"\n'
            + PRICE.format(price=1000)
        )
        arguments = ["--port", "0", "--config", str(config), "--data-dir", str(tmp_path)]
        with process(*arguments) as started:
            url = said_until(started, "Stop with").split("base_url")[1].split()[0].removesuffix("/v1")
            # A worker hears of what the other's callers spent within five seconds.
            wait_until(lambda: all(post(url, shop).status_code == 429 for _ in range(8)), 30)

            (row,) = get(url, "budgets", boss).json()
            assert row["spent_usd"] >= 11.0
            page = httpx.get(f"{url}/metrics", headers={"x-api-key": boss}, timeout=20).text
            assert 'promptcache_alerts_total{kind="budget",template=""} 2.0' in page, "at 80 % and at the end"
            rows = get(url, "requests?tenant=boss&limit=500", shop).json()["data"]
            assert {one["tenant"] for one in rows} == {"shop"}
            assert len(rows) == row["requests"]
            assert get(url, f"requests/{rows[0]['id']}?tenant=x", shop).json()["id"] == rows[0]["id"]
            assert get(url, "costs", shop).status_code == 403
            wait_until(lambda: len(collector.spans) >= len(rows), 15)
    assert {span["attributes"]["promptcache.tenant"] for span in collector.spans} == {"shop"}


def test_a_worker_that_is_killed_gives_back_what_it_was_charged_in_advance(tmp_path: Path) -> None:
    def body(words: int) -> dict[str, Any]:
        return {"model": "m", "messages": [{"role": "user", "content": "word " * words}]}

    def ask(words: int, url: str) -> httpx.Response:
        return httpx.post(f"{url}/v1/chat/completions", json=body(words), timeout=30)

    async def answers_small(wire: Wire) -> None:
        while len(wire.seen.body) > 100_000:
            await asyncio.sleep(0.05)
        await wire.respond(json.dumps(CHAT).encode())

    config = tmp_path / "promptcache.toml"
    with mock_upstream(answers_small) as mock:
        config.write_text(
            f'[upstreams.u]\nurl = "{mock.url}"\n[tenants.default]\ntokens_per_minute = 20_000\n'
        )
        with crew(tmp_path, "--config", config) as running, ThreadPoolExecutor(1) as pool:
            large = pool.submit(ask, 240_000, running.url)
            wait_until(lambda: mock.seen, 20)
            for _ in range(8):  # a connection each: whichever worker takes it
                refused = ask(1, running.url)
                assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
            before = running.workers()
            for pid in before:
                os.kill(pid, signal.SIGKILL)
            assert isinstance(large.exception(30), httpx.TransportError)
            wait_until(lambda: len(set(running.workers()) - set(before)) == 2, 30)
            assert {ask(1, running.url).status_code for _ in range(8)} == {200}
