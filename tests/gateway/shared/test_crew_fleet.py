"""A fleet behind several workers: what the admin API shows and orders is of all of them."""

from __future__ import annotations

import os
import signal
from collections import Counter
from typing import TYPE_CHECKING, Any

import httpx

from promptcache_gateway.shared.crew_fleet import merged
from tests.gateway.fleet.keepers import keepers, response
from tests.gateway.fleet.servers import replicas
from tests.gateway.mock_upstream import wait_until
from tests.gateway.shared.processes import Crewed, crew

if TYPE_CHECKING:
    from pathlib import Path


def replica(name: str, **known: Any) -> dict[str, Any]:
    ordinary = {
        "name": name,
        "url": f"http://{name}",
        "state": "ready",
        "running": 0,
        "requests": 0,
        "failures": 0,
        "lone_refusals": 0,
        "refusal": None,
        "checked_at": None,
        "backlog_s": 0.0,
        "pending_tokens": 0,
        "prefill_tokens_per_s": 100,
        "decode_tokens_per_s": 10.0,
        "known_tokens": 0,
    }
    return ordinary | known


def view(*replicas: dict[str, Any], **known: Any) -> dict[str, Any]:
    fleet = {"upstream": "f", "routing": "prefix", "utilisation": 0.25, "waiting": 1, "held": 2}
    return {**fleet, "hold_timeouts": 0, "waited": 0, "replicas": list(replicas), **known}


def test_views_add_up_and_the_worst_state_is_shown() -> None:
    one = view(replica("a", running=2, requests=5, backlog_s=1.5, prefill_tokens_per_s=50), replica("b"))
    ill = {"state": "left-alone", "lone_refusals": 2, "refusal": 401}
    other = view(replica("a", running=1, requests=4, checked_at=9.0, **ill), replica("c"))
    gone = view(replica("a", requests=7, running=3), replica("z", requests=1), waiting=9)
    found = merged([one, other], [gone])
    first, *rest = found["replicas"]
    assert [each["name"] for each in rest] == ["b", "c"], "one that nobody has any more is not shown"
    assert (first["running"], first["requests"], first["state"]) == (3, 16, "left-alone")
    assert (first["lone_refusals"], first["refusal"]) == (2, 401)
    assert (first["backlog_s"], first["prefill_tokens_per_s"], first["checked_at"]) == (1.5, 75.0, 9.0)
    assert (found["utilisation"], found["waiting"], found["held"]) == (0.5, 2, 6)


def test_replicas_and_a_limit_of_all_workers_which_end_with_their_parent(tmp_path: Path) -> None:
    config = tmp_path / "promptcache.toml"
    with replicas(2) as servers:
        listed = ", ".join(f'"{server.mock.url}"' for server in servers)
        config.write_text(
            f"[upstreams.f]\nreplicas = [{listed}]\nrouting = 'round-robin'\n"
            "[tenants.default]\nrequests_per_minute = 40\n"
        )
        with crew(tmp_path, "--config", config, ends=(-signal.SIGKILL,)) as running:
            running.ask_many(20)
            assert running.failures == []
            assert _requests(running).total() == 20
            counted = running.metrics()
            assert (
                sum(v for k, v in counted.items() if k.startswith("promptcache_replica_requests_total")) == 20
            )
            name = next(iter(_requests(running)))
            body = {"upstream": "f", "replica": name}
            drained = httpx.post(f"{running.url}/promptcache/v1/replicas/drain", json=body)
            assert drained.status_code == 200, drained.text
            wait_until(lambda: _states(running)[name] == "draining", 10)
            before = _requests(running)
            running.ask_many(12)
            assert running.failures == []
            assert _requests(running)[name] == before[name], "no worker sends it anything"
            old = running.workers()
            for pid in old:
                os.kill(pid, signal.SIGKILL)
            wait_until(lambda: len(running.workers()) == 2 and not set(running.workers()) & set(old), 30)
            running.ask_many(6)
            assert running.failures == []
            assert _requests(running)[name] == before[name], "nor do those that were started in their place"
            assert _states(running)[name] == "draining"
            body = {"upstream": "f", "replica": "nobody"}
            assert httpx.post(f"{running.url}/promptcache/v1/replicas/drain", json=body).status_code == 404
            statuses = Counter(running.ask(f"more {number}").status_code for number in range(40))
            limited = 'promptcache_limited_requests_total{limit="requests",tenant="default"}'
            assert statuses[429] > 0, "two workers admit no more than one would"
            assert running.metrics()[limited] == statuses[429]
            running.process.kill()  # the workers see it, and end


def test_an_answer_is_gone_on_from_at_any_worker(tmp_path: Path) -> None:
    config = tmp_path / "promptcache.toml"
    with keepers(4) as servers:
        listed = ", ".join(f'"{server.mock.url}"' for server in servers)
        config.write_text(f'[upstreams.f]\nreplicas = [{listed}]\nrouting = "round-robin"\n')
        with crew(tmp_path, "--config", config, workers=3) as running:

            def ask(**more: Any) -> Any:
                told = httpx.post(f"{running.url}/v1/responses", json=response(**more), timeout=30)
                assert told.status_code == 200, told.text
                return told.json()["id"]

            names = [ask() for _ in range(12)]
            for _ in range(2):
                names = [ask(previous_response_id=name) for name in names]
        kept = [set(server.kept) for server in servers]
        assert [sum(name in each for each in kept) for name in names] == [1] * 12


def _fleet(running: Crewed) -> dict[str, Any]:
    found: dict[str, Any] = running.get("/promptcache/v1/replicas").json()["fleets"][0]
    return found


def _requests(running: Crewed) -> Counter[str]:
    return Counter({one["name"]: one["requests"] for one in _fleet(running)["replicas"]})


def _states(running: Crewed) -> dict[str, str]:
    return {one["name"]: one["state"] for one in _fleet(running)["replicas"]}
