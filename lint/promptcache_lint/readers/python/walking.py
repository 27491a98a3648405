"""Going through a syntax tree quickly: every node below one, parents before children, and the names it binds.

`ast.walk` asks each node for its fields by name; most of a tree is passed over here.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["stored_names", "walk"]

_SIGNS = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all below it, but for signs (`ast.Load`, `ast.Add`), which say nothing by themselves."""
    pending = [node]
    pop, push = pending.pop, pending.append
    while pending:
        node = pop()
        yield node
        for value in vars(node).values():
            if isinstance(value, ast.AST):
                if not isinstance(value, _SIGNS):
                    push(value)
            elif type(value) is list:
                pending += [
                    child for child in value if isinstance(child, ast.AST) and not isinstance(child, _SIGNS)
                ]


def stored_names(node: ast.AST) -> frozenset[str]:
    """The variables that are bound anywhere below a node."""
    return frozenset(
        inner.id for inner in walk(node) if type(inner) is ast.Name and type(inner.ctx) is ast.Store
    )
