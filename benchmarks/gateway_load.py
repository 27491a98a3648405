"""The load of the gateway's benchmark: kinds of request, a client that sends them, and what a process used.

The client is as lean as the servers, and runs in the benchmark's own process. CPU time is the kernel's
scheduler statistics of all threads: unlike requests per second it does not depend on how busy the machine is.
"""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gateway_servers import EVENTS, content_length

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

WHOLE, LARGE, STREAMED = "2 KB, whole", "50 KB, whole", "2 KB, streamed"
_TEMPLATES = 8
_STREAMED_ONE_OF = 50


@dataclass(frozen=True)
class Case:
    """One kind of request: its name, a body for each index, and what one of it is called."""

    name: str
    body: Callable[[int], bytes]
    requests: int
    per: int = 1
    unit: str = "request"


def cases(requests: int) -> list[Case]:
    """The kinds of request that are measured."""
    small, large = "Rules of the desk. " * 90, "Rules of the desk. " * 2_600

    def chat(system: str, index: int, **more: object) -> bytes:
        messages = [
            {"role": "system", "content": system},
            {"role": "user", "content": f"Question {index}: where is my parcel?"},
        ]
        return json.dumps({"model": "m", "messages": messages, **more}, separators=(",", ":")).encode()

    return [
        Case(WHOLE, lambda index: chat(small, index), requests),
        Case(LARGE, lambda index: chat(large, index), requests),
        Case(STREAMED, lambda index: chat(small, index, stream=True), requests // 20, EVENTS, "event"),
    ]


def mixed(requests: int) -> Case:
    """Requests of a few templates, now and then a streamed one."""
    systems = [f"Desk {number}. " + "Rules of the desk. " * 90 for number in range(_TEMPLATES)]

    def body(index: int) -> bytes:
        messages = [
            {"role": "system", "content": systems[index % _TEMPLATES]},
            {"role": "user", "content": f"Question {index}: where is my parcel?"},
        ]
        payload = {"model": "m", "messages": messages, "stream": index % _STREAMED_ONE_OF == 0}
        return json.dumps(payload, separators=(",", ":")).encode()

    return Case("mixed", body, requests)


async def load(port: int, case: Case, concurrency: int, first: int) -> None:
    """Send a case's requests, their indices from ``first`` on, over so many connections."""
    indices = iter(range(first, first + case.requests))

    async def worker() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**22)
        for index in indices:
            body = case.body(index)
            head = (
                b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            )
            writer.write(head + b"content-length: %d\r\n\r\n" % len(body) + body)
            await _read_response(reader)
        writer.close()

    await asyncio.gather(*[worker() for _ in range(concurrency)])


async def _read_response(reader: asyncio.StreamReader) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200"), head
    if b"chunked" not in head.lower():
        await reader.readexactly(content_length(head))
        return
    while size := int(await reader.readuntil(b"\r\n"), 16):
        await reader.readexactly(size + 2)
    await reader.readexactly(2)


def cpu_seconds(pid: int) -> tuple[float, float]:
    """CPU time of a process: of its main thread, which serves requests, and of all its threads."""
    times: dict[str, int] = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            times[task.name] = int((task / "schedstat").read_text().split()[0])
        except OSError:
            continue  # the thread has just ended
    return times[str(pid)] / 1e9, sum(times.values()) / 1e9


def resident_mb(pid: int) -> float:
    """Resident memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def open_files(pid: int) -> int:
    """Files and connections that a process has open."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def cpu_since_start(pid: int) -> float:
    """CPU seconds of a process since it was started, threads that have ended included."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def ready(port: int, process: subprocess.Popen[bytes], seconds: float = 180.0) -> None:
    """Wait until a server answers a request, which it may do later than it listens; raises `TimeoutError`."""
    for _ in range(int(seconds * 20)):
        if process.poll() is not None:
            break
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.05)
            continue
        writer.write(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n")
        await reader.readline()
        writer.close()
        return
    raise TimeoutError
