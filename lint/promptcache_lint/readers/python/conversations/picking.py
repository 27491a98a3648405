"""Models that a function of the module picks for what is said: another turn may get another one."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.conversations.callers import own_function
from promptcache_lint.readers.python.conversations.choices import OF_THE_TURN
from promptcache_lint.readers.python.conversations.facts import spell
from promptcache_lint.readers.python.conversations.matching import matched
from promptcache_lint.readers.python.conversations.named import resolved

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.readers.python.conversations.facts import Facts
    from promptcache_lint.readers.python.modules import Function

__all__ = ["is_looked_up", "is_made_for", "is_picked", "picked_in"]


_SAID = re.compile(r"(?:user_?|last_?|new_?)?(?:text|question|message|query|utterance|input)(?:_text)?")
"""Names of what the turn says."""
_DEEPEST = 3
"""So many dicts in each other are looked into."""


def is_looked_up(value: ast.expr, facts: Facts) -> bool:
    """Whether a value is taken out of a table by what a function picks: ``MODELS[difficulty(text)]``."""
    match value:
        case ast.Subscript(slice=key) | ast.Call(func=ast.Attribute(attr="get"), args=[key, *_]):
            found = resolved(key, facts)
            return isinstance(found, ast.Call) and is_picked(found, facts)
        case _:
            return False


def picked_in(value: ast.expr, facts: Facts, room: int = _DEEPEST) -> ast.expr | None:
    """What is picked for the turn in a parameter, or in its dict: ``{"effort": effort_for(text)}``."""
    found = resolved(value, facts)
    match found:
        case ast.Dict(values=values) if room:  # a name may stand in what it is given itself
            inside = (picked_in(each, facts, room - 1) for each in values)
            return next((inner for inner in inside if inner is not None), None)
        case ast.Call():
            return found if is_picked(found, facts) else None
        case _:
            return None


def is_made_for(call: ast.Call, facts: Facts) -> bool:
    """Whether a function of the module is given what the turn says, and looks at it."""
    function = own_function(call, facts)
    if function is None:
        return False
    told = {
        name
        for name, given in matched(call, function.node)
        if _SAID.fullmatch(spell(given).rpartition(".")[2])
    }
    later = {id(node) for node in _run_later(function)}
    return any(
        isinstance(node, ast.Name) and node.id in told and id(node) not in later
        for node in function.kinds.get(ast.Name, ())
    )


def _run_later(function: Function) -> Iterator[ast.AST]:
    """What stands in functions of a function: no list is chosen by what its tools do when they are called."""
    for kind in (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda):
        for inner in function.kinds.get(kind, ()):
            if inner is not function.node:
                body = inner.body  # type: ignore[attr-defined]
                for part in body if isinstance(body, list) else [body]:
                    yield from ast.walk(part)


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
