"""Lookups, refusals and preemptions in the order they happened: what the cache's counters say after them.

A request's last lookup before it is scheduled is its admission; the ones before were refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptcache_engine.cache.stats import AdmissionCounter

if TYPE_CHECKING:
    from tests.run_cases.case import Case


def run(case: Case) -> dict[str, Any]:
    counter = AdmissionCounter()
    asked: dict[str, tuple[int, int]] = {}
    preempted: set[str] = set()
    for event in case.load_jsonl("events.jsonl"):
        request = event["req"]
        if event["op"] == "lookup":
            asked[request] = (event["tokens"], event["hits"])
        elif event["op"] == "scheduled":
            counter.record(*asked.pop(request), preempted=request in preempted)
        elif event["op"] == "preempted":
            preempted.add(request)
    return {
        "queries": counter.queries,
        "hits": counter.hits,
        "preempted_queries": counter.preempted_queries,
        "preempted_hits": counter.preempted_hits,
    }
