"""What a window is cut from: a conversation, whatever stands for it where its end is taken."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.readers.python.conversations.callers import own_function
from promptcache_lint.readers.python.conversations.facts import called_name, constant, role_of
from promptcache_lint.readers.python.conversations.tables import of_a_table
from promptcache_lint.readers.stores import hands_out

if TYPE_CHECKING:
    from promptcache_lint.readers.python.conversations.facts import Facts
    from promptcache_lint.readers.python.modules import Function

__all__ = ["talk_of"]

_ROOM = 3


def talk_of(node: ast.expr, facts: Facts, room: int = _ROOM) -> Severity | None:
    """How sure it is that an expression is a conversation; None where nothing says so.

    A list by its name or by what shows it, the entry of a table, another name of one, a copy, what is left of
    one behind its first messages or without some of them, and what a store hands out.
    """
    sure = facts.conviction(node) or of_a_table(node, facts)
    if sure is not None or room == 0:
        return sure
    match node:
        case ast.Name(id=name):
            found = [talk_of(value, facts, room - 1) for value in _given(name, facts)]
            return max((each for each in found if each is not None), default=None)
        case ast.Call(func=ast.Name(id="list" | "tuple"), args=[inner]) | ast.Await(value=inner):
            return talk_of(inner, facts, room - 1)
        case ast.Call(func=ast.Attribute(attr="copy", value=inner), args=[]):
            return talk_of(inner, facts, room - 1)
        case ast.BoolOp(op=ast.Or(), values=[inner, *_]) | ast.IfExp(body=inner):
            return talk_of(inner, facts, room - 1)
        case ast.Subscript(value=inner, slice=ast.Slice(lower=lower, upper=None, step=None)):
            return talk_of(inner, facts, room - 1) if isinstance(constant(lower), int) else None
        case ast.ListComp(elt=element, generators=[ast.comprehension(target=ast.Name(id=name), iter=inner)]):
            same = isinstance(element, ast.Name) and element.id == name
            return talk_of(inner, facts, room - 1) if same or role_of(element) else None
        case ast.Call():
            return _handed_out(node, facts)
        case _:
            return None


def _given(name: str, facts: Facts) -> list[ast.expr]:
    """What a variable is given in a function, but for what is made of itself."""
    return [
        node.value
        for node in facts.of(ast.Assign)
        if isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
        and not any(isinstance(inner, ast.Name) and inner.id == name for inner in ast.walk(node.value))
    ]


def _handed_out(call: ast.Call, facts: Facts) -> Severity | None:
    """Messages that a function gives: it is seen to write them, or its name says so."""
    if not hands_out(called_name(call).rpartition(".")[2].lstrip("_")):
        return None
    function = own_function(call, facts)
    return Severity.ERROR if function is not None and _writes_messages(function) else Severity.WARNING


def _writes_messages(function: Function) -> bool:
    """Whether a function gives back a list in which each element is written as a message."""
    returned = (node.value for node in function.kinds.get(ast.Return, ()) if isinstance(node, ast.Return))
    return any(isinstance(value, ast.ListComp) and bool(role_of(value.elt)) for value in returned)
