"""A reason for each request: `promptcache.counters.miss_reasons`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptcache.counters import CounterRecord, miss_reasons

if TYPE_CHECKING:
    from tests.run_cases.case import Case


def run(case: Case) -> dict[str, Any]:
    records = [CounterRecord.from_mapping(line) for line in case.load_jsonl(case.inputs[0])]
    reasons = miss_reasons(records)
    return {
        "reasons": [reason.reason for reason in reasons],
        "causes": [reason.cause for reason in reasons],
        "gap_used_s": [reason.gap_s for reason in reasons],
    }
