"""Going through a syntax tree quickly: every node below one, parents before children, and the names it binds.

`ast.walk` asks each node for all its fields; here each kind is asked only for those that can hold nodes.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["children_of", "kinds_of", "nodes_of", "stored_among"]

_SIGNS = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)
_WITHOUT_NODES = (ast.Constant, ast.Global, ast.Nonlocal, ast.MatchSingleton)
_TEXTS = {"ctx", "op", "ops", "id", "attr", "kind", "type_comment", "type_ignores", "kwd_attrs", "conversion"}

_FIELDS: dict[type, tuple[str, ...]] = {
    kind: ()
    if issubclass(kind, _WITHOUT_NODES)
    else tuple(name for name in kind._fields if name not in _TEXTS)
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST) and not issubclass(kind, _SIGNS)
}
"""The fields in which each kind of node has others. Signs (`ast.Load`) say nothing by themselves."""


def children_of(node: ast.AST) -> list[ast.AST]:
    """The nodes right below one, but for signs."""
    found: list[ast.AST] = []
    for name in _FIELDS[type(node)]:
        value = getattr(node, name)
        if type(value) is list:
            found += [child for child in value if type(child) in _FIELDS]
        elif type(value) in _FIELDS:
            found.append(value)
    return found


def nodes_of(node: ast.AST) -> list[ast.AST]:
    """A node and all below it, but for signs."""
    found: list[ast.AST] = []
    pending: list[ast.AST] = [node]
    pop, push, add, fields_of = pending.pop, pending.append, found.append, _FIELDS.get
    while pending:
        node = pop()
        fields = fields_of(type(node))
        if fields is None:
            continue  # a name, a number or nothing: fields are not asked for what they hold
        add(node)
        for name in fields:
            value = getattr(node, name)
            if type(value) is list:
                pending += value
            else:
                push(value)
    return found


def kinds_of(nodes: Iterable[ast.AST]) -> dict[type[ast.AST], list[ast.AST]]:
    """Nodes by their kind, those of each in the same order."""
    kinds: dict[type[ast.AST], list[ast.AST]] = {}
    for node in nodes:
        kind = type(node)
        if kind in kinds:
            kinds[kind].append(node)
        else:
            kinds[kind] = [node]
    return kinds


def stored_among(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """The variables that are bound by some nodes."""
    return frozenset(node.id for node in nodes if type(node) is ast.Name and type(node.ctx) is ast.Store)
