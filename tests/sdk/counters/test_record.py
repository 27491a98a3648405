"""A line's counters are the same, whichever way they are read."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache.counters import CounterRecord
from promptcache.usage import Usage

NAMES = (
    *("prompt_tokens", "completion_tokens", "total_tokens", "input_tokens", "output_tokens", "total_input"),
    *("cached_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "promptTokenCount"),
)
COUNTS = st.none() | st.integers(-2, 5_000)
DETAILS = st.none() | st.fixed_dictionaries({"cached_tokens": COUNTS})
USAGES = st.dictionaries(st.sampled_from(NAMES), COUNTS) | st.fixed_dictionaries(
    {"prompt_tokens": COUNTS, "completion_tokens": COUNTS, "prompt_tokens_details": DETAILS}
)
LINES = st.builds(
    lambda usage, nested, model: {**({"usage": usage} if nested else usage), "model": model},
    USAGES,
    st.booleans(),
    st.sampled_from([None, "m", 4]),
)


@settings(max_examples=200)
@given(LINES)
def test_a_line_without_labels_is_read_as_one_with_labels_that_say_nothing(line: dict[str, Any]) -> None:
    record = CounterRecord.from_mapping(line)

    assert record == CounterRecord.from_mapping({**line, "append_only": None})
    assert record == CounterRecord.from_mapping(line, Usage.from_response(line))


@pytest.mark.parametrize(
    ("label", "value", "field"),
    [
        *[("t", 3, "t"), ("start_s", 2.0, "start_s"), ("ttl_s", 300.0, "ttl_s"), ("route", "a", "route")],
        *[("account", "b", "route"), ("tenant", "c", "key"), ("sha", "d", "identity"), ("step", 16, "step")],
        *[("append_only", False, "append_only"), ("read", 8, "read"), ("cache_creation", 9, "write")],
        *[("marks_at_tokens", (4, 5), "marks"), ("min_cacheable_tokens", 1024, "min_tokens")],
    ],
)
def test_each_label_is_read_where_it_is_the_only_one(label: str, value: object, field: str) -> None:
    given_value = list(value) if isinstance(value, tuple) else value
    record = CounterRecord.from_mapping(
        {"usage": {"prompt_tokens": 10, "cached_tokens": 8}, label: given_value}
    )

    assert getattr(record, field) == value
    assert record.total_input == 10


@pytest.mark.parametrize("beside", [{}, {"total_tokens": 12}, {"read": None}])
def test_a_usage_that_says_nothing_of_reads_still_counts_its_prompt(beside: dict[str, Any]) -> None:
    record = CounterRecord.from_mapping({"usage": {"prompt_tokens": 10, "completion_tokens": 2}, **beside})

    assert (record.total_input, record.read, record.write) == (10, None, None)
