"""Gateways on several machines with one Redis and one PostgreSQL, both killed while requests run."""

from __future__ import annotations

import json
import signal
import threading
from collections import Counter
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from promptcache_gateway.settings import Settings, UpstreamSettings
from promptcache_gateway.shared.settings import SharedSettings
from promptcache_gateway.store import Store
from promptcache_gateway.tenancy import TenantLimits
from tests.gateway.batch.caching_server import CachingServer, caching_server
from tests.gateway.fleet.keepers import fleet_of_keepers, keepers, response
from tests.gateway.fleet.servers import fleet_of, replicas, request
from tests.gateway.mock_upstream import wait_until
from tests.gateway.observe.scenes import rules_text
from tests.gateway.serving import Served, serve
from tests.gateway.shared.processes import RULES, crew
from tests.gateway.shared.redis_server import RedisServer, redis_server
from tests.gateway.store.postgres_server import postgres_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def store() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


@pytest.fixture
def upstream() -> Iterator[CachingServer]:
    with caching_server(delay_s=0.002) as server:
        yield server


@contextmanager
def machines(
    folder: Path, upstream: UpstreamSettings, shared: SharedSettings, count: int = 2, **more: Any
) -> Iterator[list[Served]]:
    with ExitStack() as stack:
        yield [
            stack.enter_context(
                serve(Settings(upstream=upstream, shared=shared, data_dir=folder / str(number), **more))
            )
            for number in range(count)
        ]


def body(question: str, system: str = RULES) -> dict[str, Any]:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
    return {"model": "m", "messages": messages}


def test_a_limit_holds_for_all_machines(store: RedisServer, upstream: CachingServer, tmp_path: Path) -> None:
    tenants = {"default": TenantLimits(requests_per_minute=12)}
    shared = SharedSettings(url=store.url, name="limit", patience_ms=2_000)
    to = UpstreamSettings(url=upstream.mock.url)
    with machines(tmp_path, to, shared, 3, tenants=tenants) as all_of_them:
        statuses = Counter(all_of_them[n % 3].post(body(f"q{n}")).status_code for n in range(30))
    assert statuses[429] >= 17, "13 at most, should the test take five seconds"
    assert statuses[200] >= 12


def test_events_of_one_are_told_by_the_other(
    store: RedisServer, upstream: CachingServer, tmp_path: Path
) -> None:
    shared = SharedSettings(url=store.url, name="events")
    with machines(tmp_path, UpstreamSettings(url=upstream.mock.url), shared) as (one, other):
        heard: list[dict[str, Any]] = []
        listening = threading.Event()

        def listen() -> None:
            with httpx.stream("GET", f"{other.url}/promptcache/v1/events", timeout=30) as stream:
                kind = ""
                for line in stream.iter_lines():
                    listening.set()
                    kind = line.removeprefix("event: ") if line.startswith("event: ") else kind
                    if line.startswith("data: ") and kind == "request":
                        heard.append(json.loads(line.removeprefix("data: ")))
                        return

        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        assert listening.wait(10)
        asked = one.post(body("hi"))
        listener.join(20)
        assert [event["id"] for event in heard] == [asked.headers["x-promptcache-request-id"]]
        assert RULES[:40] not in json.dumps(heard), "no text of a prompt leaves the machine"
        assert other.gateway.observer.journal is not None
        assert len(other.gateway.observer.journal.recent) == 0, "and nothing of it is counted there"
        unknown = other.post(body("hi", "What another machine may have had. " * 90))
        assert unknown.headers.get("x-promptcache-cause") != "PC801", "nobody knows whether it is the first"


def test_names_are_the_same_on_all_machines(
    store: RedisServer, upstream: CachingServer, tmp_path: Path
) -> None:
    shared = SharedSettings(url=store.url, name="names")
    with machines(tmp_path, UpstreamSettings(url=upstream.mock.url), shared) as (one, other):

        def name(at: Served, who: str) -> str:
            return at.post(body("hi", f"You serve {who} the clever. {rules_text()}")).headers[
                "x-promptcache-template"
            ]

        name(one, "Ada")
        wait_until(lambda: name(other, "Bob") == name(one, "Ada"), 10)
        first = name(one, "Bob")
        assert first == name(other, "Ada"), "both have come to one name, whoever learned it"
        renamed = one.http.post("/promptcache/v1/templates/rename", json={"name": first, "to": "clever"})
        assert renamed.status_code == 200, renamed.text
        wait_until(lambda: name(other, "Cleo") == "clever", 10)


def test_warm_prefixes_are_known_on_all_machines(store: RedisServer, tmp_path: Path) -> None:
    shared = SharedSettings(url=store.url, name="routes")
    with replicas(3) as servers:
        to = UpstreamSettings(name="fleet", fleet=fleet_of(servers))
        with ExitStack() as stack:
            settings = [
                Settings(upstreams=(to,), shared=shared, data_dir=tmp_path / str(number))
                for number in range(2)
            ]
            one, other = (stack.enter_context(serve(each)) for each in settings)
            asked = request("hello", system="Gardens. " * 900)
            assert one.post(asked).status_code == 200
            chosen = [number for number, server in enumerate(servers) if server.prompts]
            pins = other.gateway.upstreams[0].router.pins
            wait_until(lambda: len(pins), 10)
            for number in range(4):
                assert other.post(request(f"and {number}", system="Gardens. " * 900)).status_code == 200
            assert [number for number, server in enumerate(servers) if server.prompts] == chosen


def test_an_answer_is_gone_on_from_at_any_machine(store: RedisServer, tmp_path: Path) -> None:
    shared = SharedSettings(url=store.url, name="answers")
    with keepers(6) as servers:
        to = UpstreamSettings(name="fleet", fleet=fleet_of_keepers(servers))

        def machine(number: int) -> Settings:
            return Settings(upstreams=(to,), shared=shared, data_dir=tmp_path / str(number))

        with serve(machine(0)) as one, serve(machine(1)) as other:
            names = [one.post(response(), path="/v1/responses").json()["id"] for _ in range(12)]
            homes = other.gateway.upstreams[0].router.homes
            wait_until(lambda: len(homes) == 12, 10)
            for name in names:
                told = other.post(response(previous_response_id=name), path="/v1/responses")
                assert told.status_code == 200, told.text
            assert [len(server.asked) for server in servers] == [4] * 6, "nobody else was asked"
            later = names[5]
            with serve(machine(2)) as third:  # it was not there when the answer was given
                homes = third.gateway.upstreams[0].router.homes
                wait_until(lambda: len(homes) >= 24, 10)
                before = sum(len(server.asked) for server in servers)
                told = third.post(response(previous_response_id=later), path="/v1/responses")
                assert told.status_code == 200, told.text
                assert sum(len(server.asked) for server in servers) == before + 1


class Load:
    """Requests from several threads until it is stopped."""

    def __init__(self, gateways: list[Served]) -> None:
        self._gateways = gateways
        self._ends = threading.Event()
        self.ids: list[str] = []
        self.failures: list[str] = []
        self._threads = [threading.Thread(target=self._work, args=(number,)) for number in range(4)]
        for thread in self._threads:
            thread.start()

    def _work(self, number: int) -> None:
        turn = 0
        while not self._ends.is_set():
            turn += 1
            gateway = self._gateways[(turn + number) % len(self._gateways)]
            try:
                answer = httpx.post(
                    f"{gateway.url}/v1/chat/completions",
                    json=body(f"{number} asks {turn}"),
                    timeout=20,
                    verify=False,
                )
                answer.raise_for_status()
                self.ids.append(answer.headers["x-promptcache-request-id"])
            except httpx.HTTPError as error:
                self.failures.append(repr(error))

    def more(self, count: int = 25) -> None:
        """Wait for so many further answers."""
        target = len(self.ids) + count
        wait_until(lambda: len(self.ids) >= target or self.failures, 60)

    def stop(self) -> None:
        self._ends.set()
        for thread in self._threads:
            thread.join(30)


def test_no_request_fails_and_none_is_counted_twice_whatever_dies(
    upstream: CachingServer, tmp_path: Path
) -> None:
    tenants = {"default": TenantLimits(requests_per_minute=100_000, tokens_per_minute=1_000_000_000)}
    with postgres_server() as database, redis_server() as store:
        shared = SharedSettings(url=store.url)
        to = UpstreamSettings(url=upstream.mock.url)
        with machines(tmp_path, to, shared, tenants=tenants, database=database.url) as gateways:
            load = Load(gateways)
            try:
                load.more()
                store.stop()
                load.more()
                database.stop()
                load.more()
                store.start()
                database.start()
                load.more()
                store.silence()
                load.more()
                store.wake()
                database.stop(signal.SIGINT)
                load.more()
                database.start()
                load.more()
            finally:
                load.stop()
            assert load.failures == []
            for gateway in gateways:
                journal = gateway.gateway.observer.journal
                assert journal is not None
                wait_until(lambda journal=journal: journal.store.flush(1.0), 30)
                assert journal.store.dropped == 0
            wait_until(lambda: not gateways[0].gateway._limits.common.away, 20)
            counted = sum(
                sum(sample.value for sample in family.samples)
                for gateway in gateways
                for family in gateway.gateway.observer.journal.metrics.registry.collect()
                if family.name == "promptcache_requests"
            )
        reading = Store(database.url)
        reading.open()
        try:
            rows, before = Counter[str](), None
            while True:
                page, before = reading.read.requests(limit=1_000, before=before)
                rows.update(row["id"] for row in page)
                if before is None:
                    break
            totals = reading.read.templates()
        finally:
            reading.close()
    assert set(rows) == set(load.ids)
    assert set(rows.values()) == {1}
    assert sum(row["requests"] for row in totals) == len(load.ids)
    assert counted == len(load.ids)


def test_workers_of_one_machine_share_with_others_too(
    store: RedisServer, upstream: CachingServer, tmp_path: Path
) -> None:
    config = tmp_path / "promptcache.toml"
    config.write_text(
        f'[upstream]\nurl = "{upstream.mock.url}"\n[tenants.default]\nrequests_per_minute = 12\n'
        '[shared]\nname = "crews"\npatience_ms = 2000\n'
    )
    shared = SharedSettings(url=store.url, name="crews", patience_ms=2_000)
    tenants = {"default": TenantLimits(requests_per_minute=12)}
    to = UpstreamSettings(url=upstream.mock.url)
    with machines(tmp_path, to, shared, 1, tenants=tenants) as (alone,):
        name = alone.post(body("hi", f"You serve Ada the clever. {rules_text()}")).headers[
            "x-promptcache-template"
        ]
        with crew(tmp_path, "--config", config, PROMPTCACHE_SHARED_URL=store.url) as running:
            taught = running.ask("hi", system=f"You serve Bob the clever. {rules_text()}")
            assert taught.headers["x-promptcache-template"] == name, "learned on the other machine"
            journal = alone.gateway.observer.journal
            assert journal is not None
            wait_until(
                lambda: any(
                    event.data.get("id") == taught.headers["x-promptcache-request-id"]
                    for event in journal.events.since(0)
                ),
                20,
            )
            statuses = Counter(running.ask(f"q{number}").status_code for number in range(20))
            statuses[alone.post(body("one more")).status_code] += 1
            assert statuses[429] > 0, "one limit for both machines and all workers"
            assert statuses[200] <= 17
