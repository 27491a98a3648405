"""What of a text stands in another behind their first difference, though their ends may differ too.

A value at the top of instructions makes all new that stands behind it, whatever they end with. So two texts
are cut into small pieces, sentences and parts of them in every script, and the pieces that both have in the
same order are found. Whether their loss is anybody's fault is `comparison`'s business.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptcache.divergence.pieces import in_order, pieces_of, places_of
from promptcache_gateway.observe.texts import shared_ends

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PIECE_END = re.compile(r"[\n.!?;,\u2026\u3001\u3002\uff01\uff0c\uff1b\uff1f]\s*")
_PASSAGE_CHARS = 200  # shorter ones recur in any two records, profiles or documents of one make
INSTRUCTIONS_CHARS = 1_024
"""What recurs in so many characters is no common footer, and no list of the same keys."""
VALUE_CHARS = 400
"""Longer differences are texts of their own."""
_LINE_CHARS = 24  # a shorter one may stand anywhere
_MOST = 0.5  # share of a whole text that is no coincidence


@dataclass(frozen=True, slots=True)
class Standing:
    """What stands in both texts behind their first difference.

    Attributes:
        chars: characters of the later text in passages that the earlier one has too, in the same order.
        until: where in the later text the last of them ends; 0 where there are none.
        of_value: they were one text, as far as they go, but for a value in front of them.
    """

    chars: int = 0
    until: int = 0
    of_value: bool = False


def standing(one: str, other: str) -> Standing:
    """Find what of ``other`` stands in ``one`` behind their first difference, in passages of some length.

    ``of_value`` is True where they are text enough for instructions and the first begins right behind a value
    that took another's place, or where they are most of the longer text.
    """
    start, end = shared_ends(one, other)
    if start == min(len(one), len(other)):
        return Standing()
    begin = _begin(other, start)
    old, new = one[begin : len(one) - end], other[begin : len(other) - end]
    passages = list(_passages(pieces_of(old), pieces_of(new)))
    if end >= _PASSAGE_CHARS:
        passages.append((len(old), len(new), end))
    if not passages:
        return Standing()
    before, after, _ = passages[0]
    chars = sum(length for _, _, length in passages)
    replaced = max(before, after) <= VALUE_CHARS and _is_replaced(old, before, new, after)
    most = chars >= max(len(one), len(other)) * _MOST
    until = begin + passages[-1][1] + passages[-1][2]
    return Standing(chars, until, most or (replaced and chars >= INSTRUCTIONS_CHARS))


def _is_replaced(old: str, before: int, new: str, after: int) -> bool:
    """Whether what stands in front took another's place, and is not what stood behind that, moved up."""
    gone, came = old[:before].strip(), new[:after].strip()
    moved = (len(came) >= _LINE_CHARS and came in old) or (len(gone) >= _LINE_CHARS and gone in new)
    return bool(gone and came) and not moved


def _begin(text: str, place: int) -> int:
    """Where the line begins in which a place lies, or else the sentence, or what is near.

    A list whose first line is gone begins with the next one then.
    """
    floor = max(0, place - VALUE_CHARS)
    line = text.rfind("\n", floor, place) + 1
    ends = [] if line else [match.end() for match in _PIECE_END.finditer(text, floor, place)]
    return line or (ends[-1] if ends else floor)


def _passages(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Runs of pieces in both: where each begins in the old and in the new text, and its length in the new."""
    starts, places = places_of(old), places_of(new)
    runs: list[tuple[int, int, int]] = []  # the first piece in old and in new, and one behind the last
    for i, j in in_order([piece.strip() for piece in old], [piece.strip() for piece in new]):
        first, second, end = runs[-1] if runs else (0, 0, 0)
        floor = first + end - second
        back = 0  # equal pieces in front of it, of which another is paired
        while i - back > floor and j - back > end and _alike(old[i - back - 1], new[j - back - 1]):
            back += 1
        if runs and (i - back, j - back) == (floor, end):
            runs[-1] = (first, second, j + 1)
        else:
            runs.append((i - back, j - back, j + 1))
    for i, j, end in runs:
        if places[end] - places[j] >= _PASSAGE_CHARS:
            yield starts[i], places[j], places[end] - places[j]


def _alike(one: str, other: str) -> bool:
    return one.strip() == other.strip()
