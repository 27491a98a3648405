"""Reads pinned while the prompt grows: `promptcache.counters.find_plateau`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptcache.counters import CounterRecord, find_plateau

if TYPE_CHECKING:
    from tests.run_cases.case import Case


def run(case: Case) -> dict[str, Any]:
    records = [CounterRecord.from_mapping(line) for line in case.load_jsonl(case.inputs[0])]
    found = find_plateau(records)
    if found is None:
        return {"plateau": None, "recovered_at": None}
    return {
        "plateau": {"from_t": found.from_t, "to_t": found.to_t, "cached_tokens": found.cached_tokens},
        "recovered_at": found.recovered_at,
    }
