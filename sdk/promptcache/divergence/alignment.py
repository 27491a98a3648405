"""How one run of segments became another: kept in place, dropped, inserted, replaced or shuffled."""

from __future__ import annotations

import difflib
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from promptcache.segments import Segment

__all__ = ["Step", "alignable", "changed_runs", "content_key", "first_step", "shuffled_run"]

_LIMIT = 600
_PAIRS_LIMIT = 20_000
_SHUFFLE_LIMIT = 64


@dataclass(frozen=True, slots=True)
class Step:
    """The first change in a run: ``removed`` segments gave way to ``inserted`` ones.

    ``kept`` counts the segments behind the change that are equal on both sides.
    """

    kind: Literal["replaced", "dropped", "inserted"]
    removed: int
    inserted: int
    kept: int


def alignable(old: Sequence[Hashable], new: Sequence[Hashable]) -> bool:
    """Whether ``difflib`` aligns them in a moment: it weighs every pair of equal items, again for each run
    of them that it finds, so that thousands of equal lines would take minutes."""
    counts = Counter(new)
    return sum(counts[item] for item in old) <= _PAIRS_LIMIT


def content_key(segment: Segment) -> tuple[str, str]:
    """What makes two segments equal wherever they stand."""
    return segment.text, segment.extra


def first_step(earlier: Sequence[Segment], later: Sequence[Segment]) -> Step:
    """Return the first change between two runs whose first segments differ."""
    blocks = _equal_blocks(earlier, later)
    if not blocks:
        return Step("replaced", len(earlier), len(later), 0)
    removed, inserted = blocks[0].a, blocks[0].b
    kept = sum(block.size for block in blocks)
    kind: Literal["replaced", "dropped", "inserted"] = "replaced"
    if not inserted:
        kind = "dropped"
    elif not removed:
        kind = "inserted"
    return Step(kind, removed, inserted, kept)


def changed_runs(earlier: Sequence[Segment], later: Sequence[Segment]) -> list[tuple[int, int, int, int]]:
    """Where segments gave way to others in front of or between those that are equal: two ends in each run."""
    found: list[tuple[int, int, int, int]] = []
    i = j = 0
    for block in _equal_blocks(earlier, later):
        if block.a > i or block.b > j:
            found.append((i, block.a, j, block.b))
        i, j = block.a + block.size, block.b + block.size
    return found


def _equal_blocks(earlier: Sequence[Segment], later: Sequence[Segment]) -> list[difflib.Match]:
    old = [content_key(segment) for segment in earlier[:_LIMIT]]
    new = [content_key(segment) for segment in later[:_LIMIT]]
    while not alignable(old, new):
        old, new = old[: len(old) // 2], new[: len(new) // 2]
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return [block for block in matcher.get_matching_blocks() if block.size]


def shuffled_run(earlier: Sequence[Segment], later: Sequence[Segment]) -> int:
    """Return the length of the shortest leading run that holds the same segments in another order, or 0."""
    open_counts: Counter[tuple[str, str]] = Counter()
    for length, (old, new) in enumerate(zip(earlier[:_SHUFFLE_LIMIT], later, strict=False), start=1):
        open_counts[content_key(old)] += 1
        open_counts[content_key(new)] -= 1
        if length > 1 and not any(open_counts.values()):
            return length
    return 0
