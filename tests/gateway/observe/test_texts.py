"""Where texts agree is found by halves and by numbers as it would be by looking at each character."""

from __future__ import annotations

from itertools import takewhile

from hypothesis import given
from hypothesis import strategies as st

from promptcache_gateway.observe.texts import common_prefix

TEXTS = st.text(st.sampled_from("ab\nä字\ud800\U0001f600"), max_size=80)


@given(st.one_of(TEXTS, st.integers(0, 9_000).map("ab".__mul__)), TEXTS, TEXTS)
def test_the_common_beginning_is_as_long_as_it_is(start: str, one: str, other: str) -> None:
    pairs = zip(one, other, strict=False)
    alike = len(start) + len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
    assert common_prefix(start + one, start + other) == alike
