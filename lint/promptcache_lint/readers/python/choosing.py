"""One of several values: ``a or b``, ``a and b``, ``a if test else b``."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from promptcache_lint.readers.fallbacks import as_fallback
from promptcache_lint.readers.python import strings
from promptcache_lint.readers.python.merging import merge

if TYPE_CHECKING:
    from promptcache_lint.readers.python.frame import Frame
    from promptcache_lint.readers.python.interpreter import Interpreter
    from promptcache_lint.readers.python.values import Value

__all__ = ["any_of", "choice"]


def any_of(machine: Interpreter, node: ast.BoolOp, frame: Frame) -> Value:
    """The value of ``a or b``: any of them."""
    values = [machine.evaluate(value, frame) for value in node.values]
    if isinstance(node.op, ast.Or) and _is_taken(node.values[0]):
        values[1:] = [as_fallback(value, strings.naming(node.values[0])) for value in values[1:]]
    return _either(values, node, frame)


def _is_taken(node: ast.expr) -> bool:
    """Whether a value is taken from something that may lack it, and is no parameter or variable itself."""
    match node:
        case ast.Attribute() | ast.Subscript() | ast.Call(func=ast.Attribute(attr="get")):
            return True
        case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(), *_]):
            return True
        case _:
            return False


def choice(machine: Interpreter, node: ast.IfExp, frame: Frame) -> Value:
    """The value of ``a if test else b``."""
    machine.run_for_effect(node.test, frame)
    first, second = machine.evaluate(node.body, frame), machine.evaluate(node.orelse, frame)
    if _is_taken(node.test):
        second = as_fallback(second, strings.naming(node.test))
    return merge(first, second, frame.module.place(node), frame.module.label(node.test))


def _either(values: list[Value], node: ast.expr, frame: Frame) -> Value:
    merged = values[0]
    for value in values[1:]:
        merged = merge(merged, value, frame.module.place(node))
    return merged
