"""Models that a function of the module picks for what is said: another turn may get another one."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.conversations.callers import own_function
from promptcache_lint.readers.python.conversations.choices import OF_THE_TURN
from promptcache_lint.readers.python.conversations.facts import spell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.readers.python.conversations.facts import Facts

__all__ = ["is_picked"]


def is_picked(call: ast.Call, facts: Facts) -> bool:
    """Whether a call picks one of several values by what the turn brings: ``pick(text)``."""
    function = own_function(call, facts)
    if function is None or not any(_is_of_the_turn(given, facts) for given in _given(call)):
        return False
    found = {
        ast.unparse(value)
        for node in function.kinds.get(ast.Return, ())
        if isinstance(node, ast.Return) and node.value is not None
        for value in _values(node.value)
    }
    return len(found) > 1


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _is_of_the_turn(node: ast.expr, facts: Facts) -> bool:
    name = spell(node).rpartition(".")[2]
    return OF_THE_TURN.fullmatch(name) is not None or facts.conviction(node) is not None


def _values(node: ast.expr) -> Iterator[ast.expr]:
    """What may be returned, where it is written out or has a name that lasts."""
    match node:
        case ast.IfExp():
            yield from _values(node.body)
            yield from _values(node.orelse)
        case ast.Constant(value=str()) | ast.Attribute():
            yield node
        case ast.Name(id=name) if name.isupper():
            yield node
