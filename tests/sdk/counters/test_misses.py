"""Miss reasons from times, labels and counts."""

from __future__ import annotations

from typing import Any

from promptcache.counters import CounterRecord, miss_reasons


def reasons(*lines: dict[str, Any]) -> list[str]:
    base = {"model": "m", "sha_prefix": "p", "ttl_s": 300}
    records = [
        CounterRecord.from_mapping({**base, "start_s": 20 * n, **line}) for n, line in enumerate(lines)
    ]
    return [reason.reason for reason in miss_reasons(records)]


WARM = {"write": 1000, "read": 0}
HIT = {"write": 20, "read": 1000}
MISS = {"write": 1020, "read": 0}


def test_a_first_request_is_cold_and_a_second_hits() -> None:
    assert reasons(WARM, HIT) == ["cold_start", "hit"]
    assert reasons({"write": 5, "read": 1000}) == ["hit"]


def test_a_lifetime_runs_from_the_last_start() -> None:
    assert reasons(WARM, {**MISS, "start_s": 301}) == ["cold_start", "ttl_expired"]
    assert reasons(WARM, {**MISS, "start_s": 300}) == ["cold_start", "upstream_unexplained"]
    assert reasons(WARM, {**HIT, "start_s": 290}, {**HIT, "start_s": 580}) == ["cold_start", "hit", "hit"]


def test_another_model_or_prefix_explains_a_miss() -> None:
    assert reasons(WARM, {**MISS, "model": "n"}) == ["cold_start", "model_changed"]
    assert reasons(WARM, {**MISS, "sha_prefix": "q"}) == ["cold_start", "prefix_changed"]
    assert reasons(WARM, {**MISS, "append_only": False}) == ["cold_start", "prefix_changed"]


def test_a_small_read_is_no_hit() -> None:
    assert reasons(WARM, {"write": 900, "read": 100}) == ["cold_start", "upstream_unexplained"]


def test_a_new_route_is_cold() -> None:
    records = [
        CounterRecord.from_mapping({"route": route, **counts})
        for route, counts in (("A", WARM), ("B", MISS), ("A", MISS))
    ]
    found = miss_reasons(records)
    assert [reason.reason for reason in found] == ["cold_start", "cold_start", "upstream_unexplained"]
    assert [reason.cause for reason in found] == ["PC801", "PC804", "PC809"]


def test_what_is_not_reported_is_neither_hit_nor_miss() -> None:
    assert reasons(WARM, {"prompt_tokens": 1000}) == ["cold_start", "unreported"]


def test_gaps_are_given_in_seconds() -> None:
    records = [CounterRecord.from_mapping({"start_s": start, **HIT}) for start in (5, 30)]
    assert [reason.gap_s for reason in miss_reasons(records)] == [None, 25]
