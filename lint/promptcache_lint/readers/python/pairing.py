"""Assignments of several names at once, taken apart: ``a, b = x, y`` is read as ``a = x`` and ``b = y``.

Only where no value reads what another name is given: all of them are evaluated before the first is bound.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["take_apart"]

_BODIES = ("body", "orelse", "finalbody")


def take_apart(tree: ast.Module) -> None:
    """Replace each assignment of several names by one for each of them, where that says the same."""
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        for name in _BODIES:
            block = getattr(node, name, None)
            if isinstance(block, list):
                if any(map(_is_of_several, block)):
                    block[:] = [each for statement in block for each in _apart(statement)]
                pending += block
        pending += getattr(node, "handlers", ())
        pending += getattr(node, "cases", ())


def _is_of_several(statement: ast.stmt) -> bool:
    match statement:
        case ast.Assign(
            targets=[ast.Tuple(elts=targets) | ast.List(elts=targets)],
            value=ast.Tuple(elts=values) | ast.List(elts=values),
        ) if len(targets) == len(values) > 1:
            return not any(isinstance(each, ast.Starred) for each in (*targets, *values))
        case _:
            return False


def _apart(statement: ast.stmt) -> Iterator[ast.stmt]:
    if not _is_of_several(statement):
        yield statement
        return
    assert isinstance(statement, ast.Assign)
    targets, values = statement.targets[0].elts, statement.value.elts  # type: ignore[attr-defined]
    if _depend(targets, values):
        yield statement
        return
    for target, value in zip(targets, values, strict=True):
        yield from _apart(ast.copy_location(ast.Assign([target], value), statement))


def _depend(targets: list[ast.expr], values: list[ast.expr]) -> bool:
    """Whether a value may be another one once the names in front of it are bound."""
    named = [each for target in targets for each in _names(target)]
    if any(not isinstance(each, ast.Name | ast.Attribute) for each in named):
        return True
    bound = set(map(ast.unparse, named))
    read = {
        ast.unparse(node)
        for value in values
        for node in ast.walk(value)
        if isinstance(node, ast.Name | ast.Attribute)
    }
    return bool(bound & read)


def _names(target: ast.expr) -> Iterator[ast.expr]:
    match target:
        case ast.Tuple(elts=items) | ast.List(elts=items):
            for item in items:
                yield from _names(item)
        case _:
            yield target
