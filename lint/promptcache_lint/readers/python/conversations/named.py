"""What a name stands for in a function, where that is one thing."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.conversations.facts import spell

if TYPE_CHECKING:
    from promptcache_lint.readers.python.conversations.facts import Facts

__all__ = ["resolved"]


def resolved(value: ast.expr, facts: Facts) -> ast.expr:
    """A name's only assignment in the function, where there is one; anything else as it is."""
    if not isinstance(value, ast.Name):
        return value
    given = [
        node.value
        for node in facts.of(ast.Assign)
        if isinstance(node, ast.Assign) and any(spell(target) == value.id for target in node.targets)
    ]
    return given[0] if len(given) == 1 else value
