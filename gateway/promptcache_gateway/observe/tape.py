"""A prompt as a tape measure: how many tokens lie between two of its places."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

from promptcache_gateway.observe.extents import OPENING_TOKENS
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
        self._measured: dict[tuple[int, int | None], tuple[float, float]] = {}
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
