"""What one replica or one request is at fault for takes the fleet from nobody."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.gateway.fleet.servers import (
    FakeReplica,
    fleet_of,
    replicas,
    request,
    served_fleet,
    states,
    view,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.gateway.mock_upstream import Wire
    from tests.gateway.serving import Served

FAULT = "500 Internal Server Error"


@pytest.fixture
def three() -> Iterator[list[FakeReplica]]:
    with replicas(3) as servers:
        yield servers


def breaks_on_poison(one: FakeReplica) -> None:
    well = one.answer

    async def script(wire: Wire) -> None:
        one.refuses = FAULT if b"poison" in wire.seen.body else ""
        await well(wire)

    one.mock.script = script


def statuses(gateway: Served, *texts: str) -> list[int]:
    return [gateway.post(request(text)).status_code for text in texts]


def test_a_prompt_that_every_replica_fails_at_closes_the_fleet_to_nobody(
    three: list[FakeReplica], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for one in three:
        breaks_on_poison(one)
    with served_fleet(fleet_of(three), tmp_path, retries=0) as gateway:
        assert statuses(gateway, *(f"poison {number}" for number in range(12))) == [500] * 12
        assert set(states(gateway).values()) == {"ejected"}
        health = gateway.get("/health")
        told = health.json()["upstreams"]["f"]
        assert (health.status_code, told["ok"], told["able"]) == (200, True, 0)
        assert sorted(told["ejected"]) == sorted(one.name for one in three)
        assert statuses(gateway, "good 1", "good 2") == [200, 200]
        assert "ready" in states(gateway).values()
    for one in three:
        assert caplog.text.count(f"replica {one.name} failed several times in a row") == 1


def test_two_that_fail_leave_the_third_to_answer(three: list[FakeReplica], tmp_path: Path) -> None:
    three[0].refuses = three[1].refuses = FAULT
    with served_fleet(fleet_of(three, routing="least-load"), tmp_path, retries=0) as gateway:
        answered = statuses(gateway, *(f"hello {number}" for number in range(20)))
        assert answered[-10:] == [200] * 10
        sent = sum(one["requests"] for one in view(gateway)["replicas"])
        again = f'promptcache_upstream_retries_total{{upstream="f"}} {sent - 20}.0'
        assert again in gateway.get("/metrics").text
        assert sent > 20


def test_who_sends_nothing_is_left_alone_where_nobody_else_is(
    three: list[FakeReplica], tmp_path: Path
) -> None:
    """Here no replica could be sent anything: that is what the caller is told, at once."""

    async def silent(wire: Wire) -> None:
        if wire.seen.line.startswith("GET"):
            await wire.respond(b"{}")
        else:
            wire.reset()

    for one in three:
        one.mock.script = silent
    with served_fleet(fleet_of(three), tmp_path, retries=0) as gateway:
        for number in range(8):
            answer = gateway.post(request(f"hello {number}"))
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "upstream_unreachable")
        assert gateway.get("/health").status_code == 503


def test_a_fleet_that_was_drained_serves_as_soon_as_it_is_resumed(
    three: list[FakeReplica], tmp_path: Path
) -> None:
    with served_fleet(fleet_of(three), tmp_path, retries=0) as gateway:
        for what, expected in (("drain", 503), ("resume", 200)):
            for one in three:
                gateway.post({"upstream": "f", "replica": one.name}, path=f"/promptcache/v1/replicas/{what}")
            assert statuses(gateway, *(f"hello {number}" for number in range(8))) == [expected] * 8


@pytest.mark.parametrize("answer", ["", FAULT, "404 Not Found", "429 Too Many Requests"])
def test_what_any_replica_can_tell_another_tells(
    three: list[FakeReplica], tmp_path: Path, answer: str
) -> None:
    async def ill(wire: Wire) -> None:
        if wire.seen.line.startswith("GET /health"):
            await wire.respond(b"{}")
        elif answer:
            await wire.respond(b"{}", status=answer)
        else:
            wire.reset()

    async def lists(wire: Wire) -> None:
        await wire.respond(json.dumps({"object": "list", "data": [{"id": "m"}]}).encode())

    three[0].mock.script, three[1].mock.script = ill, lists
    with served_fleet(fleet_of(three[:2]), tmp_path, retries=0) as gateway:
        for _ in range(7):
            told = gateway.get("/v1/models")
            assert (told.status_code, told.json()["data"]) == (200, [{"id": "m"}])
        assert states(gateway)[three[0].name] == ("ready" if answer else "ejected")


def test_prompts_are_counted_by_another_where_one_is_silent(three: list[FakeReplica], tmp_path: Path) -> None:
    asked = []

    async def silent(wire: Wire) -> None:
        if wire.seen.line.startswith("GET"):
            await wire.respond(b"{}")
        else:
            asked.append(wire.seen.line)
            wire.reset()

    async def counts(wire: Wire) -> None:
        await wire.respond(b'{"input_tokens": 7}')

    three[0].mock.script, three[1].mock.script = silent, counts
    with served_fleet(fleet_of(three[:2]), tmp_path, retries=0, kind="anthropic") as gateway:
        for _ in range(8):
            told = gateway.post(request("hello"), path="/v1/messages/count_tokens")
            assert (told.status_code, told.json()) == (200, {"input_tokens": 7})
        assert len(asked) == 5, "then it is left alone"


@pytest.mark.parametrize(
    "said", [b"HTTP", b"what?\r\n\r\n", b'HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n{"input_tok']
)
def test_prompts_are_counted_by_another_where_an_answer_is_broken(
    three: list[FakeReplica], tmp_path: Path, said: bytes
) -> None:
    """Counting changes nothing at a replica: whatever came of its answer, another may be asked."""

    async def breaks_off(wire: Wire) -> None:
        if wire.seen.line.startswith("GET /health"):
            await wire.respond(b"{}")
        else:
            await wire.send(said)
            wire.writer.close()

    async def tells(wire: Wire) -> None:
        counting = wire.seen.line.startswith("POST")
        await wire.respond(b'{"input_tokens": 7}' if counting else b'{"data": []}')

    three[0].mock.script, three[1].mock.script = breaks_off, tells
    with served_fleet(fleet_of(three[:2]), tmp_path, retries=0, kind="anthropic") as gateway:
        for _ in range(8):
            told = gateway.post(request("hello"), path="/v1/messages/count_tokens")
            assert (told.status_code, told.json()) == (200, {"input_tokens": 7})
            assert gateway.get("/v1/models").json() == {"data": []}
        assert states(gateway)[three[0].name] == "ejected"


def test_a_broken_answer_of_the_only_replica_is_what_the_caller_is_told(
    three: list[FakeReplica], tmp_path: Path
) -> None:
    async def breaks_off(wire: Wire) -> None:
        await wire.send(b"HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n{")
        wire.writer.close()

    three[0].mock.script = breaks_off
    fleet = fleet_of(three[:1], health_path="")
    with served_fleet(fleet, tmp_path, retries=0, kind="anthropic") as gateway:
        told = gateway.post(request("hello"), path="/v1/messages/count_tokens")
        assert (told.status_code, told.json()["type"]) == (502, "error")
        assert "in the middle of its answer" in told.json()["error"]["message"]


def test_where_two_refuse_the_question_is_at_fault(three: list[FakeReplica], tmp_path: Path) -> None:
    asked = []

    async def refuses(wire: Wire) -> None:
        asked.append(wire.seen.line)
        await wire.respond(b'{"error": {"message": "?"}}', status="404 Not Found")

    for one in three:
        one.mock.script = refuses
    with served_fleet(fleet_of(three, health_path=""), tmp_path, retries=0) as gateway:
        assert gateway.get("/v1/models").status_code == 404
        assert len(asked) == 2
        assert [one["failures"] for one in view(gateway)["replicas"]] == [0, 0, 0]
