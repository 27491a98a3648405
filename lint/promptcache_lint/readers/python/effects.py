"""Running expressions for what they do, where nobody takes their value: conditions, what is logged.

Only calls, bindings and displays (which may be messages) do anything; names and attributes are not looked up.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.calls import call

if TYPE_CHECKING:
    from promptcache_lint.readers.python.frame import Frame
    from promptcache_lint.readers.python.interpreter import Interpreter

__all__ = ["run_for_effect"]

_INNER: dict[type[ast.AST], tuple[str, ...]] = {
    ast.Name: (),
    ast.Constant: (),
    ast.Attribute: ("value",),
    ast.Subscript: ("value", "slice"),
    ast.Slice: ("lower", "upper", "step"),
    ast.Await: ("value",),
    ast.Starred: ("value",),
    ast.UnaryOp: ("operand",),
    ast.BinOp: ("left", "right"),
    ast.BoolOp: ("values",),
    ast.Compare: ("left", "comparators"),
    ast.IfExp: ("test", "body", "orelse"),
    ast.JoinedStr: ("values",),
    ast.FormattedValue: ("value",),
}
"""Expressions that do nothing but what those inside them do, and where these stand."""


def run_for_effect(machine: Interpreter, node: ast.AST, frame: Frame) -> None:
    """Run an expression whose value nobody takes."""
    inner = _INNER.get(type(node))
    if inner is None:
        if isinstance(node, ast.Call):
            call(machine, node, frame, taken=False)
        elif isinstance(node, ast.expr):
            machine.evaluate(node, frame)
        return
    for name in inner:
        value = getattr(node, name)
        if type(value) is list:
            for item in value:
                run_for_effect(machine, item, frame)
        elif value is not None:
            run_for_effect(machine, value, frame)
