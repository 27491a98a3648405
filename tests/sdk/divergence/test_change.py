"""The measures of text: shared ends, and the part that differs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from promptcache.divergence.change import Change
from promptcache.divergence.evidence import common_prefix, common_suffix, excerpt, fold
from tests.sdk.bodies import sampled

texts = st.text(alphabet="ab\n", max_size=24)


@sampled
@given(texts, texts, texts, texts)
def test_shared_ends_are_found_by_halving(start: str, end: str, one: str, other: str) -> None:
    before, after = start + one + end, start + other + end
    prefix = common_prefix(before, after)
    assert prefix == _shared(before, after)
    left, right = before[prefix:][::-1], after[prefix:][::-1]
    assert common_suffix(before, after, after=prefix) == _shared(left, right)


def _shared(one: str, other: str) -> int:
    """The same count, one character at a time."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))


@sampled
@given(texts, texts)
def test_a_change_is_undone_by_its_parts(before: str, after: str) -> None:
    change = Change.between(before, after)
    assert before == before[: change.offset] + change.gone + before[len(before) - change.tail :]
    assert after == before[: change.offset] + change.came + before[len(before) - change.tail :]
    assert change.gone in change.old
    assert change.came in change.new
    assert 0 <= change.stranded <= change.tail


def test_the_differing_part_has_its_lines_and_no_more() -> None:
    change = Change.between("one\ntwo a three\nfour\n", "one\ntwo b three\nfour\n")
    assert (change.old, change.new) == ("two a three", "two b three")
    assert change.stranded == len("four\n")
    wide = Change.between("x" * 5000 + "a" + "x" * 5000, "x" * 5000 + "b" + "x" * 5000)
    assert len(wide.old) == 801


def test_folding_takes_out_what_drifts_unseen() -> None:
    assert fold("a\u00a0b\u200b\ufeff c\r\n") == fold("abc")
    assert fold("cafe\u0301") == fold("caf\u00e9")
    assert fold("\u201cit\u2019s\u201d") == fold('"it\'s"')
    assert fold("a") != fold("b")


def test_an_excerpt_shows_where_it_was_cut() -> None:
    assert excerpt("short", 2) == "short"
    assert excerpt("x" * 200, 100) == "…" + "x" * 80 + "…"
