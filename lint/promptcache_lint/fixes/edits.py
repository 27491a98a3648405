"""Edits on a text: the changed text, and the offsets of what a Python tree calls rows and byte columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_lint.fixes.fix import Edit

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterable

    from promptcache_lint.places import Place, Source

__all__ = ["apply_edits", "insertion", "node_range", "place_range", "replacement"]


def apply_edits(source: Source, edits: Iterable[Edit]) -> str | None:
    """The text after all edits; None where two of them touch the same text."""
    ranges = sorted((*place_range(source, edit.place), edit.content) for edit in edits)
    pieces: list[str] = []
    done = 0
    for start, end, content in ranges:
        if start < done:
            return None
        pieces += (source.text[done:start], content)
        done = end
    return "".join((*pieces, source.text[done:]))


def replacement(source: Source, start: int, end: int, content: str) -> Edit:
    """Replaces ``source.text[start:end]``."""
    return Edit(source.place(start, end), content)


def insertion(source: Source, offset: int, content: str) -> Edit:
    """Inserts at ``offset``."""
    return Edit(source.place(offset, offset), content)


def place_range(source: Source, place: Place) -> tuple[int, int]:
    """The offsets of a place."""
    return source.offset(place.row, place.column), source.offset(place.end_row, place.end_column)


def node_range(source: Source, node: ast.expr) -> tuple[int, int]:
    """The offsets of a Python node, whose columns count bytes of UTF-8."""
    start = _offset(source, node.lineno, node.col_offset)
    return start, _offset(source, node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)


def _offset(source: Source, row: int, column: int) -> int:
    line = source.line(row)
    characters = column if line.isascii() else len(line.encode()[:column].decode(errors="replace"))
    return source.offset(row, characters + 1)
