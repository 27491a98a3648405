"""One usage record against what was possible: `promptcache.counters.diagnose_usage`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptcache.counters import RequestFacts, diagnose_usage
from promptcache.usage import Usage

if TYPE_CHECKING:
    from tests.run_cases.case import Case


def run(case: Case) -> dict[str, Any]:
    facts = RequestFacts.from_mapping(case.load_json("request_meta.json"))
    found = diagnose_usage(Usage.from_response(case.load_json("usage.json")), facts)
    return {
        "cause": found.cause,
        "alarm": found.alarm,
        "counts_as_miss": found.counts_as_miss,
        "best_possible": found.best_possible,
    }
