"""Rates over many records: `promptcache.counters.hit_rates`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptcache.counters import hit_rates
from promptcache.usage import Usage

if TYPE_CHECKING:
    from tests.run_cases.case import Case


def run(case: Case) -> dict[str, Any]:
    records = case.load_jsonl(case.inputs[0])
    rates = hit_rates(Usage.from_response(record, convention=record.get("convention")) for record in records)
    return {
        "per_record": list(rates.per_record),
        "overall": rates.token_hit_rate,
        "token_hit_rate": rates.token_hit_rate,
        "request_hit_rate": rates.request_hit_rate,
        "reported_requests": rates.reported_requests,
        "unreported_requests": rates.unreported_requests,
        "cause": rates.cause,
    }
