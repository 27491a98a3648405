"""A length that is told once the answer comes bounds every place as if it had been known before."""

from __future__ import annotations

from bisect import insort_left
from operator import itemgetter
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache.quick_values import changed
from promptcache_gateway.observe.bearings import Bearings, bearings_of
from promptcache_gateway.observe.extents import Extent, exactly
from promptcache_gateway.observe.masking import Masker
from promptcache_gateway.observe.ruler import Ruler
from tests.gateway.observe.scenes import Stage, chat, rules_text

if TYPE_CHECKING:
    from promptcache_gateway.observe.evidence import Evidence

TALK = ["Where is my order?", "It is on its way.", "And when is it here? " * 20]
PLACES = st.one_of(st.integers(1, 1_440), st.sampled_from([923, 958, 997, 1_434]))
MARKS = st.lists(st.tuples(PLACES, st.sampled_from([0, 9, 200])), max_size=3)
_PLACE = itemgetter(0)


def evidence_of(*, counted: bool) -> Evidence:
    """A conversation that goes on; ``counted``: the tokens of its first request are known."""
    stage = Stage()
    if counted:
        stage.send(chat(rules_text(12), *TALK[:1]))
    else:
        stage.observer.open(stage.call(chat(rules_text(12), *TALK[:1])))
    return stage.observer.open(stage.call(chat(rules_text(12), *TALK))).evidence(Masker())


def with_marks(evidence: Evidence, marks: list[tuple[int, Extent]]) -> Evidence:
    """The same where those prefixes are known in tokens."""
    assert evidence.match is not None
    return changed(evidence, match=changed(evidence.match, lengths=tuple(marks)), found={})


@given(
    MARKS,
    PLACES,
    st.integers(1, 500),
    st.lists(PLACES, min_size=1, max_size=4),
    st.integers(200, 600),
    st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_what_is_told_bounds_a_place_as_what_was_known(
    marks: list[tuple[int, int]], told_at: int, told: int, places: list[int], total: int, counted: bool
) -> None:
    known = sorted([(at, Extent(at // 4, at // 4 + wide)) for at, wide in marks], key=_PLACE)
    without = with_marks(evidence_of(counted=counted), known)
    insort_left(known, (told_at, exactly(told)), key=_PLACE)
    within = with_marks(without, known)
    one = Ruler(Bearings(without, without.counts, told_at), total, told)
    two = Ruler(Bearings(within, within.counts), total)

    for place in [*places, told_at]:
        first, second = one.at(place), two.at(place)
        assert (first.least, first.most) == (second.least, second.most)
        assert (first.guess, first.likely) == (second.guess, second.likely)


def test_bearings_are_taken_once_whatever_is_told() -> None:
    evidence = evidence_of(counted=True)

    assert bearings_of(evidence, 700) is bearings_of(evidence, 700)
    assert bearings_of(evidence) is not bearings_of(evidence, 700)
