"""Replicas that refuse what others answer, and streams that end before their answers do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.gateway.fleet.servers import FakeReplica, fleet_of, replicas, request, served_fleet, states, view
from tests.gateway.mock_upstream import chunk, sse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.gateway.mock_upstream import Wire
    from tests.gateway.serving import Served


@pytest.fixture
def three() -> Iterator[list[FakeReplica]]:
    with replicas(3) as servers:
        yield servers


def shown(gateway: Served, server: FakeReplica) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in view(gateway)["replicas"] if one["name"] == server.name)
    return found


@pytest.mark.parametrize("status", ["401 Unauthorized", "403 Forbidden", "404 Not Found"])
def test_one_that_refuses_alone_is_avoided_and_told(
    three: list[FakeReplica], tmp_path: Path, status: str
) -> None:
    three[0].refuses = status
    with served_fleet(fleet_of(three, routing="least-load"), tmp_path, retries=0) as gateway:
        for number in range(20):
            answer = gateway.post(request(f"hello {number}", stream=number % 2 == 0))
            assert answer.status_code == 200
        told = shown(gateway, three[0])
        assert (told["state"], told["requests"], told["lone_refusals"]) == ("ejected", 5, 5)
        assert told["refusal"] == int(status[:3])
        report = gateway.get("/health").json()
        assert three[0].name in str(report)
        metrics = gateway.get("/metrics").text
    name = f'promptcache_replica_lone_refusals_total{{replica="{three[0].name}",upstream="f"}} 5.0'
    assert name in metrics


@pytest.mark.parametrize("status", ["401 Unauthorized", "404 Not Found"])
def test_what_two_refuse_is_the_request_s_fault(
    three: list[FakeReplica], tmp_path: Path, status: str
) -> None:
    for one in three:
        one.refuses = status
    with served_fleet(fleet_of(three), tmp_path, retries=0) as gateway:
        for number in range(8):
            answer = gateway.post(request(f"hello {number}"))
            assert (answer.status_code, answer.json()["error"]["code"]) == (int(status[:3]), "no")
        told = view(gateway)["replicas"]
        assert sum(one["requests"] for one in told) == 16, "two were asked each time"
        assert [one["lone_refusals"] + one["failures"] for one in told] == [0, 0, 0]
        assert set(states(gateway).values()) == {"ready"}


def test_a_refusal_is_told_where_the_other_is_ill(three: list[FakeReplica], tmp_path: Path) -> None:
    three[0].refuses, three[1].refuses = "401 Unauthorized", "503 Not Now"
    fleet = fleet_of(three[:2], routing="round-robin")
    with served_fleet(fleet, tmp_path, retries=0) as gateway:
        statuses = {gateway.post(request(f"hello {number}")).status_code for number in range(4)}
    assert statuses == {401}


def test_one_replica_alone_is_asked_once(three: list[FakeReplica], tmp_path: Path) -> None:
    three[0].refuses = "401 Unauthorized"
    with served_fleet(fleet_of(three[:1]), tmp_path, retries=0) as gateway:
        for number in range(8):
            assert gateway.post(request(f"hello {number}")).status_code == 401
        assert shown(gateway, three[0])["requests"] == 8
        assert states(gateway)[three[0].name] == "ready"


def test_one_that_answers_again_is_no_longer_told(three: list[FakeReplica], tmp_path: Path) -> None:
    three[0].refuses = "403 Forbidden"
    with served_fleet(fleet_of(three[:2], routing="round-robin"), tmp_path, retries=0) as gateway:
        for number in range(4):
            gateway.post(request(f"hello {number}"))
        assert shown(gateway, three[0])["refusal"] == 403
        three[0].refuses = ""
        for number in range(4):
            gateway.post(request(f"again {number}"))
        assert shown(gateway, three[0])["refusal"] is None


def test_streams_that_end_before_their_answers_eject_a_replica(
    three: list[FakeReplica], tmp_path: Path
) -> None:
    well = three[0].answer

    async def stops(wire: Wire) -> None:
        if wire.seen.line.startswith("GET"):
            await well(wire)
            return
        await wire.events(sse(chunk("Hel")), sse(chunk("lo")))

    three[0].mock.script = stops
    with served_fleet(fleet_of(three, routing="round-robin"), tmp_path, retries=0) as gateway:
        for number in range(24):
            assert gateway.post(request(f"hello {number}", stream=True)).status_code == 200
        assert states(gateway)[three[0].name] == "ejected"
        assert [one["failures"] for one in view(gateway)["replicas"]] == [5, 0, 0]


def test_a_server_without_the_last_marker_is_well(three: list[FakeReplica], tmp_path: Path) -> None:
    well = three[0].answer

    async def unmarked(wire: Wire) -> None:
        if wire.seen.line.startswith("GET"):
            await well(wire)
            return
        last = {**chunk(""), "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        usage = {**chunk(""), "choices": [], "usage": {"prompt_tokens": 4, "completion_tokens": 1}}
        await wire.events(sse(chunk("Hello")), sse(last), sse(usage))

    three[0].mock.script = unmarked
    with served_fleet(fleet_of(three[:1]), tmp_path, retries=0) as gateway:
        for number in range(8):
            gateway.post(request(f"hello {number}", stream=True))
        assert shown(gateway, three[0])["failures"] == 0
