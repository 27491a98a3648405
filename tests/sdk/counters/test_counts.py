"""Rates, plateaus and single records."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptcache.counters import (
    CounterRecord,
    Plateau,
    RequestFacts,
    diagnose_usage,
    find_plateau,
    hit_rates,
)
from promptcache.usage import Usage
from tests.sdk.bodies import sampled


def usage(prompt: int, cached: int | None) -> Usage:
    return Usage.from_response({"prompt_tokens": prompt, "prompt_tokens_details": {"cached_tokens": cached}})


# --- rates ------------------------------------------------------------------------------------------------


def test_rates_count_tokens_and_leave_out_who_does_not_report() -> None:
    rates = hit_rates([usage(1000, None), usage(1000, 0), usage(3000, 960)])
    assert rates.per_record == (None, 0.0, 0.32)
    assert (rates.token_hit_rate, rates.request_hit_rate) == (0.24, 0.5)
    assert (rates.reported_requests, rates.unreported_requests, rates.cause) == (2, 1, "PC810")


def test_no_records_have_no_rate() -> None:
    rates = hit_rates([])
    assert (rates.token_hit_rate, rates.request_hit_rate, rates.cause) == (None, None, None)


@sampled
@given(st.lists(st.tuples(st.integers(1, 9999), st.none() | st.floats(0, 1)), min_size=1))
def test_a_rate_is_never_above_one(records: list[tuple[int, float | None]]) -> None:
    rates = hit_rates([usage(size, None if share is None else int(size * share)) for size, share in records])
    assert rates.token_hit_rate is None or 0 <= rates.token_hit_rate <= 1
    assert rates.reported_requests + rates.unreported_requests == len(records)


# --- plateau ----------------------------------------------------------------------------------------------


def plateau(*pairs: tuple[int, int]) -> Plateau | None:
    lines = [{"t": n, "prompt_tokens": size, "cached_tokens": read} for n, (size, read) in enumerate(pairs)]
    return find_plateau([CounterRecord.from_mapping(line) for line in lines])


def test_a_plateau_ends_where_reads_grow_again() -> None:
    found = plateau((9000, 0), (10000, 2432), (11000, 2432), (12000, 2432), (13000, 2432), (14000, 12900))
    assert found == Plateau(1, 4, 2432, 5)


def test_two_requests_are_no_plateau() -> None:
    assert plateau((10000, 2432), (11000, 2432)) is None


def test_full_hits_within_one_step_are_no_plateau() -> None:
    assert plateau((2500, 2432), (2520, 2432), (2540, 2432), (2555, 2432)) is None


def test_the_longest_plateau_is_reported() -> None:
    pairs = [(10000 + 1000 * n, 2432) for n in range(3)] + [(20000 + 1000 * n, 4096) for n in range(5)]
    assert plateau(*pairs) == Plateau(3, 7, 4096, None)


def test_never_reading_is_no_plateau() -> None:
    assert plateau((1000, 0), (2000, 0), (3000, 0)) is None


# --- one record -------------------------------------------------------------------------------------------


def judge(raw: dict[str, Any], **facts: Any) -> tuple[Any, ...]:
    found = diagnose_usage(Usage.from_response(raw), RequestFacts.from_mapping(facts))
    return found.cause, found.alarm, found.counts_as_miss, found.best_possible


def openai(prompt: int, cached: int) -> dict[str, Any]:
    return {"prompt_tokens": prompt, "prompt_tokens_details": {"cached_tokens": cached}}


GROWN = {"append_only": True, "previous_prompt_tokens": 1181, "step": 128}


@pytest.mark.parametrize(
    ("cached", "expected"),
    [
        (1152, (None, False, False, 1152)),
        (1024, (None, False, False, 1152)),  # one step below the best is still a hit
        (896, ("PC809", True, True, 1152)),
        (0, ("PC809", True, True, 1152)),
    ],
)
def test_a_read_is_held_against_the_best_possible(cached: int, expected: tuple[Any, ...]) -> None:
    assert judge(openai(1181, cached), **GROWN) == expected


def test_below_the_minimum_is_no_miss() -> None:
    raw = {"input_tokens": 2010, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    assert judge(raw, min_cacheable_tokens=4096, marks=1)[:3] == ("PC604", False, False)
    assert judge(raw, model="claude-opus-4-5")[:3] == ("PC604", False, False)
    assert judge(raw, min_cacheable_tokens=1024, marks=1)[0] is None


def test_without_breakpoints_nothing_is_cached_where_they_are_needed() -> None:
    raw = {"input_tokens": 9000, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    assert judge(raw, marks=0)[0] == "PC602"


def test_a_prompt_shorter_than_a_page_cannot_hit() -> None:
    assert judge(openai(14, 0), block_size=16, previous_prompt_tokens=14, append_only=True)[:3] == (
        "PC807",
        False,
        False,
    )


def test_unreported_and_switched_off_are_no_misses() -> None:
    assert judge({"prompt_tokens": 9000})[:3] == ("PC810", False, False)
    assert judge(openai(9000, 0), enable_prefix_caching=False)[:3] == ("PC811", True, False)


def test_a_changed_prompt_has_no_best_possible() -> None:
    assert judge(openai(9000, 0), append_only=False, previous_prompt_tokens=9000)[3] is None
