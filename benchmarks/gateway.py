"""What a request costs in the gateway, beside a bare pass-through on the same server in the same run.

    python benchmarks/gateway.py [--requests 2000] [--concurrency 16] [--rounds 3] [--json]

Three processes: a fast mock upstream, a floor (raw ASGI and aiohttp under uvicorn, nothing else) and the
gateway with diagnosis and recording on. Both proxies get the same bytes in alternating rounds. The measure is
the CPU time of the proxy's process over all its threads, from the kernel's scheduler statistics: unlike
requests per second it does not depend on how busy the machine is.

    python benchmarks/gateway.py --growth 200000 [--concurrency 4]

Whether the gateway grows: its resident memory at the start and after each quarter of so many requests.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gateway_servers import EVENTS, content_length, floor, mock_upstream

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

# --- the load ---


@dataclass(frozen=True)
class Case:
    """One kind of request: its name, a body for each index, and what one of it is called."""

    name: str
    body: Callable[[int], bytes]
    requests: int
    per: int
    unit: str


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
        Case("2 KB, whole", lambda index: chat(small, index), requests, 1, "request"),
        Case("50 KB, whole", lambda index: chat(large, index), requests, 1, "request"),
        Case(
            "2 KB, streamed", lambda index: chat(small, index, stream=True), requests // 20, EVENTS, "event"
        ),
    ]


async def load(port: int, case: Case, concurrency: int, first: int) -> float:
    """Send a case's requests; the seconds it took."""
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

    begun = time.perf_counter()
    await asyncio.gather(*[worker() for _ in range(concurrency)])
    return time.perf_counter() - begun


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


async def wait_for(port: int) -> None:
    """Wait until something listens."""
    for _ in range(300):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.1)
        else:
            writer.close()
            return
    raise SystemExit(f"nothing listens on {port}")


async def measure(arguments: argparse.Namespace, pids: dict[str, int], ports: dict[str, int]) -> list[dict]:
    """CPU per unit for every case and proxy, the median of the rounds."""
    rows = []
    first = 0
    for case in cases(arguments.requests):
        costs: dict[str, list[float]] = {name: [] for name in pids}
        on_path: list[float] = []
        for turn in range(arguments.rounds + 1):
            for name, pid in pids.items():
                before = cpu_seconds(pid)
                await load(ports[name], case, arguments.concurrency, first)
                first += case.requests
                if turn:  # the first round warms up
                    per = 1e6 / case.requests / case.per
                    spent = [(now - then) * per for now, then in zip(cpu_seconds(pid), before, strict=True)]
                    costs[name].append(spent[1])
                    if name == "gateway":
                        on_path.append(spent[0])
        ratios = [ours / bare for ours, bare in zip(costs["gateway"], costs["floor"], strict=True)]
        rows.append(
            {
                "case": case.name,
                "unit": case.unit,
                "floor_us": round(statistics.median(costs["floor"]), 1),
                "gateway_us": round(statistics.median(costs["gateway"]), 1),
                "main_thread_us": round(statistics.median(on_path), 1),
                "ratio": round(statistics.median(ratios), 2),
            }
        )
    return rows


# --- whether it grows ---

_TEMPLATES = 8
_STREAMED = 50  # one request of so many
_WARM = 2_000


def mixed(requests: int) -> Case:
    """Requests of a few templates, now and then a streamed one."""
    systems = [f"Desk {number}. " + "Rules of the desk. " * 90 for number in range(_TEMPLATES)]

    def body(index: int) -> bytes:
        messages = [
            {"role": "system", "content": systems[index % _TEMPLATES]},
            {"role": "user", "content": f"Question {index}: where is my parcel?"},
        ]
        payload = {"model": "m", "messages": messages, "stream": index % _STREAMED == 0}
        return json.dumps(payload, separators=(",", ":")).encode()

    return Case("mixed", body, requests, 1, "request")


async def growth(port: int, pid: int, requests: int, concurrency: int) -> None:
    """Print the gateway's resident memory and open files after each quarter of so many requests."""
    sent = 0
    for part in (_WARM, *[requests // 4] * 4):
        await load(port, mixed(part), concurrency, sent)
        sent += part
        await asyncio.sleep(2)  # what is recorded is written
        print(f"{sent:>9,} requests   {resident_mb(pid):6.1f} MB   {open_files(pid)} files", flush=True)


def run(command: list[str]) -> subprocess.Popen[bytes]:
    """Start a process whose output nobody needs."""
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)


async def main(arguments: argparse.Namespace) -> None:
    """Start the processes, measure, print."""
    base = arguments.port
    upstream = f"http://127.0.0.1:{base}"
    ports = {"floor": base + 1, "gateway": base + 2}
    with tempfile.TemporaryDirectory() as folder:
        serve = ["-m", "promptcache", "serve", "--upstream", upstream, "--port", str(ports["gateway"])]
        own = [sys.executable, __file__]
        processes = {
            "mock": run([*own, "--run", "mock", "--port", str(base)]),
            "floor": run([*own, "--run", "floor", "--port", str(ports["floor"]), "--upstream", upstream]),
            "gateway": run([sys.executable, *serve, "--data-dir", folder]),
        }
        try:
            for port in (base, *ports.values()):
                await wait_for(port)
            pids = {name: processes[name].pid for name in ports}
            if arguments.growth:
                await growth(ports["gateway"], pids["gateway"], arguments.growth, arguments.concurrency)
                return
            rows = await measure(arguments, pids, ports)
            memory = {name: round(resident_mb(pid)) for name, pid in pids.items()}
        finally:
            for process in processes.values():
                process.terminate()
            for process in processes.values():
                process.wait()
    show(rows, memory, as_json=arguments.json)


def show(rows: list[dict], memory: dict[str, int], *, as_json: bool) -> None:
    """Print the table."""
    if as_json:
        print(json.dumps({"cpu": rows, "resident_mb": memory}))
        return
    print(f"{'case':<16}{'floor':>12}{'gateway':>12}{'main thread':>14}{'ratio':>8}   CPU us per")
    for row in rows:
        numbers = f"{row['floor_us']:>12}{row['gateway_us']:>12}{row['main_thread_us']:>14}"
        print(f"{row['case']:<16}{numbers}{row['ratio']:>8}   {row['unit']}")
    print(f"resident: floor {memory['floor']} MB, gateway {memory['gateway']} MB")


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=2_000)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--port", type=int, default=18_400, help="the first of three ports")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--growth", type=int, default=0, help="requests; measures memory instead of CPU")
    parser.add_argument("--run", choices=["mock", "floor"], help=argparse.SUPPRESS)
    parser.add_argument("--upstream", help=argparse.SUPPRESS)
    return parser.parse_args()


def start(coroutine: Awaitable[None]) -> None:
    """Run on uvloop."""
    import uvloop  # noqa: PLC0415

    uvloop.run(coroutine)


if __name__ == "__main__":
    given = parse()
    if given.run == "mock":
        start(mock_upstream(given.port))
    elif given.run == "floor":
        floor(given.port, given.upstream)
    else:
        start(main(given))
