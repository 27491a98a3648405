"""The grammars of TypeScript, TSX and JavaScript, loaded when a file first needs one.

They are an extra of the distribution: where they are missing, `MissingExtraError` names the command to type.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING

from promptcache_lint.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node, Parser, Tree

__all__ = ["SUFFIXES", "comments", "first_error", "grammar_version", "is_installed", "parse"]

_KINDS = {
    ".ts": "typescript",
    ".mts": "typescript",
    ".cts": "typescript",
    ".tsx": "tsx",
    ".js": "javascript",
    ".jsx": "javascript",
    ".mjs": "javascript",
    ".cjs": "javascript",
}
SUFFIXES = frozenset(_KINDS)
"""Endings of the files these grammars read."""


def parse(data: bytes, suffix: str) -> Tree:
    """The syntax tree of a file; raises `MissingExtraError` where tree-sitter is not installed."""
    return _parser(_KINDS.get(suffix, "typescript")).parse(data)


def is_installed() -> bool:
    """Whether the grammars can be loaded."""
    try:
        _parser("typescript")
    except MissingExtraError:
        return False
    return True


@cache
def grammar_version() -> str:
    """The versions of what parses: with others a file may be read in another way."""
    names = ("tree-sitter", "tree-sitter-typescript", "tree-sitter-javascript")
    return " ".join(version(name) for name in names)


@cache
def _parser(kind: str) -> Parser:
    try:
        import tree_sitter  # noqa: PLC0415 - an extra, loaded when needed
        import tree_sitter_javascript  # noqa: PLC0415
        import tree_sitter_typescript  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("TypeScript and JavaScript", "ts") from None
    languages = {
        "typescript": tree_sitter_typescript.language_typescript,
        "tsx": tree_sitter_typescript.language_tsx,
        "javascript": tree_sitter_javascript.language,
    }
    return tree_sitter.Parser(tree_sitter.Language(languages[kind]()))


def first_error(root: Node) -> Node | None:
    """The first node that is an error or stands for something missing."""
    if not root.has_error:
        return None
    node = root
    while not (node.is_error or node.is_missing):
        inner = next((child for child in node.children if child.has_error or child.is_missing), None)
        if inner is None:
            return node
        node = inner
    return node


def comments(root: Node) -> Iterator[Node]:
    """The comments of a file, in order."""
    stack = [root]
    while stack:
        node = stack.pop()
        if node.type in {"comment", "html_comment"}:
            yield node
        elif node.child_count:
            stack += reversed(node.children)
