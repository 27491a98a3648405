"""Time to cut, hash and compare requests of 10 KB and 200 KB: ``python benchmarks/segments.py``.

The gateway pays this on every request's way, so a 200 KB agent request should stay near a millisecond or two.
Prints the median of many runs, in milliseconds.
"""

from __future__ import annotations

import json
import statistics
import time
from typing import TYPE_CHECKING, Any

from promptcache.divergence import compare_segments
from promptcache.segments import chain_hashes, cut_request

if TYPE_CHECKING:
    from collections.abc import Callable

RUNS = 60


def request(kilobytes: int, stamp: str) -> dict[str, Any]:
    """An agent's request: tools, a system prompt with a clock, and a history of text blocks."""
    tools = [
        {
            "name": f"tool_{number}",
            "description": "Reads a file and returns the lines asked for. " * 6,
            "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}},
        }
        for number in range(max(2, kilobytes // 8))
    ]
    body: dict[str, Any] = {"model": "m", "tools": tools, "messages": []}
    body["system"] = [
        {"type": "text", "text": f"You are an agent. Now: {stamp}.\n" + "Follow the rules. " * 100}
    ]
    while len(json.dumps(body)) < kilobytes * 1000:
        role = "assistant" if len(body["messages"]) % 2 else "user"
        block = {"type": "text", "text": "def main():\n    print('hello world')\n" * 20}
        body["messages"] += [{"role": role, "content": [block]}]
    return body


def median_ms(call: Callable[[], object]) -> float:
    """Median time of a call in milliseconds."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def main() -> None:
    """Print one line a size."""
    print(f"{'request':>8} {'segments':>9} {'cut':>8} {'hash':>8} {'append':>8} {'diverged':>9}   (ms)")
    for kilobytes in (10, 200):
        first, second = request(kilobytes, "2031-03-04T10:00:11Z"), request(kilobytes, "2031-03-04T10:05:40Z")
        cut, other = cut_request(first), cut_request(second)
        columns = (
            median_ms(lambda body=first: cut_request(body)),
            median_ms(lambda segments=cut: chain_hashes(segments)),
            median_ms(lambda segments=cut: compare_segments(segments[:-1], segments)),
            median_ms(lambda a=cut, b=other: compare_segments(a, b)),
        )
        print(f"{kilobytes:>5} KB {len(cut):>9} " + " ".join(f"{value:8.3f}" for value in columns))


if __name__ == "__main__":
    main()
