"""YAML and TOML with positions, as the same tree that JSON gives.

YAML positions are PyYAML's own node marks. TOML's parser has none, so strings are found again in the text, in
the order in which they were read.
"""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

import yaml

from promptcache_lint.errors import UnreadableFileError
from promptcache_lint.readers.tree import Entries, Items, Node, Scalar

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["parse_toml", "parse_yaml"]

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_LARGEST_TREE = 200_000
"""More nodes than this come from aliases that multiply; such a file is no prompt."""


def parse_yaml(text: str) -> Iterator[Node]:
    """The documents in ``text``; raises `UnreadableFileError` with row and column."""
    try:
        for document in yaml.compose_all(text, Loader=_Loader):
            if document is not None:
                yield _YamlTree(len(text)).node(document)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        row, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise UnreadableFileError(f"Not valid YAML: {error.problem}.", row=row, column=column) from error
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        row, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise UnreadableFileError(f"Not valid YAML: {error.reason}.", row=row, column=column) from error
    except yaml.YAMLError as error:
        raise UnreadableFileError(f"Not valid YAML: {' '.join(str(error).split())}.") from error
    except RecursionError as error:
        raise UnreadableFileError("The file is nested too deeply.") from error


class _YamlTree:
    """Turns PyYAML's nodes into ours, and stops where aliases multiply or recur."""

    def __init__(self, length: int) -> None:
        self._left = _LARGEST_TREE
        self._length = length
        self._open: set[int] = set()

    def node(self, node: yaml.Node) -> Node:
        """The tree under ``node``."""
        self._left -= 1
        start, end = node.start_mark.index, node.end_mark.index
        if self._left < 0 or id(node) in self._open:
            raise UnreadableFileError("The file's aliases multiply without end.")
        if isinstance(node, yaml.ScalarNode):
            is_text = node.tag == "tag:yaml.org,2002:str"
            return Scalar(node.value if is_text else _Plain(node.value), start, end)
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.SequenceNode):
                return Items(tuple(self.node(item) for item in node.value), start, end)
            pairs = node.value if isinstance(node, yaml.MappingNode) else []
            return Entries(tuple((_key(key), self.node(value)) for key, value in pairs), start, end)
        finally:
            self._open.discard(id(node))


class _Plain:
    """A scalar that is not a string (number, date, null), by its spelling."""

    def __init__(self, spelling: str) -> None:
        self.spelling = spelling


def _key(node: yaml.Node) -> str:
    return node.value if isinstance(node, yaml.ScalarNode) else ""


def parse_toml(text: str) -> Node:
    """The document in ``text``; raises `UnreadableFileError` with the row where it is known."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UnreadableFileError(f"Not valid TOML: {error}.") from error
    except RecursionError as error:
        raise UnreadableFileError("The file is nested too deeply.") from error
    return _TomlTree(text).node(data)


class _TomlTree:
    """Finds each string of parsed TOML again in the text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._cursor = 0

    def node(self, value: object) -> Node:
        """The tree for ``value``."""
        if isinstance(value, dict):
            pairs = tuple((str(key), self.node(item)) for key, item in value.items())
            return Entries(pairs, 0, len(self._text))
        if isinstance(value, list):
            return Items(tuple(self.node(item) for item in value), 0, len(self._text))
        if isinstance(value, str):
            start = self._find(value)
            return Scalar(value, start, min(start + len(value), len(self._text)))
        return Scalar(value, 0, 0)

    def _find(self, value: str) -> int:
        first_line = value.lstrip("\n").split("\n", 1)[0][:60]
        for begin in (self._cursor, 0):
            found = self._text.find(value, begin)
            if found == -1:
                found = self._text.find(first_line, begin)
            if found != -1:
                self._cursor = found
                return found
        return 0
