"""Things that a program makes when they are first wanted, and keeps for as long as it runs."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptcache_lint.readers.python.frame import Frame

__all__ = ["is_made_once", "returns_what_is_there"]


def is_made_once(node: ast.If, frame: Frame) -> bool:
    """Whether a branch makes what a class or a module keeps: ``if cls._agent is None: cls._agent = …``.

    What an object keeps (``self.agent``) lives as long as the object, which may be one request.
    """
    wanted = _missing(node.test)
    return wanted is not None and _is_shared(wanted, frame) and _is_assigned(wanted, [node])


def returns_what_is_there(node: ast.stmt, body: list[ast.stmt], frame: Frame) -> bool:
    """Whether all behind a statement makes such a thing: ``if cls._agent is not None: return cls._agent``."""
    if not isinstance(node, ast.If) or node.orelse or not isinstance(node.body[-1], ast.Return):
        return False
    there = _there(node.test)
    return there is not None and _is_shared(there, frame) and _is_assigned(there, body)


def _is_assigned(wanted: ast.expr, body: list[ast.stmt]) -> bool:
    name = ast.unparse(wanted)
    assigned = (inner for node in body for inner in ast.walk(node) if isinstance(inner, ast.Assign))
    return any(ast.unparse(target) == name for inner in assigned for target in inner.targets)


def _there(test: ast.expr) -> ast.expr | None:
    """What is there already: ``x is not None``, ``x``."""
    match test:
        case ast.Compare(left=left, ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]):
            return left
        case ast.Name() | ast.Attribute():
            return test
        case _:
            return None


def _missing(test: ast.expr) -> ast.expr | None:
    """What is not there yet: ``x is None``, ``not x``."""
    match test:
        case ast.Compare(left=left, ops=[ast.Is()], comparators=[ast.Constant(value=None)]):
            return left
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return operand
        case _:
            return None


def _is_shared(wanted: ast.expr, frame: Frame) -> bool:
    """Whether a name is of the module (``global``), or an attribute of a class."""
    match wanted:
        case ast.Name(id=name):
            body = frame.function.node.body if frame.function is not None else []
            return isinstance(body, list) and any(isinstance(s, ast.Global) and name in s.names for s in body)
        case ast.Attribute(value=ast.Name(id=owner)):
            return owner == "cls" or (frame.owner is not None and owner == frame.owner.name)
        case _:
            return False
