"""Patterns over several requests: each points at one cause, and health at none."""

from __future__ import annotations

from typing import Any

from promptcache.counters import CounterRecord, diagnose_sequence


def diagnose(*lines: dict[str, Any]) -> Any:
    return diagnose_sequence([CounterRecord.from_mapping({"t": n, **line}) for n, line in enumerate(lines)])


def same_body(*times: tuple[float, float], **fields: Any) -> list[dict[str, Any]]:
    counts = {"body_sha": "9c", "input_tokens": 11, "cache_creation": 4409, "cache_read": 0, **fields}
    return [{**counts, "start_s": start, "end_s": end} for start, end in times]


def test_nothing_and_health_report_nothing() -> None:
    assert diagnose_sequence([]).cause is None
    healthy = [{"prompt_tokens": 9000 + 500 * n, "cached_tokens": 9000 + 500 * (n - 1)} for n in range(1, 6)]
    found = diagnose(*healthy)
    assert (found.cause, found.alarm, found.counts_as_miss) == (None, False, False)


def test_marks_that_stand_still_while_the_prompt_grows() -> None:
    lines = [
        {"total_tokens": 30000 + 2500 * n, "marks_at_tokens": [4000, 28000], "cache_read": 28000}
        for n in range(6)
    ]
    found = diagnose(*lines)
    assert (found.cause, found.alarm) == ("PC610", True)
    assert dict(found.details) == {"frozen_since_t": 0, "uncached_tail_tokens_last": 14500}
    moving = [{**line, "marks_at_tokens": [4000, 28000 + 2500 * n]} for n, line in enumerate(lines)]
    assert diagnose(*moving).cause != "PC610"


def test_one_body_written_again_and_again_went_to_several_machines() -> None:
    found = diagnose(*same_body((0, 5), (10, 15), (20, 25)))
    assert (found.cause, found.details["write_amplification"]) == ("PC804", 3)


def test_written_all_at_once() -> None:
    assert diagnose(*same_body((0, 5), (1, 6), (2, 7))).cause == "PC608"


def test_written_again_because_the_entry_expired() -> None:
    assert diagnose(*same_body((0, 5), (400, 405), (900, 905), ttl_s=300)).cause == "PC802"


def test_written_under_several_keys() -> None:
    lines = same_body((0, 5), (10, 15), (20, 25))
    assert diagnose(*({**line, "cache_key": str(n)} for n, line in enumerate(lines))).cause == "PC607"


def test_written_and_never_read_since_each_prefix_is_new() -> None:
    lines = same_body((0, 5), (10, 15), (20, 25))
    assert diagnose(*({**line, "body_sha": str(n)} for n, line in enumerate(lines))).cause == "PC601"


def test_never_read_nor_written_means_that_reuse_is_off() -> None:
    line = {"prompt_tokens": 5000, "prompt_tokens_details": {"cached_tokens": 0}, "body_sha": "a"}
    found = diagnose(line, line, line)
    assert (found.cause, found.counts_as_miss) == ("PC811", False)
    assert diagnose(*[{**line, "min_cacheable_tokens": 8000}] * 3).cause == "PC604"
    assert diagnose(*({**line, "body_sha": str(n)} for n in range(3))).cause != "PC811"


def test_an_upstream_that_does_not_report() -> None:
    assert diagnose({"prompt_tokens": 5}, {"prompt_tokens": 6}).cause == "PC810"


def test_misses_that_follow_the_route() -> None:
    hit, miss = {"write": 0, "read": 1000}, {"write": 1000, "read": 0}
    lines = [{"route": r, **c} for r, c in (("A", miss), ("A", hit), ("B", miss), ("A", miss))]
    assert diagnose(*lines).cause == "PC804"


def test_reads_pinned_while_the_prompt_grows() -> None:
    lines = [{"prompt_tokens": 20000 + 900 * n, "cached_tokens": 2432} for n in range(5)]
    assert diagnose(*lines).cause == "PC502"


def test_the_most_frequent_reason_speaks_for_the_rest() -> None:
    warm, hit, miss = {"write": 1000, "read": 0}, {"write": 0, "read": 1000}, {"write": 1000, "read": 0}
    lines = [
        {**counts, "start_s": start, "ttl_s": 300, "sha_prefix": "p"}
        for start, counts in ((0, warm), (400, miss), (420, hit), (800, miss), (900, hit))
    ]
    assert diagnose(*lines).cause == "PC802"
