"""Several processes on one port: what any of them says is true of all, whoever dies."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import httpx
import pytest

from promptcache_gateway.errors import SettingsError
from promptcache_gateway.settings import Settings, UpstreamSettings
from promptcache_gateway.shared.crew import Crew
from tests.gateway.batch.caching_server import CachingServer, caching_server
from tests.gateway.mock_upstream import CHAT, mock_upstream, wait_until
from tests.gateway.shared.processes import RULES, Crewed, crew

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.gateway.mock_upstream import Wire


@pytest.fixture(scope="module")
def upstream() -> Iterator[CachingServer]:
    with caching_server() as server:
        yield server


@pytest.fixture(scope="module")
def served(upstream: CachingServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crewed]:
    with crew(tmp_path_factory.mktemp("crew"), url=upstream.mock.url) as running:
        yield running


def test_every_request_is_counted_once_whoever_is_asked(served: Crewed) -> None:
    before = served.requests()
    ids = served.ask_many(60)
    assert served.failures == []
    assert len(set(ids)) == 60
    for _ in range(6):  # a connection each: whichever worker takes it
        assert served.requests() == before + 60
    recorded = served.recorded()
    assert {recorded[one] for one in ids} == {1}
    totals = served.get("/promptcache/v1/templates").json()
    assert sum(row["requests"] for row in totals) == before + 60


def test_a_conversation_is_followed_from_worker_to_worker(served: Crewed) -> None:
    system = RULES + "About gardens."
    turns: list[str] = []
    causes = []
    for number in range(10):
        turns.append(f"question {number}")
        answer = served.ask(*turns, system=system)
        causes.append(answer.headers.get("x-promptcache-cause"))
        turns.append(answer.json()["choices"][0]["message"]["content"])
    assert causes[1:] == [None] * 9, "each next turn is known to continue the one before"


def test_a_fault_is_found_against_what_another_worker_saw(served: Crewed) -> None:
    for minute in range(6):
        answer = served.ask("hello", system=f"Now it is 2026-11-29T10:{minute:02}:00Z. {RULES} Clocks.")
        if minute:
            assert answer.headers["x-promptcache-cause"] == "PC101"
    names = {row["name"] for row in served.get("/promptcache/v1/templates").json() if row["causes"]}
    assert answer.headers["x-promptcache-template"] in names


def test_an_answer_just_given_is_found_with_its_excerpts(served: Crewed) -> None:
    for number in range(8):
        answer = served.ask(f"once more {number}")
        found = served.get(f"/promptcache/v1/requests/{answer.headers['x-promptcache-request-id']}")
        assert found.status_code == 200
        assert found.json()["usage"]["prompt_tokens"] > 0


def test_live_events_tell_of_all_workers(served: Crewed) -> None:
    seen: set[str] = set()
    listening = threading.Event()

    def listen() -> None:
        with httpx.stream("GET", f"{served.url}/promptcache/v1/events", timeout=30) as stream:
            kind = ""
            for line in stream.iter_lines():
                listening.set()
                kind = line.removeprefix("event: ") if line.startswith("event: ") else kind
                if line.startswith("data: ") and kind == "request":
                    seen.add(json.loads(line.removeprefix("data: "))["id"])
                    if len(seen) >= 20:
                        return

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    assert listening.wait(20)
    ids = served.ask_many(20)
    listener.join(30)
    assert seen == set(ids)


def test_a_rename_holds_at_every_worker(served: Crewed) -> None:
    system = "Trains run on rails, and late. " * 60
    name = served.ask("hi", system=system).headers["x-promptcache-template"]
    renamed = httpx.post(f"{served.url}/promptcache/v1/templates/rename", json={"name": name, "to": "trains"})
    assert renamed.status_code == 200, renamed.text
    wait_until(lambda: served.ask("hi", system=system).headers["x-promptcache-template"] == "trains")
    shown = {served.ask("hi", system=system).headers["x-promptcache-template"] for _ in range(8)}
    assert shown == {"trains"}
    assert served.get("/promptcache/v1/templates/trains").json()["requests"] >= 10
    assert served.get(f"/promptcache/v1/templates/{name}").status_code == 404


def test_the_dashboard_and_health_are_there(served: Crewed) -> None:
    assert served.get("/health").json()["status"] == "ok"
    page = served.get("/dashboard")
    assert page.status_code == 200
    assert "<html" in page.text
    assert served.get("/promptcache/v1/templates/none").status_code == 404
    assert served.get("/nowhere").json()["error"]["code"] == "unknown_url"


def test_a_worker_that_is_killed_is_replaced_and_nothing_counted_is_lost(served: Crewed) -> None:
    served.ask_many(10)
    before, first = served.requests(), served.workers()
    os.kill(first[0], signal.SIGKILL)
    wait_until(lambda: len(served.workers()) == 2 and first[0] not in served.workers(), 30)
    assert served.requests() == before
    served.failures.clear()
    served.ask_many(30)
    assert served.failures == [], "those who are left take what comes"
    assert served.requests() == before + 30
    wait_until(lambda: "SIGKILL" in served.log.read_text(), 10)


async def slowly(wire: Wire) -> None:
    if b"slow" in wire.seen.body:
        await asyncio.sleep(1.5)
    await wire.respond(json.dumps(CHAT).encode())


def test_other_settings_reach_every_worker_and_a_stop_lets_requests_end(tmp_path: Path) -> None:
    config = tmp_path / "promptcache.toml"
    with mock_upstream(slowly) as mock:
        line = f'[upstreams.one]\nurl = "{mock.url}"\n'
        config.write_text(line)
        with crew(tmp_path, "--config", config) as running:

            def reload(text: str, says: str, times: int) -> None:
                config.write_text(text)
                running.process.send_signal(signal.SIGHUP)
                wait_until(lambda: running.log.read_text().count(says) >= times, 30)

            reload("[nonsense]\n", "were not taken", 1)
            reload(line + '[models]\nm = "one/other"\n', "took the settings", 2)
            running.ask_many(12)
            assert running.failures == []
            assert {json.loads(seen.body)["model"] for seen in mock.seen if seen.body} == {"other"}
            slow = [threading.Thread(target=running.ask_many, args=(1, 1, "slow")) for _ in range(6)]
            seen = len(mock.seen)
            for thread in slow:
                thread.start()
            wait_until(lambda: len(mock.seen) == seen + 6, 20)
            running.process.send_signal(signal.SIGTERM)
            for thread in slow:
                thread.join()
            assert running.failures == [], "a stop lets what runs end"
            assert running.process.wait(30) == 0


def test_a_stop_while_workers_start_leaves_no_error(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def never_ready(crew: Crew, _place: object) -> int:
        await crew._ending.wait()
        return 0

    async def stopped(bound: socket.socket) -> None:
        crew = Crew(None, bound, "", (), count=2, grace_s=5)  # type: ignore[arg-type]
        starting = asyncio.create_task(crew.start())
        await asyncio.sleep(0.01)
        starting.cancel()
        await crew.stop()

    monkeypatch.setattr(Crew, "_live", never_ready)
    with socket.socket() as bound:
        asyncio.run(stopped(bound))
    gc.collect()
    assert caplog.messages == []


def test_where_diagnosis_is_off_workers_tell_each_other_nothing_of_prompts(
    upstream: CachingServer, tmp_path: Path
) -> None:
    with crew(tmp_path, url=upstream.mock.url, PROMPTCACHE_DIAGNOSIS="false") as running:
        assert len(running.ask_many(20)) == 20
        assert running.failures == []
        (row,) = running.get("/promptcache/v1/templates").json()
        assert (row["name"], row["requests"]) == ("learned-unstructured", 20)
        assert (row["hits"], row["misses"], row["achievable_hit_rate"]) == (0, 0, None)
        assert running.get("/health").json()["diagnosis"] == "off"


def test_the_built_in_engine_is_one_process(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="one process"):
        Settings(workers=2)
    with pytest.raises(SettingsError, match="from 1 to"):
        Settings(workers=0, upstream=UpstreamSettings(url="http://h"))
    said = subprocess.run(
        [sys.executable, "-m", "promptcache", "serve", "--workers", "2", "--check"],
        capture_output=True,
        check=False,
    )
    assert said.returncode == 2
    assert b"workers: the built-in engine is one process" in said.stderr


def test_a_database_that_cannot_be_used_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "promptcache.db").mkdir()
    said = subprocess.run(
        [
            *(sys.executable, "-m", "promptcache", "serve", "--workers", "2", "--port", "0"),
            *("--upstream", "http://127.0.0.1:9", "--data-dir", str(tmp_path)),
        ],
        capture_output=True,
        check=False,
        timeout=90,
    )
    assert said.returncode == 2
    assert b"Traceback" not in said.stderr
    assert b"The database" in said.stderr
