"""How fast canonical_json is beside json.dumps(sort_keys=True) and orjson, on documents of about 50 KB.

Run: python benchmarks/canonical_json.py
Prints microseconds of CPU and the ratios; a ratio to json below 1 means faster than the standard library. The
three take turns, and the best of many rounds counts, so that other work on the machine shows little.
What orjson alone writes is not canonical JSON; it is the bound of what can be reached.
"""

from __future__ import annotations

import json
import math
import sys
import time
from dataclasses import asdict, dataclass, is_dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import orjson

from promptcache.canonical import canonical_json

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = 380
ROUNDS, RUNS = 25, 4


@dataclass
class Stay:
    nights: int
    begins: date


def document(extra: Callable[[int], Any]) -> list[dict[str, Any]]:
    text = "The guest asked for a late check-out. "
    return [
        {
            "room": row,
            "guest": f"Guest {row}",
            "notes": text + str(row),
            "tags": ["vip", "late"],
            "extra": extra(row),
        }
        for row in range(ROWS)
    ]


def documents() -> dict[str, Any]:
    """One document for each thing that RFC 8785 and orjson, or JSON and Python, see differently."""
    return {
        "text and integers": document(lambda row: row * 7),
        "negative integers": document(lambda row: -row),
        "one long text": {"text": 'He said: "5 e-mails, version 1.0".\n' * 1300},
        "nulls": document(lambda _: None),
        "floats": document(lambda row: math.sqrt(row + 2)),
        "whole floats": document(float),
        "whole floats, quotes": document(lambda row: [float(row), f'"{row}.0", he said']),
        "negative zeros": document(lambda _: -0.0),
        "large and small floats": document(lambda row: 1.7 * 10 ** (row - 190)),
        "emoji": document(lambda _: "🛎️"),
        "emoji in keys": document(lambda row: {"🛎️": row}),
        "tuples": document(lambda row: (row, row + 1)),
        "sets": document(lambda row: {row, row + 1}),
        "dates and data classes": document(lambda row: Stay(row, date(2031, 1, 1) + timedelta(row))),
        "integers as keys": document(lambda row: {row: row + 1}),
        "integers beyond 64 bits": document(lambda row: 2**70 + row),
    }


def default(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return value.isoformat() if isinstance(value, date) else sorted(value)


def by_json(value: Any) -> None:
    json.dumps(value, sort_keys=True, default=default)


def by_orjson(value: Any) -> None:
    orjson.dumps(value, default=default, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)


def best(value: Any, *ways: Callable[[Any], Any]) -> list[float]:
    """Return the least microseconds of CPU each way takes."""
    times: list[list[int]] = [[] for _ in ways]
    for _ in range(ROUNDS):
        for way, taken in zip(ways, times, strict=True):
            began = time.thread_time_ns()
            for _ in range(RUNS):
                way(value)
            taken.append((time.thread_time_ns() - began) // RUNS)
    return [min(taken) / 1000 for taken in times]


def main() -> int:
    print(f"{'document':<25}{'KB':>5}{'ours µs':>9}{'json µs':>9}{'orjson µs':>11}{'/json':>7}{'/orjson':>9}")
    slower = 0
    for name, value in documents().items():
        ways = [canonical_json, by_json] if "64 bits" in name else [canonical_json, by_json, by_orjson]
        ours, other, *rust = best(value, *ways)
        size = len(canonical_json(value)) / 1000
        to_rust = f"{rust[0]:>11.0f}{ours / other:>7.2f}{ours / rust[0]:>9.2f}" if rust else ""
        beside = to_rust or f"{'-':>11}{ours / other:>7.2f}"
        print(f"{name:<25}{size:>5.0f}{ours:>9.0f}{other:>9.0f}{beside}")
        slower += ours > other
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
