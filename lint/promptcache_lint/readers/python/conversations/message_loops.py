"""The loop over messages in which something stands, and the fields of a message."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.conversations.facts import constant, spell

if TYPE_CHECKING:
    from promptcache_lint.readers.python.conversations.facts import Facts

__all__ = ["FIELDS", "is_field", "loop_of"]

FIELDS = frozenset({"content", "text", "tool_calls", "arguments", "parts", "role", "output"})
"""The parts of a message that are sent."""


def is_field(node: ast.expr) -> bool:
    """Whether an expression takes a field out of a message."""
    return (isinstance(node, ast.Attribute) and node.attr in FIELDS) or (
        isinstance(node, ast.Subscript) and constant(node.slice) in FIELDS
    )


def loop_of(name: str, at: ast.AST, facts: Facts) -> ast.For | None:
    """The loop over messages to which a variable belongs, as a message, or as a part of one's content."""
    for outer in facts.around(at):
        if isinstance(outer, ast.For) and name in {
            inner.id for inner in ast.walk(outer.target) if isinstance(inner, ast.Name)
        }:
            message = _whose_content(outer.iter, facts)
            return loop_of(message, outer, facts) if message else outer
    return None


def _whose_content(iterable: ast.expr, facts: Facts) -> str:
    """The message of ``m["content"]``, ``m.content``, ``m.get("content")``, also by a name; else empty."""
    match iterable:
        case (
            ast.Call(func=ast.Name(id="enumerate" | "list"), args=[inner, *_])
            | ast.BoolOp(values=[inner, *_])
        ):
            return _whose_content(inner, facts)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="get"), args=[key, *_]):
            return name if constant(key) in FIELDS else ""
        case ast.Subscript(value=ast.Name(id=name)) | ast.Attribute(value=ast.Name(id=name)):
            return name if is_field(iterable) else ""
        case ast.Name(id=name):
            assigned = (node for node in facts.of(ast.Assign) if isinstance(node, ast.Assign))
            given = next((node.value for node in assigned if name in map(spell, node.targets)), None)
            return "" if given is None or isinstance(given, ast.Name) else _whose_content(given, facts)
        case _:
            return ""
