"""`promptcache serve --workers N` in processes of its own, as a user has it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from tests.gateway.mock_upstream import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

START_S = 90.0
RULES = "Answer in two sentences and cite the section. " * 60


@dataclass
class Crewed:
    """A running gateway of several processes."""

    url: str
    process: subprocess.Popen[bytes]
    log: Path
    failures: list[str] = field(default_factory=list)

    def workers(self) -> list[int]:
        """Process ids of its workers."""
        pid = self.process.pid
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def get(self, path: str) -> httpx.Response:
        """Ask on a connection of its own, so that any worker may answer."""
        return httpx.get(self.url + path, timeout=30, verify=False)

    def metrics(self) -> dict[str, float]:
        """Counters by their name with its labels."""
        lines = self.get("/metrics").text.splitlines()
        pairs = (line.rpartition(" ") for line in lines if line and not line.startswith("#"))
        return {name: float(value) for name, _, value in pairs}

    def requests(self) -> float:
        """Requests that were counted, of all templates."""
        return sum(
            value for name, value in self.metrics().items() if name.startswith("promptcache_requests_total")
        )

    def recorded(self) -> Counter[str]:
        """Ids of all requests in the database, with how often each is there."""
        found: Counter[str] = Counter()
        before = ""
        while True:
            page = self.get(f"/promptcache/v1/requests?limit=1000{before}").json()
            found.update(row["id"] for row in page["data"])
            if page["next"] is None:
                return found
            before = f"&before={page['next']}"

    def ask(self, *turns: str, system: str = RULES, **headers: str) -> httpx.Response:
        """A chat on a connection of its own; turns alternate between user and assistant."""
        roles = ("user", "assistant") * len(turns)
        said = [{"role": role, "content": text} for role, text in zip(roles, turns, strict=False)]
        body = {"model": "m", "messages": [{"role": "system", "content": system}, *said]}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return httpx.post(
            f"{self.url}/v1/chat/completions", json=body, headers=named, timeout=30, verify=False
        )

    def ask_many(self, count: int, threads: int = 8, text: str = "question") -> list[str]:
        """So many chats from several threads; the ids of those answered, what failed is noted."""
        ids: list[str] = []
        numbers = iter(range(count))

        def work() -> None:
            for number in numbers:
                try:
                    answer = self.ask(f"{text} {number}")
                    answer.raise_for_status()
                    ids.append(answer.headers["x-promptcache-request-id"])
                except httpx.HTTPError as error:
                    self.failures.append(repr(error))

        running = [threading.Thread(target=work) for _ in range(threads)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        return ids


@contextmanager
def crew(
    folder: Path,
    *arguments: Any,
    workers: int = 2,
    url: str = "",
    ends: tuple[int, ...] = (0,),
    **environ: str,
) -> Iterator[Crewed]:
    """Run the command until the block ends; it must then end as it should, and leave nobody behind."""
    log = folder / "log"
    command = [sys.executable, "-m", "promptcache", "serve", "--port", "0", "--log-format", "json"]
    command += ["--workers", str(workers), "--data-dir", str(folder / "data"), *map(str, arguments)]
    if url:
        command += ["--upstream", url]
    with log.open("wb") as sink:
        process = subprocess.Popen(command, stdout=sink, stderr=sink, env={**os.environ, **environ})
    try:
        wait_until(lambda: b'"serving"' in log.read_bytes() or process.poll() is not None, START_S)
        assert process.poll() is None, log.read_text()
        served = Crewed(_address(log), process, log)
        started = served.workers()
        yield served
        started += served.workers() if process.poll() is None else []
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        status = process.wait(60)
    assert status in ends, log.read_text()
    wait_until(lambda: not [pid for pid in started if Path(f"/proc/{pid}").exists()], 20)


def _address(log: Path) -> str:
    text = log.read_text()
    return text[text.index('"address"') :].split('"')[3]
