"""Replicas that answer, and answer badly: found out, left alone, and in nobody's way."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

import pytest

from promptcache_gateway.fleet import replica
from promptcache_gateway.fleet.prefix import Prefix
from promptcache_gateway.fleet.routing import Router
from promptcache_gateway.upstreams.circuit import Circuit
from tests.gateway.fleet.servers import (
    FakeReplica,
    fleet_of,
    replicas,
    request,
    served_fleet,
    states,
    until_state,
    view,
)
from tests.gateway.mock_upstream import chunk, sse, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.gateway.mock_upstream import Wire

LONG = "Answer from the handbook, chapter by chapter. " * 200


@pytest.fixture
def three() -> Iterator[list[FakeReplica]]:
    with replicas(3) as servers:
        yield servers


def test_one_that_answers_500_is_no_black_hole(three: list[FakeReplica], tmp_path: Path) -> None:
    three[0].refuses = "500 Internal Server Error"
    with served_fleet(fleet_of(three, routing="least-load"), tmp_path, retries=0) as gateway:
        for number in range(20):
            assert gateway.post(request(f"hello {number}")).status_code == 200
        assert states(gateway)[three[0].name] == "ejected"
        assert view(gateway)["replicas"][0]["requests"] == 5


def test_a_fault_of_the_request_is_asked_of_two_only(three: list[FakeReplica], tmp_path: Path) -> None:
    for one in three:
        one.refuses = "500 Internal Server Error"
    with served_fleet(fleet_of(three), tmp_path, retries=0) as gateway:
        answer = gateway.post(request("hello"))
        assert (answer.status_code, answer.json()["error"]["code"]) == (500, "no")
        assert sum(one["requests"] for one in view(gateway)["replicas"]) == 2


def test_streams_that_break_eject_a_replica(three: list[FakeReplica], tmp_path: Path) -> None:
    well = three[0].answer

    async def breaks(wire: Wire) -> None:
        if wire.seen.line.startswith("GET"):
            await well(wire)
            return
        await wire.start_events()
        await wire.part(sse(chunk("Hel")))
        wire.reset()

    three[0].mock.script = breaks
    with served_fleet(fleet_of(three, routing="round-robin"), tmp_path, retries=0) as gateway:
        texts = [gateway.post(request(f"hello {number}", stream=True)).text for number in range(24)]
        assert sum("upstream_disconnected" in text for text in texts) == 5
        assert states(gateway)[three[0].name] == "ejected"
        assert view(gateway)["replicas"][0]["failures"] == 5


def test_streams_that_end_well_close_the_count_of_failures(three: list[FakeReplica], tmp_path: Path) -> None:
    with served_fleet(fleet_of(three[:1]), tmp_path, retries=0) as gateway:
        for number in range(14):
            three[0].refuses = "503 Not Now" if number % 2 else ""
            gateway.post(request(f"hello {number}", stream=True))
        assert states(gateway)[three[0].name] == "ready"


def test_who_may_not_use_the_free_replica_stands_in_nobodys_way(tmp_path: Path) -> None:
    with replicas(2) as servers:
        fleet = fleet_of(servers, max_concurrency=1, routing="round-robin")
        with served_fleet(fleet, tmp_path, retries=0) as gateway, ThreadPoolExecutor() as pool:
            for one in servers:
                one.hold()
            first = pool.submit(gateway.post, request("first"))
            wait_until(lambda: any(one.prompts for one in servers), 20)
            busy, free = sorted(servers, key=lambda one: -len(one.prompts))
            free.refuses = "503 Service Unavailable"
            free.release()
            barred = pool.submit(gateway.post, request("barred"))
            wait_until(lambda: view(gateway)["waiting"] == 1, 20)
            free.refuses = ""
            assert gateway.post(request("another")).status_code == 200
            assert (len(free.prompts), barred.done()) == (1, False)
            busy.release()
            assert first.result(10).status_code == barred.result(10).status_code == 200
        assert [len(one.prompts) for one in (busy, free)] == [2, 1]


def test_a_pause_that_is_over_wakes_who_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replica, "Circuit", partial(Circuit, opens_after=1, cool_down_s=1.0))
    with replicas(2) as servers:
        fleet = fleet_of(servers, max_concurrency=1, routing="round-robin")
        with served_fleet(fleet, tmp_path, retries=0) as gateway, ThreadPoolExecutor() as pool:
            for one in servers:
                one.hold()
            first = pool.submit(gateway.post, request("first"))
            wait_until(lambda: any(one.prompts for one in servers), 20)
            busy, ill = sorted(servers, key=lambda one: -len(one.prompts))
            ill.refuses = "500 Internal Server Error"
            ill.release()
            barred = pool.submit(gateway.post, request("barred"))
            wait_until(lambda: states(gateway)[ill.name] == "ejected", 20)
            ill.refuses = ""
            waiting = pool.submit(gateway.post, request("waits for the pause"))
            assert waiting.result(20).status_code == 200
            assert (len(ill.prompts), barred.done()) == (1, False)
            busy.release()
            assert first.result(10).status_code == barred.result(10).status_code == 200


def test_what_a_dead_replica_held_is_no_fault_of_routing(three: list[FakeReplica], tmp_path: Path) -> None:
    with served_fleet(fleet_of(three, routing="round-robin"), tmp_path) as gateway:
        gateway.post(request("go", system=LONG))
        (home,) = [one for one in three if one.prompts]
        home.well = False
        until_state(gateway, home, "down")
        record = gateway.record(gateway.post(request("go", system=LONG)))
        assert record["placement"]["available_tokens"] == 0
        assert record["diagnosis"]["cause"] != "PC804"


def test_what_a_drained_replica_holds_is_available_and_not_chosen(
    three: list[FakeReplica], tmp_path: Path
) -> None:
    with served_fleet(fleet_of(three), tmp_path) as gateway:
        gateway.post(request("go", system=LONG))
        (home,) = [one for one in three if one.prompts]
        gateway.post({"upstream": "f", "replica": home.name}, path="/promptcache/v1/replicas/drain")
        record = gateway.record(gateway.post(request("go", system=LONG)))
        placement = record["placement"]
        assert placement["replica"] != home.name
        assert placement["available_tokens"] > placement["chosen_tokens"] == 0
        assert record["diagnosis"]["cause"] == "PC804"


def test_what_counts_as_available_is_what_answers() -> None:
    router = Router("round-robin")
    one, other, dead = (router.add(name) for name in ("one", "other", "dead"))
    prefix = Prefix(keys=(1, 2), tokens=512.0, key_tokens=256.0)
    dead.tree.insert(prefix.keys, 0.0)
    assert router.choose(prefix, [one], 1.0, [other]).available == 0
    other.tree.insert(prefix.keys[:1], 0.0)
    assert router.choose(prefix, [one], 1.0, [other]).available == 256
    assert router.choose(prefix, [one], 1.0).available == 512
