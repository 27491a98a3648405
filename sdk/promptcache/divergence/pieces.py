"""Cuts texts into small pieces, finds those that two have in the same order, and what lies between.

Sentences and parts of them, in every script: a table on one line and a Chinese paragraph are cut as finely as
a list. Takes time in proportion to the length, however often a piece recurs.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

__all__ = ["Gap", "gaps_between", "in_order", "pieces_of", "places_of"]

_ENDS = r"\n.!?;,\u2026\u3001\u3002\uff01\uff0c\uff1b\uff1f"
_PIECE = re.compile(rf"[^{_ENDS}]*[{_ENDS}]\s*|[^{_ENDS}]+$")
_LONG_PIECE = 160
# A piece without a mark is cut behind characters that are as good as any, so that both texts are cut alike.
_ANY = " \"'(:{[" + "".join(map(chr, (*range(0x3040, 0xA000, 8), *range(0xAC00, 0xD7A4, 8))))
_PART = re.compile(rf".{{12,}}?[{re.escape(_ANY)}]|.+", re.DOTALL)
_TELLING_CHARS = 16
"""Shorter runs of equal pieces, such as a key or a bracket, stand between any two values."""


@dataclass(frozen=True, slots=True)
class Gap:
    """What stands between two runs of equal pieces: places in the old and in the new text."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def pieces_of(text: str) -> list[str]:
    """Cut a text behind its sentences and clauses, and what is long without an end behind other marks.

    >>> pieces_of("One, two. Three")
    ['One, ', 'two. ', 'Three']
    """
    pieces: list[str] = []
    for piece in _PIECE.findall(text):
        pieces += _PART.findall(piece) if len(piece) > _LONG_PIECE else [piece]
    return pieces


def places_of(pieces: Sequence[str]) -> list[int]:
    """Where each piece begins, and where the last one ends."""
    return list(accumulate(map(len, pieces), initial=0))


def in_order(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[tuple[int, int]]:
    """The longest list of pairs of equal items that ascends on both sides; the n-th of equal ones is one.

    >>> in_order("abcab", "bcb")
    [(1, 0), (2, 1), (4, 2)]
    """
    where = {key: i for i, key in enumerate(_numbered(old))}
    pairs = [(where[key], j) for j, key in enumerate(_numbered(new)) if key in where]
    tails: list[int] = []  # the least end of an ascending list of each length, and which pair that is
    ends: list[int] = []
    before: list[int] = []
    for at, (i, _) in enumerate(pairs):
        length = bisect_left(tails, i)
        before.append(ends[length - 1] if length else -1)
        tails[length : length + 1] = [i]
        ends[length : length + 1] = [at]
    found: list[tuple[int, int]] = []
    at = ends[-1] if ends else -1
    while at >= 0:
        found.append(pairs[at])
        at = before[at]
    return found[::-1]


def gaps_between(
    old: str, new: str, cut: Callable[[str], list[str]] = pieces_of, telling: int = _TELLING_CHARS
) -> list[Gap]:
    """Where two texts differ, piece by piece, from the front; one gap where they have nothing in common.

    Args:
        old: the earlier text.
        new: the later one.
        cut: cuts a text into pieces that are the text when they are joined.
        telling: shorter runs of equal pieces separate nothing.
    """
    first, second = cut(old), cut(new)
    starts, places = places_of(first), places_of(second)
    gaps: list[Gap] = []
    i = j = 0
    for begin, other, length in _runs(first, second):
        last = begin + length == len(first) and other + length == len(second)
        if starts[begin + length] - starts[begin] < telling and begin + other and not last:
            continue
        if begin > i or other > j:
            gaps.append(Gap(starts[i], starts[begin], places[j], places[other]))
        i, j = begin + length, other + length
    if i < len(first) or j < len(second):
        gaps.append(Gap(starts[i], starts[-1], places[j], places[-1]))
    return gaps


def _runs(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Runs of equal pieces: where each begins on both sides, and how many there are."""
    i = j = length = 0
    for first, second in in_order(old, new):
        if (first, second) == (i + length, j + length):
            length += 1
            continue
        if length:
            yield i, j, length
        i, j, length = first, second, 1
    if length:
        yield i, j, length


def _numbered(items: Sequence[Hashable]) -> Iterator[tuple[Hashable, int]]:
    seen: Counter[Hashable] = Counter()
    for item in items:
        seen[item] += 1
        yield item, seen[item]
