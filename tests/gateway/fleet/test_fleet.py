"""A gateway in front of replicas, on real sockets: where requests go, and what happens when one cannot."""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from promptcache_gateway.fleet.settings import ReplicaSettings
from promptcache_gateway.settings import Settings, UpstreamSettings
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
from tests.gateway.mock_upstream import call, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES = Path(__file__).parents[2] / "cases"
LONG = "Answer from the handbook, chapter by chapter. " * 200


@pytest.fixture
def three() -> Iterator[list[FakeReplica]]:
    with replicas(3) as servers:
        yield servers


def took(servers: list[FakeReplica]) -> list[int]:
    return [len(one.prompts) for one in servers]


@pytest.mark.parametrize("routing", ["prefix", "session"])
def test_a_conversation_stays_at_one_replica(three: list[FakeReplica], tmp_path: Path, routing: Any) -> None:
    """Case B072: the first request may go anywhere, all later ones go there too."""
    scenario = json.loads((CASES / "B072" / "scenario.json").read_text())
    expected = json.loads((CASES / "B072" / "expected.json").read_text())["expected"]
    turns: list[str] = []
    with served_fleet(fleet_of(three, routing=routing), tmp_path) as gateway:
        for number, one in enumerate(scenario["requests"]):
            missing = one["prefix_tokens"] * 4 - len("".join(turns))
            turns += [f"{number} " + "word " * (missing // 5), "noted"]
            assert gateway.post(request(*turns[:-1])).status_code == 200
            gateway.post(request(f"another conversation, number {number}. " * 100))
    told = [one for one in three if any(text.startswith("user:0 ") for text in one.prompts)]
    assert len(told) - 1 == expected["backend_switches"]
    read = [
        tokens
        for text, tokens in zip(told[0].prompts, told[0].cached, strict=True)
        if text.startswith("user:0 ")
    ]
    assert sum(tokens < 1000 for tokens in read) == expected["cold_reads"]


def test_the_callers_bytes_reach_the_replica(three: list[FakeReplica], tmp_path: Path) -> None:
    body = b'{ "model":"m" , "messages":[{"role":"user","content":"caf\\u00e9"}] }'
    with served_fleet(fleet_of(three), tmp_path) as gateway:
        assert gateway.post(body).status_code == 200
    assert [one for server in three for one in server.bodies] == [body]


def test_each_replica_gets_its_own_key(three: list[FakeReplica], tmp_path: Path) -> None:
    first, *others = (ReplicaSettings(url=one.mock.url) for one in three)
    fleet = fleet_of([], replicas=(replace(first, api_key="sk-one"), *others), routing="round-robin")
    with served_fleet(fleet, tmp_path, api_key="sk-all") as gateway:
        for number in range(3):
            gateway.post(request(f"hello {number}"))
    assert [one.keys for one in three] == [["Bearer sk-one"], ["Bearer sk-all"], ["Bearer sk-all"]]


def test_what_one_replica_refuses_another_answers(three: list[FakeReplica], tmp_path: Path) -> None:
    three[0].refuses = "503 Service Unavailable"
    three[1].refuses = "429 Too Many Requests"
    with served_fleet(fleet_of(three, routing="round-robin"), tmp_path) as gateway:
        answers = [gateway.post(request(f"hello {number}")) for number in range(6)]
        assert {one.status_code for one in answers} == {200}
        assert took(three) == [0, 0, 6]
        assert gateway.record(answers[0])["placement"]["replica"] == three[2].name
        three[2].refuses = "429 Too Many Requests"
        last = gateway.post(request("hello"))
        assert (last.status_code, last.json()["error"]["code"]) in [(429, "no"), (503, "no")]


def test_a_wrong_request_is_asked_once(three: list[FakeReplica], tmp_path: Path) -> None:
    for one in three:
        one.refuses = "400 Bad Request"
    with served_fleet(fleet_of(three), tmp_path) as gateway:
        assert gateway.post(request("hello")).status_code == 400
        assert sum(one["requests"] for one in view(gateway)["replicas"]) == 1
        assert sum(one["failures"] for one in view(gateway)["replicas"]) == 0


def test_a_replica_that_dies_is_left_alone_and_found_again(three: list[FakeReplica], tmp_path: Path) -> None:
    with served_fleet(fleet_of(three), tmp_path) as gateway:
        gateway.post(request(LONG))
        (home,) = [one for one in three if one.prompts]
        home.well = False
        until_state(gateway, home, "down")
        assert gateway.post(request(LONG)).status_code == 200
        assert len(home.prompts) == 1
        home.well = True
        until_state(gateway, home, "ready")
        assert next(one for one in view(gateway)["replicas"] if one["name"] == home.name)["known_tokens"] == 0


def test_failures_in_a_row_eject_a_replica_without_any_question(
    three: list[FakeReplica], tmp_path: Path
) -> None:
    three[0].refuses = "502 Bad Gateway"
    with served_fleet(fleet_of(three, routing="round-robin", health_path=""), tmp_path) as gateway:
        for number in range(20):
            assert gateway.post(request(f"hello {number}")).status_code == 200
        assert states(gateway)[three[0].name] == "ejected"
        assert view(gateway)["replicas"][0]["requests"] == 5
    assert sum(one.checks for one in three) == 0


def test_where_all_look_ill_they_are_tried_all_the_same(three: list[FakeReplica], tmp_path: Path) -> None:
    """A health page that lies must not take the whole fleet away."""
    for one in three:
        one.well = False
    with served_fleet(fleet_of(three), tmp_path) as gateway:
        for one in three:
            until_state(gateway, one, "down")
        assert gateway.post(request("hello")).status_code == 200
        assert gateway.get("/health").json()["upstreams"]["f"]["ok"] is False


def test_a_fleet_that_is_away_says_so(tmp_path: Path) -> None:
    with replicas(2) as servers:
        fleet = fleet_of(servers)
    with served_fleet(fleet, tmp_path, retries=0) as gateway:
        for number in range(12):
            answer = gateway.post(request(f"hello {number}"))
            assert answer.status_code in {502, 503}
        assert answer.json()["error"]["code"] == "upstream_unreachable"


def test_a_drained_replica_ends_what_it_has_and_gets_nothing_new(
    three: list[FakeReplica], tmp_path: Path
) -> None:
    for one in three:
        one.hold()
    with served_fleet(fleet_of(three), tmp_path) as gateway, ThreadPoolExecutor() as pool:
        running = pool.submit(gateway.post, request(LONG))
        wait_until(lambda: sum(took(three)) == 1, 20)
        home = next(one for one in three if one.prompts)
        drain = {"upstream": "f", "replica": home.name}
        told = gateway.post(drain, path="/promptcache/v1/replicas/drain")
        assert told.json() == {**drain, "draining": True}
        for one in three:
            one.release()
        assert running.result(10).status_code == 200
        gateway.post(request(LONG))
        assert (len(home.prompts), states(gateway)[home.name]) == (1, "draining")
        gateway.post(drain, path="/promptcache/v1/replicas/resume")
        assert states(gateway)[home.name] == "ready"
        unknown = gateway.post({"upstream": "f", "replica": "x"}, path="/promptcache/v1/replicas/drain")
        assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "not_found")


def test_a_drain_outlasts_other_settings_and_another_weight(three: list[FakeReplica], tmp_path: Path) -> None:
    file = tmp_path / "replicas.toml"

    def write(weight: int, servers: list[FakeReplica]) -> None:
        listed = ", ".join(f'{{url = "{one.mock.url}", weight = {weight}}}' for one in servers)
        file.write_text(f"replicas = [{listed}]\n")

    def weights(gateway: Any) -> dict[str, float]:
        return {one["name"]: one["weight"] for one in view(gateway)["replicas"]}

    write(1, three)
    drained, *others = three
    fleet = fleet_of([], file=file, routing="round-robin", lookup_s=0.05)
    with served_fleet(fleet, tmp_path) as gateway:
        gateway.post({"upstream": "f", "replica": drained.name}, path="/promptcache/v1/replicas/drain")
        changed = UpstreamSettings(name="f", fleet=replace(fleet, hold_s=1.0))
        call(gateway.loop, gateway.gateway.reload(Settings(upstreams=(changed,), data_dir=tmp_path)))
        assert states(gateway)[drained.name] == "draining"
        write(22, three)
        wait_until(lambda: set(weights(gateway).values()) == {22}, 20)
        for number in range(6):
            assert gateway.post(request(f"hello {number}")).status_code == 200
        assert (len(drained.prompts), states(gateway)[drained.name]) == (0, "draining")
        write(3, others)  # whoever comes later at that address is another one
        wait_until(lambda: drained.name not in weights(gateway), 20)
        write(444, three)
        wait_until(lambda: states(gateway).get(drained.name) == "ready", 20)


def test_no_replica_gets_more_than_it_may_and_who_waits_is_served(tmp_path: Path) -> None:
    with replicas(2) as servers:
        for one in servers:
            one.hold()
        fleet = fleet_of(servers, max_concurrency=2)
        with served_fleet(fleet, tmp_path) as gateway, ThreadPoolExecutor(8) as pool:
            sent = [pool.submit(gateway.post, request(f"hello {number}")) for number in range(8)]
            wait_until(lambda: view(gateway)["waiting"] == 4, 20)
            assert took(servers) == [2, 2]
            assert set(states(gateway).values()) == {"full"}
            for one in servers:
                one.release()
            assert {one.result(10).status_code for one in sent} == {200}
            assert view(gateway)["waited"] == 4
        assert sum(took(servers)) == 8


def test_waiting_for_room_has_an_end(tmp_path: Path) -> None:
    with replicas(1) as (server,):
        server.hold()
        fleet = fleet_of([server], max_concurrency=1, queue_s=0.2)
        with served_fleet(fleet, tmp_path) as gateway, ThreadPoolExecutor() as pool:
            first = pool.submit(gateway.post, request("hello"))
            wait_until(lambda: server.prompts, 20)
            refused = gateway.post(request("hello 2"))
            assert (refused.status_code, refused.json()["error"]["code"]) == (429, "fleet_busy")
            assert refused.headers["retry-after"] == "1"
            server.release()
            assert first.result(10).status_code == 200


def test_tenants_do_not_share_affinity_and_sessions_are_honoured(
    three: list[FakeReplica], tmp_path: Path
) -> None:
    with served_fleet(fleet_of(three, routing="session"), tmp_path) as gateway:
        for number in range(6):
            gateway.post(request(f"unrelated {number}"), x_promptcache_session="s-1")
    assert sorted(took(three)) == [0, 0, 6]


def test_a_miss_on_another_replica_is_called_by_its_name(three: list[FakeReplica], tmp_path: Path) -> None:
    """Case B069: the same prompt three times, written three times: routing's doing, not the prompt's."""
    expected = json.loads((CASES / "B069" / "expected.json").read_text())["expected"]
    with served_fleet(fleet_of(three, routing="round-robin"), tmp_path) as gateway:
        records = [gateway.record(gateway.post(request("go", system=LONG))) for _ in range(3)]
        assert expected["write_amplification"] == sum(len(one.prompts) for one in three)
        assert [one["diagnosis"]["cause"] for one in records] == ["PC801", "PC804", "PC804"]
        assert records[1]["diagnosis"]["attribution"] == "upstream"
        placed = records[1]["placement"]
        assert placed["available_tokens"] > 2000 > placed["chosen_tokens"] == 0
        (row,) = gateway.get("/promptcache/v1/replicas").json()["templates"]
        assert row["available_tokens"] > 4000
        assert row["chosen_tokens"] == row["delivered_tokens"] == 0
        assert row["shortfall"]["routing"] == row["available_tokens"]
        assert row["shortfall"]["eviction"] == 0


def test_a_hit_by_affinity_is_counted_as_chosen_and_delivered(
    three: list[FakeReplica], tmp_path: Path
) -> None:
    with served_fleet(fleet_of(three), tmp_path) as gateway:
        for _ in range(3):
            gateway.post(request("go", system=LONG))
        (row,) = gateway.get("/promptcache/v1/replicas").json()["templates"]
    assert row["available_tokens"] == row["chosen_tokens"] >= row["delivered_tokens"] > 4000
    assert row["shortfall"]["routing"] == 0


def test_other_settings_while_it_runs_lose_no_affinity(three: list[FakeReplica], tmp_path: Path) -> None:
    with served_fleet(fleet_of(three), tmp_path) as gateway:
        gateway.post(request("go", system=LONG))
        (home,) = [one for one in three if one.prompts]
        changed = UpstreamSettings(name="f", fleet=fleet_of(three[::-1], hold_s=1.0))
        call(gateway.loop, gateway.gateway.reload(Settings(upstreams=(changed,), data_dir=tmp_path)))
        for _ in range(3):
            assert gateway.post(request("go", system=LONG)).status_code == 200
        assert [one["name"] for one in view(gateway)["replicas"]] == [one.name for one in three[::-1]]
    assert len(home.prompts) == 4


def test_every_replica_is_on_the_metrics_page(three: list[FakeReplica], tmp_path: Path) -> None:
    with served_fleet(fleet_of(three, routing="round-robin"), tmp_path) as gateway:
        for number in range(3):
            gateway.post(request(f"hello {number}"))
        page = gateway.get("/metrics").text
    for one in three:
        labels = f'replica="{one.name}",upstream="f"'
        assert f"promptcache_replica_requests_total{{{labels}}} 1.0" in page
        assert f"promptcache_replica_ready{{{labels}}} 1.0" in page
    assert Counter(line.split("{")[0] for line in page.splitlines())["promptcache_replica_running"] == 3
    assert 'promptcache_fleet_held_total{upstream="f"} 0.0' in page
