"""The whole gateway, and a database that dies, hangs or is killed with it: nobody waits, little is lost."""

from __future__ import annotations

import functools
import signal
import sqlite3
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx
import pytest

from promptcache_gateway.settings import Settings, UpstreamSettings
from promptcache_gateway.store import Store
from promptcache_gateway.store.recorder import Recorder
from tests.gateway.mock_upstream import wait_until
from tests.gateway.serving import serve
from tests.gateway.store.postgres_server import postgres_server
from tests.gateway.test_server import process, said_until

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

    from tests.gateway.mock_upstream import MockUpstream
    from tests.gateway.serving import Served

BODY = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}


@contextmanager
def started(mock: MockUpstream, folder: Path, *more: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    with process("--port", "0", "--upstream", mock.url, "--data-dir", str(folder), *more) as running:
        yield running, said_until(running, "Stop with").split("base_url")[1].split()[0]


def talk(base: str, count: int) -> None:
    with httpx.Client(timeout=20) as client:
        for _ in range(count):
            assert client.post(f"{base}/chat/completions", json=BODY).status_code == 200


def requests_in(address: Path | str) -> tuple[int, int]:
    """Requests in the table, and in the totals."""
    store = Store(address)
    store.open()
    try:
        return len(store.read.requests(limit=1_000)[0]), sum(
            row["requests"] for row in store.read.templates()
        )
    finally:
        store.close()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_kill_loses_at_most_the_last_second(kind: str, mock: MockUpstream, tmp_path: Path) -> None:
    if kind == "sqlite":
        address: Path | str = tmp_path / "promptcache.db"
        _kill_and_look(mock, tmp_path, address)
        with sqlite3.connect(address) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.close()
        return
    with postgres_server() as server:
        _kill_and_look(mock, tmp_path, server.url, "--database-url", server.url)


def _kill_and_look(mock: MockUpstream, folder: Path, address: Path | str, *more: str) -> None:
    with started(mock, folder, *more) as (running, base):
        talk(base, 30)
        time.sleep(1.0)
        talk(base, 5)
        running.send_signal(signal.SIGKILL)
        running.wait(10)
    kept, counted = requests_in(address)
    assert 30 <= kept <= 35
    assert counted == kept

    with started(mock, folder, *more) as (running, base):
        talk(base, 1)
        running.send_signal(signal.SIGTERM)
        assert running.wait(15) == 0
    assert requests_in(address) == (kept + 1, kept + 1)


@pytest.fixture
def stuck(mock: MockUpstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A gateway whose database takes a batch and does not come back, and whose queue holds five records."""
    free, real = threading.Event(), Recorder._transact
    monkeypatch.setattr(Recorder, "_transact", lambda self, batch: (free.wait(30), real(self, batch)))
    monkeypatch.setattr("promptcache_gateway.app.Store", functools.partial(Store, capacity=5))
    with serve(Settings(upstream=UpstreamSettings(url=mock.url), data_dir=tmp_path)) as served:
        yield served
        free.set()


def test_a_database_that_hangs_slows_no_request_and_what_is_lost_is_shown(stuck: Served) -> None:
    answers = [stuck.post(BODY) for _ in range(20)]

    assert {answer.status_code for answer in answers} == {200}
    assert all("x-promptcache-request-id" in answer.headers for answer in answers)
    # Five wait in the queue; the batch that hangs took one and what came while it gathered, five at most.
    wait_until(lambda: dropped(stuck) >= 20 - 5 - 6)
    assert dropped(stuck) <= 15


def dropped(served: Served) -> int:
    lines = served.get("/metrics").text.splitlines()
    (value,) = [line.split()[1] for line in lines if line.startswith("promptcache_recorder_dropped_total ")]
    return int(float(value))


def test_a_server_that_is_away_is_said_by_the_admin_api_alone(mock: MockUpstream, tmp_path: Path) -> None:
    with postgres_server() as server:
        told = Settings(upstream=UpstreamSettings(url=mock.url), data_dir=tmp_path, database=server.url)
        with serve(told) as served:
            assert served.post(BODY).status_code == 200
            assert served.get("/promptcache/v1/templates").status_code == 200
            assert served.get("/promptcache/v1/templates/%00").status_code == 400
            server.stop()
            assert served.post(BODY).status_code == 200
            refused = served.get("/promptcache/v1/templates")
            assert refused.status_code == 503
            assert refused.json()["error"]["code"] == "database_unavailable"
            assert served.get("/health").status_code == 200
            server.start()
            wait_until(lambda: served.get("/promptcache/v1/templates").status_code == 200, 20)
            rows = served.get("/promptcache/v1/templates").json()
            assert sum(row["requests"] for row in rows) == 2
