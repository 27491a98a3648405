"""What a request costs in the gateway, beside bare pass-throughs in the same run.

    python benchmarks/gateway.py [--requests 2000] [--concurrency 16] [--rounds 3] [--json]
        [--litellm-python INTERPRETER]

Processes: a fast mock upstream; the minimal proxy (asyncio and httptools); the floor (raw ASGI and aiohttp
under uvicorn); the gateway with diagnosis and recording on, and another one with `--no-diagnosis`; LiteLLM's
proxy where an interpreter is named that has it. All get the same bytes in alternating rounds. The measure is
the CPU time of a process over all its threads (`gateway_load`). Beside each figure stands what it is to be.

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
from dataclasses import replace
from typing import TYPE_CHECKING

from gateway_load import (
    LARGE,
    STREAMED,
    WHOLE,
    cases,
    cpu_seconds,
    cpu_since_start,
    load,
    mixed,
    open_files,
    resident_mb,
)
from gateway_minimal import minimal
from gateway_processes import FLOOR, LITELLM, MINIMAL, MOCK, OURS, PLAIN, Servers, servers
from gateway_servers import floor, mock_upstream

if TYPE_CHECKING:
    from collections.abc import Awaitable

_FEWER = 20  # LiteLLM gets one request of so many
_WARM = 2_000
_IMPORT = "import time, promptcache_gateway.app, promptcache_gateway.server; print(time.process_time())"
BOUNDS = {"ratio": 1.5, LARGE: 500.0, STREAMED: 20.0, LITELLM: 50.0, "start_s": 1.5, "resident_mb": 90.0}
"""What each figure is to be: at most; of LiteLLM's CPU beside ours, at least."""


async def measure(arguments: argparse.Namespace, made: Servers) -> list[dict]:
    """CPU per unit for every case and proxy, the median of the rounds."""
    rows, first = [], 0
    for case in cases(arguments.requests):
        costs: dict[str, list[float]] = {}
        on_path: list[float] = []
        for turn in range(arguments.rounds + 1):
            for name in [name for name in made.ports if name != MOCK]:
                if name == LITELLM and case.name != WHOLE:
                    continue
                asked = replace(case, requests=case.requests // _FEWER) if name == LITELLM else case
                before = cpu_seconds(made.pids[name])
                await load(made.ports[name], asked, arguments.concurrency, first)
                first += asked.requests
                per = 1e6 / asked.requests / case.per
                main, whole = (
                    (now - then) * per for now, then in zip(cpu_seconds(made.pids[name]), before, strict=True)
                )
                if turn:  # the first round warms up
                    costs.setdefault(name, []).append(whole)
                    on_path += [main] if name == OURS else []
        rows.append(_row(case.name, case.unit, costs, on_path))
    return rows


def _row(name: str, unit: str, costs: dict[str, list[float]], on_path: list[float]) -> dict:
    """One case: microseconds by proxy, and what was found in each round beside another one in the same."""

    def beside(one: str, other: str) -> float:
        pairs = zip(costs[one], costs[other], strict=True)
        return round(statistics.median(mine / its for mine, its in pairs), 2)

    return {
        "case": name,
        "unit": unit,
        "us": {proxy: round(statistics.median(spent), 1) for proxy, spent in costs.items()},
        "main_thread_us": round(statistics.median(on_path), 1),
        "ratio": beside(OURS, FLOOR),
        "ratio_no_diagnosis": beside(PLAIN, FLOOR),
        "litellm": beside(LITELLM, OURS) if LITELLM in costs else None,
        "litellm_no_diagnosis": beside(LITELLM, PLAIN) if LITELLM in costs else None,
    }


def import_seconds(times: int = 5) -> float:
    """CPU seconds of a fresh Python that imports all that `serve` does, the median."""
    told = [
        subprocess.run([sys.executable, "-c", _IMPORT], capture_output=True, check=True) for _ in range(times)
    ]
    return round(statistics.median(float(one.stdout) for one in told), 2)


async def growth(port: int, pid: int, requests: int, concurrency: int) -> None:
    """Print the gateway's resident memory and open files after each quarter of so many requests."""
    sent, resident = 0, list[float]()
    for part in (_WARM, *[requests // 4] * 4):
        await load(port, mixed(part), concurrency, sent)
        sent += part
        await asyncio.sleep(2)  # what is recorded is written
        resident.append(resident_mb(pid))
        print(f"{sent:>9,} requests   {resident[-1]:6.1f} MB   {open_files(pid)} files", flush=True)
    grown, bound = resident[-1] - resident[1], BOUNDS["resident_mb"]
    print(f"since the first quarter {grown:+.1f} MB (none to be seen); resident under {bound:g} MB")


async def main(arguments: argparse.Namespace) -> None:
    """Start the processes, measure, print."""
    with servers(arguments.port) as made:
        await made.start(arguments.litellm_python, alone=bool(arguments.growth))
        if arguments.growth:
            await growth(made.ports[OURS], made.pids[OURS], arguments.growth, arguments.concurrency)
            return
        start = {"import_s": import_seconds(), "ready_s": cpu_since_start(made.pids[OURS])}
        rows = await measure(arguments, made)
        memory = {name: round(resident_mb(pid), 1) for name, pid in made.pids.items() if name != MOCK}
    if arguments.json:
        print(json.dumps({"cpu": rows, "start": start, "resident_mb": memory, "bounds": BOUNDS}))
    else:
        show(rows, start, memory)


def show(rows: list[dict], start: dict[str, float], memory: dict[str, float]) -> None:
    """Print the figures, each beside what it is to be."""
    proxies = (MINIMAL, FLOOR, OURS, PLAIN)
    print(f"{'CPU us':<16}" + "".join(f"{name:>14}" for name in proxies) + f"{'main thread':>14}   per")
    for row in rows:
        numbers = "".join(f"{row['us'][name]:>14}" for name in proxies)
        print(f"{row['case']:<16}{numbers}{row['main_thread_us']:>14}   {row['unit']}")
    small, large, event = rows
    for what, figure, bound in (
        ("2 KB, gateway beside floor", small["ratio"], f"at most {BOUNDS['ratio']}"),
        ("2 KB, no diagnosis beside floor", small["ratio_no_diagnosis"], f"at most {BOUNDS['ratio']}"),
        ("50 KB, gateway, us", large["us"][OURS], f"at most {BOUNDS[LARGE]:g}"),
        ("an event, gateway, us", event["us"][OURS], f"at most {BOUNDS[STREAMED]:g}"),
        ("2 KB, LiteLLM beside gateway", small["litellm"], f"at least {BOUNDS[LITELLM]:g}"),
        ("2 KB, LiteLLM beside no diagnosis", small["litellm_no_diagnosis"], ""),
        ("2 KB, LiteLLM, us", small["us"].get(LITELLM), ""),
        ("import, CPU s", start["import_s"], f"under {BOUNDS['start_s']}"),
        ("until it answers, CPU s", start["ready_s"], ""),
        ("resident, gateway, MB", memory[OURS], f"under {BOUNDS['resident_mb']:g}"),
    ):
        if figure is not None:
            print(f"{what:<34}{figure:>10}   {bound}".rstrip())
    others = ", ".join(f"{name} {memory[name]}" for name in memory if name != OURS)
    print(f"resident, others, MB: {others}")


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=2_000)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--port", type=int, default=18_400, help="the first of six ports")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--growth", type=int, default=0, help="requests; measures memory instead of CPU")
    parser.add_argument("--litellm-python", metavar="INTERPRETER", help="one that has litellm[proxy]")
    parser.add_argument("--run", choices=["mock", "floor", "minimal"], help=argparse.SUPPRESS)
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
    elif given.run == "minimal":
        start(minimal(given.port, given.upstream))
    else:
        start(main(given))
