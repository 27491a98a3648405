"""What becomes of a part of a conversation: what is sent or kept is told to the model again."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.readers.python.conversations.facts import constant, is_model_call, role_of, spell

if TYPE_CHECKING:
    from promptcache_lint.readers.python.conversations.facts import Facts

__all__ = ["use_of"]

_TRIM_NAME = re.compile(
    r"trim|window|truncat|recent|prune|limit|context|messages|history|keep", re.IGNORECASE
)


_DEEPEST = 3


def use_of(node: ast.AST, sure: Severity, facts: Facts, room: int = _DEEPEST) -> Severity | None:
    """What becomes of a window: sent or kept, it costs; looked at, it does not.

    What a helper gives back is what its callers make of it, ``room`` calls away at most.
    """
    inner = node
    for outer in facts.around(node):
        match outer:
            case (
                ast.List() | ast.Starred() | ast.BinOp(op=ast.Add()) | ast.Await() | ast.IfExp() | ast.Tuple()
            ):
                inner = outer
            case ast.Call(func=ast.Name(id="list" | "deque" | "tuple")):
                inner = outer
            case ast.Call(func=ast.Attribute(attr="extend")) if facts.conviction(outer.func.value):  # type: ignore[attr-defined]
                return sure
            case ast.keyword(arg="messages" | "contents" | "message_history" | "input"):
                return sure
            case ast.keyword():
                return None
            case ast.Call():
                return sure if is_model_call(outer) else None
            case ast.Dict():
                keys = [constant(k) for k, v in zip(outer.keys, outer.values, strict=True) if v is inner]
                return sure if keys and keys[0] in {"messages", "contents"} else None
            case ast.Assign(targets=[target]):
                return _assigned(target, sure, facts, room)
            case ast.AnnAssign():
                return _assigned(outer.target, sure, facts, room)
            case ast.Return():
                return _given_back(sure, facts, room)
            case ast.For(iter=it) | ast.comprehension(iter=it) if it is inner:
                return _gone_through(outer, sure, facts)
            case _:
                return None
    return None


def _given_back(sure: Severity, facts: Facts, room: int) -> Severity | None:
    """What a function returns: judged by its callers, or where none is known by its name."""
    if not facts.handed:
        return Severity.WARNING if _TRIM_NAME.search(facts.name) else None
    used = (use_of(call, sure, caller, room - 1) for caller, call in facts.handed if room > 0)
    return max((severity for severity in used if severity is not None), default=None)


def _assigned(target: ast.expr, sure: Severity, facts: Facts, room: int) -> Severity | None:
    """A window that gets a name costs where the name is a list of messages that is sent or kept."""
    if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice):
        return sure if facts.conviction(target.value) else None
    name = spell(target)
    if name in facts.sure or _is_sent(name, facts):
        return sure
    if facts.handed and any(name and spell(node.value) == name for node in facts.of(ast.Return)):  # type: ignore[attr-defined]
        return _given_back(sure, facts, room)
    return sure if "." in name and facts.conviction(target) else None


def _is_sent(name: str, facts: Facts) -> bool:
    """Whether a name is an argument of a call that asks a model."""
    given = (argument for call in facts.calls for argument in [*call.args, *(k.value for k in call.keywords)])
    return bool(name) and any(spell(argument) == name for argument in given)


def _gone_through(outer: ast.AST, sure: Severity, facts: Facts) -> Severity | None:
    """A loop over a window: it costs when messages are made of it."""
    if isinstance(outer, ast.comprehension):
        made = facts.parents[outer]
        element = getattr(made, "elt", None)
        if role_of(element) or isinstance(element, ast.Name):
            return use_of(made, sure, facts)
        return None
    assert isinstance(outer, ast.For)
    for inner in ast.walk(outer):
        if (
            (
                isinstance(inner, ast.Call)
                and isinstance(inner.func, ast.Attribute)
                and inner.func.attr == "append"
            )
            and spell(inner.func.value) in facts.sure
            and inner.args
        ):
            return sure
    return None
