"""A prompt as a tape measure: how many tokens lie between two of its places."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

from promptcache_gateway.observe.extents import OPENING_TOKENS
from promptcache_gateway.observe.prompt import pieces_of

if TYPE_CHECKING:
    from promptcache_gateway.observe.prompt import Prompt

_CLOSING_TOKENS = 3.0  # of the answer's opening, as a rule
_SOME_SHARE = 0.7  # of the tokens, up to which the whole says little of a stretch: the rest may be dense
_MOST_SHARE = 0.9  # and from which it says nearly all


class Tape:
    """A prompt's extents, to be added up between places, which are bytes as in the prompt's offsets.

    What was measured once is known: an answer need not wait for what was measured while the upstream worked.
    """

    def __init__(self, prompt: Prompt) -> None:
        self._prompt = prompt
        self._pieces = pieces_of(prompt)
        self._measured: dict[tuple[int, int | None], tuple[float, float]] = {}
        self._stretches: dict[tuple[int, int, int], tuple[float, float, float]] = {}
        self._usuals: tuple[float, ...] | None = None

    def between(self, start: int, end: int | None = None) -> tuple[float, float]:
        """Tokens between two places, at least and at most; ``end`` None: with all that closes the prompt."""
        found = self._measured.get((start, end))
        if found is None:
            found = self._measured[start, end] = self._add_up(start, end)
        return found

    @property
    def usuals(self) -> tuple[float, ...]:
        """Tokens before each segment, by what such texts have as a rule."""
        if self._usuals is None:
            self._usuals = (0.0, *accumulate([piece.usual for piece in self._pieces]))
        return self._usuals

    def stretch(self, start: int, end: int, place: int) -> tuple[float, float, float]:
        """Of what lies between two places: the tokens that such text has as a rule, their share of all that
        stands behind a third place, and how much of a stretch of that share the whole says."""
        if start == end:
            return 0.0, 0.0, 0.0
        found = self._stretches.get((start, end, place))
        if found is None:
            before = self._usual(start)
            usual = self._usual(end) - before
            passed = before if place == start else self._usual(place)
            share = usual / max(self.usuals[-1] + _CLOSING_TOKENS - passed, 1.0)
            trust = min(max((share - _SOME_SHARE) / (_MOST_SHARE - _SOME_SHARE), 0.0), 1.0)
            found = self._stretches[start, end, place] = (usual, share, trust)
        return found

    def _usual(self, place: int) -> float:
        if not place:
            return 0.0
        index = bisect_right(self._prompt.offsets, place) - 1
        if index >= len(self._pieces):
            return self.usuals[-1]
        inside = place - self._prompt.offsets[index]
        if not inside:
            return self.usuals[index]
        part = self._pieces[index].usual_until(inside)
        return min(self.usuals[index] + part, self.usuals[index + 1])

    def _add_up(self, start: int, end: int | None) -> tuple[float, float]:
        offsets, pieces = self._prompt.offsets, self._pieces
        stop = offsets[-1] if end is None else end
        least, most = 0.0, 0.0 if end is not None else float(OPENING_TOKENS)
        at = max(bisect_right(offsets, start) - 1, 0)
        if end is not None and at < len(pieces) and end < offsets[at + 1]:  # all of it in one piece
            few, many = pieces[at].part_bounds(start - offsets[at], end - offsets[at])
            return least + few, most + many
        for index in range(at, len(pieces)):
            first, behind = offsets[index], offsets[index + 1]
            if first >= stop:
                break
            if start <= first and behind <= stop:
                few, many = pieces[index].bounds
            else:
                close = None if behind <= stop else stop - first
                few, many = pieces[index].part_bounds(max(start - first, 0), close)
            least, most = least + few, most + many
        return least, most


def bounds_behind(prompt: Prompt, depth: int) -> tuple[float, float]:
    """Tokens behind so many segments, with all that closes the prompt: at least and at most."""
    least, most = 0.0, float(OPENING_TOKENS)
    for piece in pieces_of(prompt)[depth:]:
        few, many = piece.bounds
        least, most = least + few, most + many
    return least, most
