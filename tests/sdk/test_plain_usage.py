"""OpenAI's ordinary usage object is read at a glance, and as it would be read with care."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache.usage import Usage

FIGURES = st.one_of(st.sampled_from([None, 0, 10, 20, 30, 50, 70, -1, True, 7.0, "10"]), st.integers(0, 90))
DETAILS = st.dictionaries(
    st.sampled_from(["cached_tokens", "cached_tokens", "audio_tokens", "cache_write_tokens"]),
    FIGURES,
    max_size=3,
)
OBJECTS = st.fixed_dictionaries(
    {"prompt_tokens": FIGURES, "completion_tokens": FIGURES},
    optional={
        "prompt_tokens_details": DETAILS | st.none(),
        "completion_tokens_details": DETAILS,
        "total_tokens": FIGURES,
        "cached_tokens": FIGURES,
        "prompt_cache_hit_tokens": FIGURES,
        "cache_read_input_tokens": FIGURES,
    },
)
CONVENTIONS = st.sampled_from([None, None, "inclusive", "exclusive", "disjoint"])


@given(OBJECTS, CONVENTIONS)
@settings(max_examples=600)
def test_at_a_glance_and_with_care_are_one(usage: dict[str, Any], convention: Any) -> None:
    quick = Usage.from_response({"usage": usage}, convention=convention)
    with patch("promptcache.usage._plain_openai", return_value=None):
        careful = Usage.from_response({"usage": usage}, convention=convention)
    assert quick == careful
    assert quick.raw == careful.raw


@given(st.integers(0, 9_000), st.integers(0, 9_000), st.integers(0, 9_000), CONVENTIONS)
def test_the_ordinary_object_is_read_at_a_glance(more: int, read: int, output: int, convention: Any) -> None:
    usage = {
        "prompt_tokens": read + more,
        "completion_tokens": output,
        "total_tokens": read + more + output,
        "prompt_tokens_details": {"cached_tokens": read, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }
    quick = Usage.from_response({"usage": usage}, convention=convention)
    with patch("promptcache.usage._plain_openai", return_value=None):
        assert quick == Usage.from_response({"usage": usage}, convention=convention)
    with patch("promptcache.usage.read_counts", side_effect=AssertionError):
        assert Usage.from_response({"usage": usage}) == Usage.from_response({"usage": usage})
