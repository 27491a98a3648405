"""Notebooks: the code cells of an ``.ipynb`` file, read as one Python module.

Every position is told in the file as it is: each line of a cell is a JSON string of its own there. Magics and
shell lines are left out, and so are cells that are no Python; outputs and Markdown are not looked at.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from promptcache_lint.errors import UnreadableFileError
from promptcache_lint.places import Place, Source
from promptcache_lint.prompts import Branch, Hole, Text
from promptcache_lint.readers.json_tree import parse_json
from promptcache_lint.readers.python.reader import PythonReader
from promptcache_lint.readers.tree import Entries, Items, Node, Scalar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from promptcache_lint.prompts import Part, Prompt, Segment, Trait
    from promptcache_lint.readers.reading import InputFile, Workspace

__all__ = ["NotebookReader"]

_MAGIC = re.compile(r"^([ \t]*)(?:[%!]|\?)[^\n]*|^([ \t]*)[^\n#'\"]*\?\??[ \t]*$", re.MULTILINE)
_FOREIGN = re.compile(r"\s*%%(?!time\b|timeit\b|capture\b|prun\b)\w+")
_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|.)", re.DOTALL)

_HIGH = re.compile(r"\\u[dD][89abAB]")


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of code: its text, and the offset of its string's content in the file."""

    code: str
    start: int
    spelled: str


class NotebookReader:
    """Reads ``.ipynb``."""

    def read(self, file: InputFile, workspace: Workspace) -> Iterable[Prompt]:
        """The prompts in the code cells. Raises `UnreadableFileError` for what is no notebook in JSON."""
        notebook = _Notebook(file.source)
        inner = replace(file, source=notebook.code)
        for prompt in PythonReader().read(inner, workspace):
            yield notebook.translated(prompt)

    def comments(self, source: Source) -> Iterable[tuple[Place, str]]:
        """The Python comments of the code cells; one alone on its line reaches to the next line."""
        notebook = _Notebook(source)
        for place, text in PythonReader().comments(notebook.code):
            moved = notebook.place(place)
            if not notebook.code.line(place.row)[: place.column - 1].strip():
                below = notebook.place(Place(source.path, place.row + 1, 1, place.row + 1, 1))
                moved = moved._replace(end_row=max(below.row, moved.end_row), end_column=below.column)
            yield moved, text


class _Notebook:
    """The code of a notebook, and the way back from a place in it to the file."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._lines: list[_Line] = []
        for cell in _code_cells(parse_json(source.text)):
            self._lines += _readable(list(_lines(cell, source)))
        self.code = Source(source.path, "\n".join(line.code for line in self._lines), source.name)

    def place(self, place: Place) -> Place:
        """A place in the code as a place in the file."""
        if place.path != self._source.path or not self._lines:
            return place
        start = self._position(place.row, place.column)
        end = self._position(place.end_row, place.end_column)
        return Place(place.path, *start, *end)

    def _position(self, row: int, column: int) -> tuple[int, int]:
        line = self._lines[min(row, len(self._lines)) - 1]
        return self._source.position(line.start + _spelled_offset(line.spelled, column - 1))

    def translated(self, prompt: Prompt) -> Prompt:
        """The prompt with all its places told in the file."""
        segments = tuple(map(self._segment, prompt.segments))
        practices = tuple(
            replace(each, place=self.place(each.place), source=each.source and self.place(each.source))
            for each in prompt.practices
        )
        return replace(prompt, place=self.place(prompt.place), segments=segments, practices=practices)

    def _segment(self, segment: Segment) -> Segment:
        marked = segment.marked and self.place(segment.marked)
        return replace(segment, parts=tuple(map(self._part, segment.parts)), marked=marked)

    def _part(self, part: Part) -> Part:
        match part:
            case Text():
                return replace(part, place=self.place(part.place))
            case Hole():
                traits = tuple(map(self._trait, part.traits))
                return replace(part, place=self.place(part.place), traits=traits)
            case Branch():
                options = tuple(tuple(map(self._part, option)) for option in part.options)
                return replace(part, place=self.place(part.place), options=options)

    def _trait(self, trait: Trait) -> Trait:
        return replace(trait, origin=self.place(trait.origin), flow=tuple(map(self.place, trait.flow)))


def _code_cells(document: Node) -> Iterator[Node]:
    """The sources of the code cells; version 3 of the format keeps them in worksheets."""
    if not isinstance(document, Entries):
        raise UnreadableFileError("Not a notebook: the file holds no JSON object.")
    lists = [document.get("cells")]
    sheets = document.get("worksheets")
    if isinstance(sheets, Items):
        lists += [sheet.get("cells") for sheet in sheets.items if isinstance(sheet, Entries)]
    for cells in lists:
        if cells is not None and not isinstance(cells, Items):
            raise UnreadableFileError("Not a notebook: its cells are no list.")
        for cell in cells.items if cells is not None else ():
            if not isinstance(cell, Entries):
                raise UnreadableFileError("Not a notebook: a cell in it is no object.")
            source = cell.get("source") or cell.get("input")
            if cell.text("cell_type") == "code" and source is not None:
                if not _is_text(source):
                    raise UnreadableFileError("Not a notebook: the source of a cell in it is no text.")
                yield source


def _is_text(source: Node) -> bool:
    """Whether a cell's source is a string or a list of strings."""
    lines = source.items if isinstance(source, Items) else (source,)
    return all(isinstance(line, Scalar) and isinstance(line.value, str) for line in lines)


def _lines(cell: Node, source: Source) -> Iterator[_Line]:
    """The lines of a cell, which is a list of strings or one string."""
    for node in cell.items if isinstance(cell, Items) else (cell,):
        if not isinstance(node, Scalar) or not isinstance(node.value, str):
            continue
        spelled = source.text[node.start : node.end]
        at = 0
        for code in node.value.split("\n"):
            length = _spelled_offset(spelled[at:], len(code))
            if code or at < len(spelled) or not at:
                yield _Line(code, node.start + at, spelled[at : at + length])
            at += length + 2  # the escaped line end


def _spelled_offset(spelled: str, count: int) -> int:
    """How many characters of a JSON string spell the first ``count`` characters of its value."""
    at = 0
    while count > 0 and at < len(spelled):
        escape = _ESCAPE.match(spelled, at)
        if escape is not None and _is_pair(spelled, escape):
            at += 6
        at += len(escape[0]) if escape is not None else 1
        count -= 1
    return min(at, len(spelled))


def _is_pair(spelled: str, escape: re.Match[str]) -> bool:
    """Whether an escape is the first half of a surrogate pair, which is one character."""
    return _HIGH.match(escape[0]) is not None and spelled[escape.end() : escape.end() + 3].lower() == "\\ud"


def _readable(lines: list[_Line]) -> list[_Line]:
    """The lines without magics; none of a cell that is written in another language or is no Python."""
    text = "\n".join(line.code for line in lines)
    if not lines or _FOREIGN.match(text):
        return []
    text = _MAGIC.sub(lambda match: f"{match[1] or match[2] or ''}pass", text)
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [replace(line, code=code) for line, code in zip(lines, text.split("\n"), strict=True)]
