"""Health tells of an upstream that is left alone, and a probe of the process is never failed by one."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from promptcache_gateway.health import Health
from promptcache_gateway.settings import ModelSettings, Settings, UpstreamSettings
from promptcache_gateway.upstream_settings import Target
from promptcache_gateway.upstreams.circuit import COOL_DOWN_S, OPENS_AFTER, Circuit
from tests.gateway.mock_upstream import MockUpstream, Wire, answer_chat, mock_upstream, wait_until
from tests.gateway.serving import Served, serve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BODY = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


async def fails(wire: Wire) -> None:
    await wire.respond(b'{"error":{"message":"broken"}}', status="500 Internal Server Error")


@pytest.fixture
def served(mock: MockUpstream, tmp_path: Path) -> Iterator[Served]:
    upstream = UpstreamSettings(url=mock.url, name="only", retries=0)
    with serve(Settings(upstreams=(upstream,), data_dir=tmp_path)) as made:
        yield made


def set_clock(served: Served, name: str = "only") -> Clock:
    """A clock of the test's own for an upstream's circuit."""
    (line,) = [line for line in served.gateway._switchboard.lines if line.upstream.name == name]
    clock = Clock()
    line.circuit._clock = clock
    return clock


def entry(served: Served, name: str = "only") -> dict[str, Any]:
    found: dict[str, Any] = served.get("/health").json()["upstreams"][name]
    return found


def test_an_upstream_that_is_left_alone_is_told_with_its_times(served: Served, mock: MockUpstream) -> None:
    clock = set_clock(served)
    mock.script = fails
    began = time.time()
    for _ in range(OPENS_AFTER - 1):
        assert served.post(BODY).status_code == 500
    assert served.get("/health").json()["status"] == "ok"  # it answers, and no call is refused yet
    assert served.post(BODY).status_code == 500
    clock.now += 4
    answer = served.get("/health")
    assert (answer.status_code, answer.json()["status"]) == (503, "unavailable")
    told = entry(served)
    left_alone = told["left_alone"]
    assert told["ok"] is False
    assert left_alone["failures"] == OPENS_AFTER
    assert left_alone["next_try_s"] == COOL_DOWN_S - 4
    assert began - 5 < left_alone["since"] < time.time() - 3
    refused = served.post(BODY)
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "upstream_circuit_open")
    assert int(refused.headers["retry-after"]) == left_alone["next_try_s"]


def test_once_a_call_may_find_out_it_is_unknown_and_served_again(served: Served, mock: MockUpstream) -> None:
    clock = set_clock(served)
    mock.script = fails
    for _ in range(OPENS_AFTER):
        served.post(BODY)
    clock.now += COOL_DOWN_S
    answer = served.get("/health")
    assert (answer.status_code, answer.json()["status"]) == (200, "degraded")
    assert entry(served)["ok"] is None
    assert entry(served)["left_alone"]["next_try_s"] == 0
    mock.script = answer_chat
    assert served.post(BODY).status_code == 200
    assert served.get("/health").json()["status"] == "ok"
    assert "left_alone" not in entry(served)


def test_while_a_call_finds_out_it_says_so(served: Served, mock: MockUpstream) -> None:
    clock = set_clock(served)
    mock.script = fails
    for _ in range(OPENS_AFTER):
        served.post(BODY)
    clock.now += COOL_DOWN_S
    answered = threading.Event()

    async def waits(wire: Wire) -> None:
        while not answered.is_set():
            await asyncio.sleep(0.01)
        await answer_chat(wire)

    mock.script = waits
    probe = threading.Thread(target=served.post, args=(BODY,))
    probe.start()
    wait_until(lambda: entry(served)["left_alone"]["probing"])
    assert entry(served)["ok"] is False  # others are refused meanwhile
    answered.set()
    probe.join()
    assert entry(served)["ok"] is True


def test_one_of_several_degrades(mock: MockUpstream, tmp_path: Path) -> None:
    with mock_upstream(fails) as ill:
        upstreams = (
            UpstreamSettings(url=ill.url, name="ill", retries=0),
            UpstreamSettings(url=mock.url, name="well", retries=0),
        )
        models = (ModelSettings(name="m", targets=(Target("ill"), Target("well"))),)
        with serve(Settings(upstreams=upstreams, models=models, data_dir=tmp_path)) as served:
            for _ in range(OPENS_AFTER):
                assert served.post(BODY).status_code == 200
            answer = served.get("/health")
            assert (answer.status_code, answer.json()["status"]) == (200, "degraded")
            assert entry(served, "ill")["left_alone"]["failures"] == OPENS_AFTER
            assert "left_alone" not in entry(served, "well")


def test_the_process_lives_whatever_its_upstreams_do(tmp_path: Path) -> None:
    settings = Settings(
        upstream=UpstreamSettings(url="http://127.0.0.1:9", retries=0),
        data_dir=tmp_path,
        api_keys=("k" * 16,),
    )
    key = {"x_api_key": "k" * 16}
    with serve(settings) as served:
        for _ in range(OPENS_AFTER):
            assert served.post(BODY, **key).status_code == 502
        for method in ("GET", "HEAD"):
            assert served.http.request(method, "/health").status_code == 503
            assert served.http.request(method, "/health/live").status_code == 200
        for headers in ({}, {"x-api-key": "k" * 16}):
            told = served.http.get("/health/live", headers=headers).json()
            assert (set(told), told["status"]) == ({"status", "version"}, "ok")
        assert set(served.get("/health").json()) == {"status", "version"}  # no names without a key
        assert served.http.post("/health/live", headers={"x-api-key": "k" * 16}).status_code in {403, 405}


def test_a_fleet_s_own_word_is_not_overruled() -> None:
    class Fleet:
        name = "fleet"

        def health(self) -> dict[str, Any]:
            return {"ok": True}

    circuit = Circuit(opens_after=None)
    for _ in range(100):
        circuit.failed()
    line = type("Line", (), {"upstream": Fleet(), "circuit": circuit})()
    status, body = Health([line.upstream], lambda: [line]).report()
    assert (status, body["status"], body["upstreams"]) == (200, "ok", {"fleet": {"ok": True}})
