"""A prompt as a tape measure: how many tokens lie between two of its places."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

from promptcache_gateway.observe.extents import OPENING_TOKENS, Extent
from promptcache_gateway.observe.prompt import pieces_of

if TYPE_CHECKING:
    from promptcache_gateway.observe.prompt import Prompt


class Tape:
    """A prompt's extents, to be added up between places, which are bytes as in the prompt's offsets.

    What was measured once is known: an answer need not wait for what was measured while the upstream worked.
    """

    def __init__(self, prompt: Prompt) -> None:
        self._prompt = prompt
        self._pieces = pieces_of(prompt)
        self._measured: dict[tuple[int, int | None], Extent] = {}
        self._usuals: tuple[float, ...] | None = None

    def between(self, start: int, end: int | None = None) -> Extent:
        """Tokens between two places; ``end`` None: with all that closes the prompt."""
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

    def _add_up(self, start: int, end: int | None) -> Extent:
        offsets = self._prompt.offsets
        stop = offsets[-1] if end is None else end
        least, most = 0.0, 0.0 if end is not None else float(OPENING_TOKENS)
        for index in range(max(bisect_right(offsets, start) - 1, 0), len(offsets) - 1):
            if offsets[index] >= stop:
                break
            few, many = self._part(index, start - offsets[index], stop - offsets[index])
            least, most = least + few, most + many
        return Extent(least, most)

    def _part(self, index: int, start: int, end: int) -> tuple[float, float]:
        """Tokens of a segment between two of its bytes, at least and at most."""
        size = self._prompt.offsets[index + 1] - self._prompt.offsets[index]
        if start > 0 or end < size:
            return self._pieces[index].part_bounds(max(start, 0), end if end < size else None)
        return self._pieces[index].bounds


def bounds_behind(prompt: Prompt, depth: int) -> tuple[float, float]:
    """Tokens behind so many segments, with all that closes the prompt: at least and at most."""
    least, most = 0.0, float(OPENING_TOKENS)
    for piece in pieces_of(prompt)[depth:]:
        few, many = piece.bounds
        least, most = least + few, most + many
    return least, most
