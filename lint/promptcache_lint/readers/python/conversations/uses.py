"""What becomes of a part of a conversation: what is sent or kept is told to the model again."""

from __future__ import annotations

import ast
import re
from copy import copy
from functools import lru_cache
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.readers.python.conversations.callers import calls_of, facts_of, own_function
from promptcache_lint.readers.python.conversations.facts import (
    called_name,
    constant,
    is_model_call,
    role_of,
    spell,
)
from promptcache_lint.readers.python.conversations.matching import matched
from promptcache_lint.readers.python.conversations.tables import of_a_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.readers.python.conversations.facts import Facts

__all__ = ["use_of", "uses_as_messages"]

_TRIM_NAME = re.compile(
    r"trim|window|truncat|recent|prune|limit|context|messages|history|keep", re.IGNORECASE
)
_DEEPEST = 7
_TOLD = re.compile(r"(?:^|\.|[a-z])(?:Result|Response|Reply|Output|Answer|View|Snapshot|Export|Out|Read)s?\Z")
_KEYWORDS = {"messages", "contents", "message_history", "input"}


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
            case ast.BoolOp(op=ast.Or()) if outer.values[0] is inner:
                inner = outer
            case ast.Call(func=ast.Name(id="list" | "deque" | "tuple" | "reversed" | "enumerate")):
                inner = outer
            case ast.Call(func=ast.Attribute(attr="extend")) if facts.conviction(outer.func.value):  # type: ignore[attr-defined]
                return sure
            case ast.keyword():
                call = facts.parents.get(outer)
                if outer.arg in _KEYWORDS:
                    return sure if not _is_told(call) else None
                return _passed_on(call, inner, sure, facts, room) if isinstance(call, ast.Call) else None
            case ast.Call():
                return sure if is_model_call(outer) else _passed_on(outer, inner, sure, facts, room)
            case ast.Dict():
                keys = [constant(k) for k, v in zip(outer.keys, outer.values, strict=True) if v is inner]
                return sure if keys and keys[0] in {"messages", "contents"} else None
            case (
                ast.Assign(targets=[target])
                | ast.AnnAssign(target=target)
                | ast.AugAssign(op=ast.Add(), target=target)
            ):
                return _assigned(target, outer, sure, facts, room)
            case ast.Return():
                return _given_back(sure, facts, room)
            case ast.For(iter=it) | ast.comprehension(iter=it) if it is inner:
                return _gone_through(outer, sure, facts, room)
            case _:
                return None
    return None


def _is_told(made: ast.AST | None) -> bool:
    """Whether an object, by its name, tells a caller what was said, and asks nobody: ``TurnResult(…)``."""
    return isinstance(made, ast.Call) and _TOLD.search(called_name(made)) is not None


def _given_back(sure: Severity, facts: Facts, room: int) -> Severity | None:
    """What a function returns: judged by its callers, or where none is known by its name."""
    handed = facts.handed or list(calls_of(facts))
    if not handed:
        return Severity.WARNING if _TRIM_NAME.search(facts.name) and not facts.abroad else None
    used = (use_of(call, sure, caller, room - 1) for caller, call in handed if room > 0)
    return max((severity for severity in used if severity is not None), default=None)


def _assigned(
    target: ast.expr, statement: ast.AST, sure: Severity, facts: Facts, room: int
) -> Severity | None:
    """A window that gets a name costs where the name is a list of messages that is sent or kept."""
    if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice):
        return sure if facts.conviction(target.value) or of_a_table(target.value, facts) else None
    name = spell(target)
    if name in facts.sure or _is_sent(name, facts) or of_a_table(target, facts):
        return sure
    if "." in name:
        return sure if facts.conviction(target) and not _is_of_own_record(target, facts) else None
    return _taken_up(name, statement, sure, facts, room - 1) if name else None


def _is_of_own_record(target: ast.expr, facts: Facts) -> bool:
    """``result["messages"] = …`` of a record that the function begins: it tells what was said."""
    if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Name):
        return False
    record = target.value.id
    return any(
        isinstance(node.value, ast.Dict) and not node.value.keys and record in map(spell, node.targets)
        for node in facts.of(ast.Assign)
        if isinstance(node, ast.Assign)
    )


def _taken_up(name: str, statement: ast.AST, sure: Severity, facts: Facts, room: int) -> Severity | None:
    """What becomes of a window under a name, wherever the name is read behind it."""
    if room <= 0:
        return None
    end = (getattr(statement, "end_lineno", 0), getattr(statement, "end_col_offset", 0))
    used = (
        use_of(read, sure, facts, room)
        for read in _reads(facts).get(name, ())
        if (read.lineno, read.col_offset) >= end
    )
    return max((severity for severity in used if severity is not None), default=None)


@lru_cache(maxsize=8)
def _reads(facts: Facts) -> dict[str, list[ast.Name]]:
    """Where a function reads its variables."""
    found: dict[str, list[ast.Name]] = {}
    for node in facts.of(ast.Name):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found.setdefault(node.id, []).append(node)
    return found


def _passed_on(call: ast.Call, given: ast.AST, sure: Severity, facts: Facts, room: int) -> Severity | None:
    """What a function of the same module makes of a window it is given: it sends it, or gives it back."""
    function = own_function(call, facts) if room > 0 else None
    if function is None or function.node is facts.node:
        return None
    names = [name for name, argument in matched(call, function.node) if argument is given]
    known = facts_of(function, facts)
    target = copy(known)
    target.handed = [(facts, call)]
    used = (use_of(read, sure, target, room - 1) for name in names for read in _reads(known).get(name, ()))
    return max((severity for severity in used if severity is not None), default=None)


def _is_sent(name: str, facts: Facts) -> bool:
    """Whether a name is an argument of a call that asks a model."""
    given = (argument for call in facts.calls for argument in [*call.args, *(k.value for k in call.keywords)])
    return bool(name) and any(spell(argument) == name for argument in given)


def _gone_through(outer: ast.AST, sure: Severity, facts: Facts, room: int) -> Severity | None:
    """A loop over a window: it costs when messages are made of it."""
    if isinstance(outer, ast.comprehension):
        made = facts.parents[outer]
        element = getattr(made, "elt", None)
        if role_of(element) or isinstance(element, ast.Name | ast.Call):
            return use_of(made, sure, facts, room)
        return None
    assert isinstance(outer, ast.For)
    gathered: set[str] = set()
    for inner in ast.walk(outer):
        match inner:
            case ast.Call(func=ast.Attribute(attr="append", value=owner), args=[_]) if (
                spell(owner) in facts.sure
            ):
                return sure
            case ast.Call(
                func=ast.Attribute(attr="append" | "insert", value=ast.Name(id=name)), args=[*_, added]
            ):
                gathered |= {name} if spell(added) == spell(outer.target) != "" else set()
            case _:
                continue
    used = (_taken_up(name, outer, sure, facts, room - 1) for name in sorted(gathered))
    return max((severity for severity in used if severity is not None), default=None)


def uses_as_messages(facts: Facts) -> Iterator[ast.Call | ast.Attribute]:
    """The calls, and the attributes of objects, that a function seems to send or to keep as messages.

    Told from what stands around them, so that few are looked up; `use_of` judges each.
    """
    kinds = (ast.Call, ast.Dict, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For, ast.Return)
    for node in facts.of(*kinds):
        for value in _message_places(node, facts):
            yield from _taken_from_objects(value)


def _message_places(node: ast.AST, facts: Facts) -> Iterator[ast.expr]:
    """The expressions below a node that stand where messages do."""
    match node:
        case ast.Call(func=ast.Attribute(attr="extend", value=owner)) if spell(owner) in facts.sure:
            yield from node.args
        case ast.Call():
            yield from (keyword.value for keyword in node.keywords if keyword.arg in _KEYWORDS)
            if node.args and is_model_call(node):
                yield from node.args
        case ast.Dict():
            pairs = zip(node.keys, node.values, strict=True)
            yield from (value for key, value in pairs if constant(key) in {"messages", "contents"})
        case ast.Assign(targets=[target]) | ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            if node.value is not None and (spell(target) in facts.sure or _is_sent(spell(target), facts)):
                yield node.value
        case ast.For(iter=iterable) if facts.sure:
            yield iterable
        case ast.Return(value=ast.expr() as value) if facts.handed:
            yield value


def _taken_from_objects(node: ast.expr) -> Iterator[ast.Call | ast.Attribute]:
    """What calls give back, and what is taken from other objects than ``self``: ``memory.messages``."""
    match node:
        case ast.Await(value=inner) | ast.Starred(value=inner):
            yield from _taken_from_objects(inner)
        case ast.Call(func=ast.Name(id="list" | "deque" | "tuple"), args=[inner]):
            yield from _taken_from_objects(inner)
        case ast.Call(func=ast.Attribute() | ast.Name()):
            yield node
        case ast.Attribute() if spell(node.value) not in {"", "self", "cls"}:
            yield node
        case ast.BinOp(op=ast.Add()):
            yield from _taken_from_objects(node.left)
            yield from _taken_from_objects(node.right)
        case ast.IfExp():
            yield from _taken_from_objects(node.body)
            yield from _taken_from_objects(node.orelse)
        case ast.List(elts=elements):
            for element in elements:
                if isinstance(element, ast.Starred):
                    yield from _taken_from_objects(element.value)
