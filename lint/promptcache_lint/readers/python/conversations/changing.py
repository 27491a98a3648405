"""Whether what is written over a system prompt is seen to be another one each time.

A prompt that is rendered again by a call may come out the same, so an edit with it is likely a fault and not
a proven one. A text that is put together there, of what the turn brings, is another one.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.readers.python.conversations.facts import spell

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptcache_lint.readers.python.conversations.facts import Facts

__all__ = ["as_far_as_seen"]

_DEEPEST = 4
_ARGUMENTS = (ast.FunctionDef, ast.AsyncFunctionDef)


def as_far_as_seen(severity: Severity, target: ast.expr, value: ast.expr | None, facts: Facts) -> Severity:
    """How grave it is to write ``value`` over ``target``: an error only if it is seen to be another one."""
    return severity if _is_seen_to_change(target, value, facts) else min(severity, Severity.WARNING)


def _is_seen_to_change(target: ast.expr, value: ast.expr | None, facts: Facts) -> bool:
    """Whether ``value`` holds what was there before, what the caller must bring, or what a loop goes through.

    ``None`` is what an augmented assignment adds.
    """
    if value is None:
        return True
    owner = _owner(target)
    if owner and any(_owner(node) == owner for node in ast.walk(value) if isinstance(node, ast.Subscript)):
        return True  # what was there, and more
    return _varies(value, facts, _DEEPEST)


def _owner(node: ast.expr) -> str:
    """The list that an expression takes a message out of; empty where there is none."""
    at: ast.expr = node
    while isinstance(at, ast.Subscript | ast.Attribute):
        if isinstance(at, ast.Subscript) and not isinstance(at.slice, ast.Constant):
            return spell(at.value)
        if isinstance(at, ast.Subscript) and isinstance(getattr(at.slice, "value", None), int):
            return spell(at.value)
        at = at.value
    return ""


def _varies(node: ast.expr, facts: Facts, room: int) -> bool:
    """Whether an expression is another value each time, as far as this function shows."""
    if room < 0:
        return False
    match node:
        case ast.JoinedStr():
            written = (piece.value for piece in node.values if isinstance(piece, ast.FormattedValue))
            return any(_is_variable(inner, facts, room) for inner in written)
        case ast.BinOp(op=ast.Add() | ast.Mod()):
            return any(_is_variable(inner, facts, room) for inner in (node.left, node.right))
        case ast.Call(func=ast.Attribute(value=ast.Constant() | ast.JoinedStr(), attr="format" | "join")):
            return any(_is_variable(inner, facts, room) for inner in _given(node))
        case ast.Call() | ast.Dict():
            return any(_varies(inner, facts, room) for inner in _given(node))
        case ast.IfExp():
            return _varies(node.body, facts, room) or _varies(node.orelse, facts, room)
        case ast.Name(id=name):
            return _name_varies(name, facts, room)
        case ast.Await() | ast.Starred() | ast.Attribute() | ast.Subscript():
            return _varies(node.value, facts, room)
        case _:
            return False


def _is_variable(node: ast.expr, facts: Facts, room: int) -> bool:
    """Whether a piece of a text that is put together varies: an attribute may, since it is written anew."""
    match node:
        case ast.Name(id=name) if name.isupper():
            return False
        case ast.Attribute():
            return not node.attr.isupper() and not _is_prompt(node.attr)
        case ast.Name(id=name) if not _is_given_by_default(name, facts):
            values = _values_of(name, facts)
            return not values or any(_is_variable(value, facts, room - 1) for value in values if room > 0)
        case ast.Name() | ast.Constant():
            return False
        case ast.Call():
            return bool(_given(node)) or not _is_prompt(spell(node.func))
        case _:
            return _varies(node, facts, room) or bool(spell(node))


def _is_prompt(name: str) -> bool:
    """Whether a name is that of a prompt or its parts, which are set up once."""
    return any(word in name.lower() for word in ("prompt", "instruction", "persona", "preamble", "system"))


def _given(node: ast.Call | ast.Dict) -> list[ast.expr]:
    if isinstance(node, ast.Dict):
        return [value for value in node.values if not isinstance(value, ast.Constant)]
    return [*node.args, *(keyword.value for keyword in node.keywords)]


def _name_varies(name: str, facts: Facts, room: int) -> bool:
    """Whether a name is what the caller must bring or a loop's, or is given a value that varies."""
    if name in {"self", "cls"} or name.isupper():
        return False
    if any(name == argument.arg for argument in _required(facts)):
        return True
    if any(name in _names(loop.target) for loop in facts.of(ast.For, ast.AsyncFor)):  # type: ignore[attr-defined]
        return True
    return any(_varies(value, facts, room - 1) for value in _values_of(name, facts))


def _values_of(name: str, facts: Facts) -> list[ast.expr]:
    """What a name is given in the function."""
    found: list[ast.expr] = []
    for node in facts.of(ast.Assign, ast.AnnAssign):
        targets: Iterable[ast.expr] = node.targets if isinstance(node, ast.Assign) else [node.target]  # type: ignore[attr-defined]
        value = node.value  # type: ignore[attr-defined]
        if value is not None and any(isinstance(each, ast.Name) and each.id == name for each in targets):
            found.append(value)
    return found


def _required(facts: Facts) -> list[ast.arg]:
    """The parameters of the function that have no default, its own object left out."""
    if not isinstance(facts.node, _ARGUMENTS):
        return []
    given = facts.node.args
    positional = [*given.posonlyargs, *given.args]
    needed = positional[: len(positional) - len(given.defaults)]
    named = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    return [each for each in needed if each.arg not in {"self", "cls"}] + [
        each for each, default in named if default is None
    ]


def _is_given_by_default(name: str, facts: Facts) -> bool:
    """Whether a name is a parameter that callers may leave out."""
    if not isinstance(facts.node, _ARGUMENTS):
        return False
    given = facts.node.args
    known = {each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
    return name in known and name not in {each.arg for each in _required(facts)}


def _names(target: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}
