"""Messages that are changed before the next one of their kind is added, so that each is sent in two forms.

``for m in self.messages: if m["type"] == "image": …`` and then ``self.messages.append({"type": "image"})``:
what is added goes out as it is, and is changed when the next one is.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.conversations.facts import spell

if TYPE_CHECKING:
    from promptcache_lint.readers.python.conversations.facts import Facts

__all__ = ["is_overtaken"]

_ADDS = {"append", "extend"}


def is_overtaken(loop: ast.For, owner: ast.expr, facts: Facts) -> bool:
    """Whether a kept list gets, behind the loop that changes it, a message that the loop would change."""
    name = spell(owner)
    looked_for = {
        inner.value
        for compared in ast.walk(loop)
        if isinstance(compared, ast.Compare)
        for inner in compared.comparators
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str)
    }
    if not looked_for or not name.startswith("self."):
        return False
    behind = loop.end_lineno or loop.lineno
    added = (call for call in facts.of(ast.Call) if _row(call) > behind and _adds(call, name))
    return any(looked_for <= _texts(call) and _asks_behind(call, facts) for call in added)


def _adds(call: ast.AST, name: str) -> bool:
    match call:
        case ast.Call(func=ast.Attribute(value=owner, attr=attr)):
            return attr in _ADDS and spell(owner) == name
        case _:
            return False


def _texts(node: ast.AST) -> set[object]:
    return {inner.value for inner in ast.walk(node) if isinstance(inner, ast.Constant)}


def _asks_behind(call: ast.AST, facts: Facts) -> bool:
    return any(asked.lineno > _row(call) for asked in facts.calls)


def _row(node: ast.AST) -> int:
    return node.lineno if isinstance(node, ast.expr) else 0
