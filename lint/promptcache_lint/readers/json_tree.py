"""JSON with positions: a small scanner, because the standard library's says nothing of places.

Accepts what `json` accepts, and one JSON value per text. Comments and trailing commas, as editors' settings
files have them, are tolerated.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from promptcache_lint.errors import UnreadableFileError
from promptcache_lint.places import Source
from promptcache_lint.readers.tree import Entries, Items, Node, Scalar

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["parse_json", "parse_json_lines"]

_SPACE = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_ATOM = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null|NaN|-?Infinity")
_DEEPEST = 200


def parse_json(text: str) -> Node:
    """The value written in ``text``; raises `UnreadableFileError` with row and column."""
    scanner = _Scanner(text)
    node, at = scanner.value(scanner.skip(0), 0)
    at = scanner.skip(at)
    if at != len(text):
        raise scanner.error(at, "something stands behind the value")
    return node


def parse_json_lines(text: str) -> Iterator[Node]:
    """The values of a text with one JSON value a line.

    Raises `UnreadableFileError` at the first broken line.
    """
    scanner = _Scanner(text)
    at = scanner.skip(0)
    while at < len(text):
        node, at = scanner.value(at, 0)
        yield node
        at = scanner.skip(at)


class _Scanner:
    """Recursive descent over one text; every method takes an offset and returns the next one."""

    def __init__(self, text: str) -> None:
        self.text = text

    def skip(self, at: int) -> int:
        """The offset of the next character that is not space or a comment."""
        match = _SPACE.match(self.text, at)
        return match.end() if match else at

    def error(self, at: int, problem: str) -> UnreadableFileError:
        """An error at an offset."""
        row, column = Source("", self.text).position(min(at, len(self.text)))
        return UnreadableFileError(f"Not valid JSON: {problem}.", row=row, column=column)

    def value(self, at: int, depth: int) -> tuple[Node, int]:
        """The value that begins at ``at``."""
        if depth > _DEEPEST:
            raise self.error(at, "nested too deeply")
        match self.text[at : at + 1]:
            case "{":
                return self.entries(at, depth)
            case "[":
                return self.items(at, depth)
            case '"':
                return self.string(at)
            case "":
                raise self.error(at, "the text ends where a value should stand")
        atom = _ATOM.match(self.text, at)
        if atom is None:
            raise self.error(at, f"{self.text[at]!r} begins no value")
        return Scalar(json.loads(atom[0]), at, atom.end()), atom.end()

    def string(self, at: int) -> tuple[Scalar, int]:
        """The string that begins at ``at``; its range is that of the text between the quotes."""
        match = _STRING.match(self.text, at)
        if match is None:
            raise self.error(at, "the string is not closed")
        try:
            value = json.loads(match[0], strict=False)
        except ValueError:
            raise self.error(at, "the string holds an invalid escape") from None
        return Scalar(value, at + 1, match.end() - 1), match.end()

    def items(self, at: int, depth: int) -> tuple[Items, int]:
        """The list that begins at ``at``."""
        found: list[Node] = []
        begin, at = at, self.skip(at + 1)
        while self.text[at : at + 1] != "]":
            node, at = self.value(at, depth + 1)
            found.append(node)
            at = self._separator(at, "]")
        return Items(tuple(found), begin, at + 1), at + 1

    def entries(self, at: int, depth: int) -> tuple[Entries, int]:
        """The mapping that begins at ``at``."""
        found: list[tuple[str, Node]] = []
        begin, at = at, self.skip(at + 1)
        while self.text[at : at + 1] != "}":
            if self.text[at : at + 1] != '"':
                raise self.error(at, "a key in double quotes is missing")
            key, at = self.string(at)
            at = self.skip(at)
            if self.text[at : at + 1] != ":":
                raise self.error(at, "a colon is missing")
            node, at = self.value(self.skip(at + 1), depth + 1)
            found.append((str(key.value), node))
            at = self._separator(at, "}")
        return Entries(tuple(found), begin, at + 1), at + 1

    def _separator(self, at: int, closing: str) -> int:
        at = self.skip(at)
        follows = self.text[at : at + 1]
        if follows == ",":
            return self.skip(at + 1)
        if follows != closing:
            raise self.error(at, f"a comma or {closing} is missing")
        return at
