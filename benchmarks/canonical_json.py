"""How fast canonical_json is beside json.dumps(sort_keys=True) and orjson, on documents of about 50 KB.

Run: python benchmarks/canonical_json.py
Prints microseconds and the ratios; a ratio to json below 1 means faster than the standard library.
"""

from __future__ import annotations

import json
import math
import time
from typing import TYPE_CHECKING, Any

import orjson

from promptcache.canonical import canonical_json

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = 380


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


DOCUMENTS: dict[str, Any] = {
    "text and integers": document(lambda row: row * 7),
    "with nulls": document(lambda _: None),
    "with floats": document(lambda row: math.sqrt(row + 2)),
    "with whole floats": document(float),
    "with emoji": document(lambda _: "🛎️"),
    "with sets (no fast path)": document(lambda row: {row, row + 1}),
}


def best(run: Callable[[], Any]) -> float:
    times = []
    for _ in range(15):
        began = time.perf_counter()
        for _ in range(5):
            run()
        times.append((time.perf_counter() - began) / 5)
    return min(times) * 1e6


def main() -> None:
    print(
        f"{'document':<26}{'KB':>5}{'ours µs':>10}{'json µs':>10}{'orjson µs':>11}{'/json':>8}{'/orjson':>9}"
    )
    for name, value in DOCUMENTS.items():
        ours = best(lambda value=value: canonical_json(value))
        other = best(lambda value=value: json.dumps(value, sort_keys=True, default=sorted))
        rust = best(lambda value=value: orjson.dumps(value, default=sorted, option=orjson.OPT_SORT_KEYS))
        size = len(canonical_json(value)) / 1000
        times = f"{ours:>10.0f}{other:>10.0f}{rust:>11.0f}"
        print(f"{name:<26}{size:>5.0f}{times}{ours / other:>8.2f}{ours / rust:>9.2f}")


if __name__ == "__main__":
    main()
