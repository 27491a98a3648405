"""A fleet whose replicas tell what they hold: routing and diagnosis go by that where tokens are known."""

from __future__ import annotations

import json
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from promptcache_gateway.errors import StartupError
from promptcache_gateway.fleet.settings import FleetSettings, ReplicaSettings
from promptcache_gateway.settings import Settings, UpstreamSettings
from promptcache_gateway.upstreams.choose import create_switchboard
from tests.gateway.fleet.engines import FakeEngine, Publisher, publisher
from tests.gateway.fleet.servers import served_fleet, view
from tests.gateway.mock_upstream import call, in_thread, mock_upstream, wait_until

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator
    from pathlib import Path

    from tests.gateway.mock_upstream import MockUpstream, Wire
    from tests.gateway.serving import Served


@dataclass
class Telling:
    """A server of text completions over tokens, which tells what its cache holds."""

    mock: MockUpstream
    engine: FakeEngine
    loop: asyncio.AbstractEventLoop
    told: Publisher

    @property
    def settings(self) -> ReplicaSettings:
        return ReplicaSettings(url=self.mock.url, kv_events=self.told.events, kv_replay=self.told.replay)

    @property
    def name(self) -> str:
        return self.settings.label

    def run(self, tokens: list[int]) -> int:
        read = self.engine.run(tokens)
        self.tell()
        return read

    def tell(self) -> None:
        call(self.loop, self.told.send(*self.engine.batches))
        self.engine.batches.clear()

    async def answer(self, wire: Wire) -> None:
        if wire.seen.line.startswith("GET"):
            await wire.respond(b"{}")
            return
        tokens = json.loads(wire.seen.body)["prompt"]
        usage = {
            "prompt_tokens": len(tokens),
            "completion_tokens": 1,
            "prompt_tokens_details": {"cached_tokens": self.run(tokens)},
        }
        choice = {"index": 0, "text": "!", "finish_reason": "stop"}
        await wire.respond(orjson.dumps({"id": "c", "choices": [choice], "usage": usage}))


@contextmanager
def telling(number: int, folder: Path, **more: Any) -> Iterator[tuple[list[Telling], Served]]:
    """So many such servers behind a gateway that hears them."""
    with in_thread() as loop, ExitStack() as stack:
        made = []
        for _ in range(number):
            manager = publisher()
            told = call(loop, manager.__aenter__())
            stack.callback(lambda manager=manager: call(loop, manager.__aexit__(None, None, None)))
            mock = stack.enter_context(mock_upstream(lambda wire: wire.gone()))
            one = Telling(mock, FakeEngine(pages=400, page_size=16), loop, told)
            mock.script = one.answer
            made.append(one)
        settings = FleetSettings(replicas=tuple(one.settings for one in made), **more)
        gateway = stack.enter_context(served_fleet(settings, folder))
        for one in made:
            listen(gateway, one)
        yield made, gateway


def listen(gateway: Served, one: Telling) -> None:
    """Wait until the gateway hears a replica and knows its cache exactly."""

    def heard() -> bool:
        one.engine.clear()
        one.tell()
        return bool(events(gateway, one)["whole"]) and events(gateway, one)["heard"] > 0

    wait_until(heard, 10)


def events(gateway: Served, one: Telling) -> dict[str, Any]:
    found: dict[str, Any] = next(
        entry["kv_events"] for entry in view(gateway)["replicas"] if entry["name"] == one.name
    )
    return found


def ask(gateway: Served, tokens: list[int]) -> dict[str, Any]:
    return gateway.record(gateway.post({"model": "m", "prompt": tokens}, path="/v1/completions"))


TOKENS = list(range(3000))


def test_a_request_goes_where_events_say_its_prefix_is(tmp_path: Path) -> None:
    """Nobody asked the gateway for it: another door warmed the cache, and only events can tell."""
    with telling(3, tmp_path) as (replicas, gateway):
        replicas[2].run(TOKENS)
        wait_until(lambda: events(gateway, replicas[2])["tokens"] == 2992, 20)
        placed = ask(gateway, [*TOKENS, 7, 8, 9])["placement"]
    assert (placed["replica"], placed["exact"]) == (replicas[2].name, True)
    assert placed["available_tokens"] == placed["chosen_tokens"] == 2992


def test_what_was_evicted_everywhere_is_called_by_its_name(tmp_path: Path) -> None:
    with telling(2, tmp_path) as (replicas, gateway):
        first = ask(gateway, TOKENS)
        (home,) = [one for one in replicas if one.name == first["placement"]["replica"]]
        wait_until(lambda: events(gateway, home)["tokens"] == 2992, 20)
        home.run(list(range(50_000, 50_000 + 16 * 400)))
        wait_until(lambda: events(gateway, home)["tokens"] == 6400, 20)
        record = ask(gateway, TOKENS)
    assert record["placement"]["removed_tokens"] > 2900
    assert record["diagnosis"]["cause"] == "PC803"
    assert record["diagnosis"]["attribution"] == "upstream"


def test_a_cache_that_was_cleared_is_not_counted_on(tmp_path: Path) -> None:
    with telling(2, tmp_path, routing="prefix") as (replicas, gateway):
        home = ask(gateway, TOKENS)["placement"]["replica"]
        (one,) = [one for one in replicas if one.name == home]
        wait_until(lambda: events(gateway, one)["tokens"] == 2992, 20)
        one.engine.clear()
        one.tell()
        wait_until(lambda: events(gateway, one)["tokens"] == 0, 20)
        assert ask(gateway, TOKENS)["placement"]["available_tokens"] == 0


def test_without_the_extra_it_is_one_sentence_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "zmq", None)
    fleet = FleetSettings(replicas=(ReplicaSettings(url="http://a", kv_events="tcp://a:1"),))
    board = create_switchboard(Settings(upstreams=(UpstreamSettings(name="f", fleet=fleet),)))
    with in_thread() as loop, pytest.raises(StartupError, match=r"pip install 'promptcache\[fleet\]'"):
        call(loop, board.lines[0].upstream.start())
