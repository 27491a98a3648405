"""What a function gives its variables and the attributes of ``self``, as it is written."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptcache_lint.readers.python.program import Function

__all__ = ["given_values", "variable_of"]


def given_values(name: str, function: Function) -> list[ast.expr]:
    """What is assigned to a variable, or to an attribute of ``self``, anywhere in a function."""
    found = []
    for node in (*function.kinds.get(ast.Assign, ()), *function.kinds.get(ast.AnnAssign, ())):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        if value is not None and any(variable_of(target) == name for target in targets):
            found.append(value)
    return found


def variable_of(node: ast.AST | None) -> str:
    """The name of a variable or of an attribute of ``self``; empty for anything else."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return f"self.{name}"
        case _:
            return ""
