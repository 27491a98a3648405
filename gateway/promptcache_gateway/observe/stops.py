"""Where in a prompt the counts of a request are taken: which of its places decide what could be read.

They follow from the request and what it was compared with; what they are in tokens is `ruler`'s business, and
what that means `counting`'s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptcache.quick_values import quick
from promptcache_gateway.observe.evidence import found_once
from promptcache_gateway.observe.marked import (
    breaks_behind_marks,
    has_no_marks,
    kept_thoughts,
    left_segments,
    readable_segments,
    unkept_bytes,
)
from promptcache_gateway.observe.unmarked import codes_beside_text

if TYPE_CHECKING:
    from promptcache_gateway.observe.evidence import Evidence
    from promptcache_gateway.observe.rules import CacheRules

_OPENING_TOKENS = 16


@quick
@dataclass(frozen=True, slots=True)
class Stops:
    """Places in bytes.

    Attributes:
        shared: up to where the request is its predecessor.
        living: up to where it is what the same upstream and model should still hold.
        promised: up to where what was sent allows to read.
        unassured: of that, not one token is certain.
        left: up to where marks of any age reach; None where that decides nothing.
        amiss: a mark is missing or in the wrong place, whatever was read.
        alive: up to where the two are the same, where what is alive reaches as far; None: it does not.
        unmarked: the request marks nothing where only what is marked is kept.
        unbroken: up to where the two are the same, where time and marks allow it.
        matching: up to where what the predecessor left would have matched had the differing spans been equal.
        turn: where the newest user turn starts.
        broken: the caller broke the prefix where it could have been read.
        theirs: nothing differs that both were meant to share.
        tolerance: how far what was read may stay below what could be.
    """

    shared: int
    living: int
    promised: int
    unassured: bool
    left: int | None
    amiss: bool
    alive: int | None
    unmarked: bool
    unbroken: int
    matching: int
    turn: int
    broken: bool
    theirs: bool
    tolerance: int


@found_once
def stops_of(evidence: Evidence) -> Stops:
    """The stops of a request that was compared with another."""
    comparison, match, prompt = evidence.comparison, evidence.match, evidence.prompt
    assert comparison is not None
    assert match is not None
    assert prompt is not None
    offsets = prompt.offsets
    kept = offsets[kept_thoughts(evidence)]
    unmarked, alive, left = has_no_marks(evidence), None, None
    if evidence.rules.marked_only and not unmarked:
        reach = left_segments(evidence)
        left = None if reach is None else offsets[reach]
    elif match.living is not None and match.living_segments >= comparison.depth:
        alive = offsets[comparison.depth]
    promised, unassured = _promised(evidence, kept)
    return Stops(
        shared=comparison.shared_bytes,
        living=comparison.living_bytes,
        promised=promised,
        unassured=unassured,
        left=left,
        amiss=left is not None
        and not comparison.broken
        and any(code.startswith("PC6") for code in codes_beside_text(evidence)),
        alive=alive,
        unmarked=unmarked,
        unbroken=min(offsets[comparison.depth] if comparison.broken else comparison.matching_bytes, kept),
        matching=comparison.matching_bytes - unkept_bytes(evidence),
        turn=offsets[min(prompt.turn, len(prompt.segments))],
        broken=comparison.broken and not breaks_behind_marks(evidence),
        theirs=not (comparison.broken or comparison.shares_nothing),
        tolerance=tolerance_of(evidence.rules),
    )


def tolerance_of(rules: CacheRules) -> int:
    """How much less than expected may be read: a step, or what opens an answer and is not said again."""
    return rules.granularity if rules.reports_exactly else max(rules.granularity, _OPENING_TOKENS)


def _promised(evidence: Evidence, kept: int) -> tuple[int, bool]:
    """What the bytes as sent allow."""
    comparison, prompt = evidence.comparison, evidence.prompt
    assert comparison is not None
    assert prompt is not None
    if evidence.rules.marked_only:
        return prompt.offsets[readable_segments(evidence)], False
    whole = comparison.living_full
    place = comparison.living_bytes if whole is None else prompt.offsets[len(whole.prompt.segments)]
    return min(place, kept), evidence.rules.whole_units and whole is None
