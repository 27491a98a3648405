"""Signals to several processes: once is gently, twice is at once, and neither loses what was under way."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sqlite3
import threading
import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.gateway.mock_upstream import DONE, MockUpstream, chunk, mock_upstream, sse, wait_until
from tests.gateway.shared.processes import Crewed, crew

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.gateway.mock_upstream import Wire

ASKED = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Hi"}]}
STREAMS = 8


class Reader(threading.Thread):
    """A caller of a stream, on a connection of its own."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url
        self.id, self.got = "", b""

    def run(self) -> None:
        with (
            httpx.Client(timeout=60) as client,
            client.stream("POST", f"{self._url}/v1/chat/completions", json=ASKED) as answer,
        ):
            self.id = answer.headers["x-promptcache-request-id"]
            for part in answer.iter_bytes():
                self.got += part


@contextmanager
def reading(served: Crewed, mock: MockUpstream) -> Iterator[list[Reader]]:
    """So many open streams; behind the block all have ended."""
    readers = [Reader(served.url) for _ in range(STREAMS)]
    for reader in readers:
        reader.start()
    wait_until(lambda: len(mock.seen) >= STREAMS and all(reader.got for reader in readers), 30)
    yield readers
    for reader in readers:
        reader.join()


def recorded(folder: Path) -> dict[str, tuple[int, str | None]]:
    """Status and error of every request in the database, by its id."""
    with closing(sqlite3.connect(folder / "data" / "promptcache.db")) as database:
        rows = database.execute("select id, status, error from requests").fetchall()
    return {one: (status, error) for one, status, error in rows}


async def endless(wire: Wire) -> None:
    await wire.start_events()
    while True:
        await wire.part(sse(chunk("tick ")))
        await asyncio.sleep(0.02)


def test_a_supervisor_that_tells_every_process_is_gentle(tmp_path: Path) -> None:
    """As systemd does: what the parent passes on is then a worker's second signal, and no hurry."""
    told = threading.Event()

    async def until_told(wire: Wire) -> None:
        await wire.start_events()
        await wire.part(sse(chunk("tick ")))
        while not told.is_set():
            await asyncio.sleep(0.02)
        await wire.part(sse(chunk("tock ", finish="stop")))
        await wire.part(DONE)
        await wire.end()

    with mock_upstream(until_told) as mock, crew(tmp_path, url=mock.url) as served:
        with reading(served, mock) as readers:
            for pid in (served.process.pid, *served.workers()):
                os.kill(pid, signal.SIGTERM)
            wait_until(lambda: _refuses(served.url), 30)
            time.sleep(0.5)  # for what the parent passes on; too short would only make this pass
            told.set()
        assert served.process.wait(60) == 0
    assert all(b"tock" in reader.got and b"[DONE]" in reader.got for reader in readers)
    assert recorded(tmp_path) == {reader.id: (200, None) for reader in readers}


def _refuses(url: str) -> bool:
    try:
        socket.create_connection(("127.0.0.1", httpx.URL(url).port or 0)).close()
    except ConnectionRefusedError:
        return True
    return False


def twice(served: Crewed, number: signal.Signals) -> None:
    """The second time once it is seen to stop: two signals at the same time are one."""
    served.process.send_signal(number)
    wait_until(lambda: _refuses(served.url), 30)
    served.process.send_signal(number)


def often(served: Crewed, number: signal.Signals) -> None:
    """Until it is gone: also while it writes what it was told."""
    while served.process.poll() is None:
        served.process.send_signal(number)
        time.sleep(0.005)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("tell", [twice, often])
def test_told_again_it_ends_at_once_and_loses_nothing(
    tmp_path: Path, tell: Callable[[Crewed, signal.Signals], None], number: signal.Signals
) -> None:
    with mock_upstream(endless) as mock, crew(tmp_path, "--shutdown-grace", "500", url=mock.url) as served:
        with reading(served, mock) as readers:
            tell(served, number)
            assert served.process.wait(60) == 0
        said = served.log.read_text()
    assert "Traceback" not in said
    assert "ERROR" not in said
    assert all(b'"code":"shutting_down"' in reader.got for reader in readers)
    written = recorded(tmp_path)
    assert {written[reader.id] for reader in readers} == {(503, "shutting_down")}
