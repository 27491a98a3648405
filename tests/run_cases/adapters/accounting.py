"""Usage records and prices: `promptcache.usage` and `promptcache.prices`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptcache.prices import price_usage
from promptcache.usage import Usage

if TYPE_CHECKING:
    from tests.run_cases.case import Case

_KEYS = ("total_input", "uncached", "cache_read", "cache_write", "cache_write_5m", "cache_write_1h")


def run(case: Case) -> dict[str, Any]:
    first, *others = sorted(name for name in case.inputs if name.startswith("usage"))
    usage = Usage.from_response(case.load_json(first))
    answer = {key: getattr(usage, key) for key in _KEYS}
    answer |= {"convention": usage.convention, "hit_rate": usage.hit_rate}
    for name in others:  # later records of the same upstream are read as the first one showed
        later = Usage.from_response(case.load_json(name), convention=usage.convention)
        answer[name] = {key: getattr(later, key) for key in _KEYS}
    if "prices.json" in case.inputs:
        cost = price_usage(usage, case.load_json("prices.json"))
        answer |= {"cost_usd": cost.usd, "cost_known": cost.known, "missing_prices": list(cost.missing)}
    return answer
