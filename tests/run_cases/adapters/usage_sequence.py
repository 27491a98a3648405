"""A pattern in consecutive usage records: `promptcache.counters.diagnose_sequence`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptcache.counters import CounterRecord, diagnose_sequence

if TYPE_CHECKING:
    from tests.run_cases.case import Case


def run(case: Case) -> dict[str, Any]:
    records = [CounterRecord.from_mapping(line) for line in case.load_jsonl(case.inputs[0])]
    found = diagnose_sequence(records)
    return {
        "cause": found.cause,
        "alarm": found.alarm,
        "counts_as_miss": found.counts_as_miss,
        "details": dict(found.details),
    }
