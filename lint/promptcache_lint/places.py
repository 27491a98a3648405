"""Where something stands: a range in a file, and the text that ranges are taken from.

Rows and columns count from 1, columns in characters. Nothing here knows what the text means.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

__all__ = ["Place", "Source"]


class Place(NamedTuple):
    """A range in a file: from (row, column) up to, not including, (end_row, end_column)."""

    path: str
    row: int
    column: int
    end_row: int
    end_column: int

    @property
    def start(self) -> tuple[str, int, int]:
        """File, row and column of the first character: what makes two places the same."""
        return (self.path, self.row, self.column)


@dataclass(frozen=True)
class Source:
    """A file's text under the path it is reported by; turns offsets into places.

    ``name`` is what the file is called in its project, and what it is judged by: the path it is reported by
    depends on the working directory. Empty: the path itself.
    """

    path: str
    text: str
    name: str = ""

    @property
    def called(self) -> str:
        """The path by which the file is judged."""
        return self.name or self.path

    @cached_property
    def _starts(self) -> list[int]:
        """The offsets at which rows begin."""
        lengths = [len(row) + 1 for row in self.text.split("\n")]
        return [0, *accumulate(lengths[:-1])]

    def position(self, offset: int) -> tuple[int, int]:
        """(row, column) of the character at ``offset``."""
        row = bisect_right(self._starts, offset)
        return row, offset - self._starts[row - 1] + 1

    def place(self, start: int, end: int) -> Place:
        """The place of ``text[start:end]``."""
        row, column = self.position(start)
        end_row, end_column = self.position(max(start, end))
        return Place(self.path, row, column, end_row, end_column)

    def offset(self, row: int, column: int) -> int:
        """The offset of (row, column); beyond the end, the length of the text."""
        if row > len(self._starts):
            return len(self.text)
        return min(self._starts[row - 1] + column - 1, len(self.text))

    def line(self, row: int) -> str:
        """The text of a row, without its line end; empty where there is no such row."""
        if not 1 <= row <= len(self._starts):
            return ""
        end = self._starts[row] - 1 if row < len(self._starts) else len(self.text)
        return self.text[self._starts[row - 1] : end].rstrip("\r")

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self._starts)
