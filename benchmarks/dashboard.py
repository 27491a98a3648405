"""How long the dashboard's questions take with many requests recorded.

    python -m benchmarks.dashboard [--requests 100000] [--rounds 15]

Fills a database in a temporary folder with made-up traffic (`tests.gateway.dashboard.traffic`), twice: spread
over a month, and all in the last hour, which is the worst case of the minute-by-minute curve. Then asks what
each page asks. Printed is the median of the rounds, in milliseconds of this process's CPU time.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptcache_gateway.store import Store
from tests.gateway.dashboard.traffic import records

if TYPE_CHECKING:
    from collections.abc import Callable

SPREADS = {"over 30 days": 30 * 86_400, "in one hour": 3_500}


def fill(store: Store, count: int, seconds: float) -> float:
    """Record ``count`` requests; when the last came in, in Unix seconds."""
    now = time.time()
    for number, each in enumerate(records(count, end=now, seconds=seconds)):
        store.record(each)
        if number % 5_000 == 4_999:
            store.flush(60)
    store.flush(60)
    return now


def questions(store: Store, now: float) -> dict[str, Callable[[], Any]]:
    """What the pages ask, by page."""
    read, series, name = store.read, store.series, "support/answer"
    middle = read.requests(limit=1)[1]
    return {
        "overview: templates": read.templates,
        "overview: curve of an hour": lambda: series.timeline("hour", now),
        "overview: curve of 30 days": lambda: series.timeline("month", now),
        "overview: sparklines of an hour": lambda: series.sparklines("hour", now),
        "overview: sparklines of 7 days": lambda: series.sparklines("week", now),
        "overview: latest requests": lambda: read.requests(limit=20),
        "template: totals": lambda: read.templates(name=name),
        "template: places of divergence": lambda: series.divergences(name),
        "template: curve of an hour": lambda: series.timeline("hour", now, template=name),
        "template: latest requests": lambda: read.requests(template=name, limit=20),
        "requests: by a rare cause": lambda: read.requests(cause="PC802", limit=50),
        "requests: a page in the middle": lambda: read.requests(limit=50, before=(middle or 0) // 2),
        "request: one": lambda: read.request("pcr_000000000000000000000007"),
    }


def median_ms(ask: Callable[[], Any], rounds: int) -> float:
    """Median CPU time of a question."""
    spent = []
    for _ in range(rounds):
        begun = time.process_time()
        ask()
        spent.append(1_000 * (time.process_time() - begun))
    return statistics.median(spent)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=15)
    wanted = parser.parse_args()
    for label, seconds in SPREADS.items():
        with tempfile.TemporaryDirectory() as folder:
            store = Store(Path(folder) / "promptcache.db")
            store.open()
            try:
                now = fill(store, wanted.requests, seconds)
                print(f"\n{wanted.requests:,} requests {label}; dropped {store.dropped}")
                for name, ask in questions(store, now).items():
                    print(f"  {name:34} {median_ms(ask, wanted.rounds):8.2f} ms")
            finally:
                store.close()


if __name__ == "__main__":
    main()
