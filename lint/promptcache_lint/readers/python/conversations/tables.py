"""Tables that hold a conversation for each user or channel: ``talks[user]``, ``self.talks.get(key, [])``."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.readers.python.conversations.callers import facts_of_all, own_function
from promptcache_lint.readers.python.conversations.facts import constant, role_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.readers.python.conversations.facts import Facts
    from promptcache_lint.readers.python.modules import Module

__all__ = ["entry", "holds_talks", "is_sent_from_table", "lists_of", "of_a_table", "table_of", "taken_from"]

_SPEAKERS = {
    *("system", "developer", "user", "human", "assistant", "ai", "model", "tool", "function", "message", "?")
}
"""Roles of messages; a ``type`` that is another one is that of an event, or of a record."""
_TAKING = {"get", "setdefault"}


def entry(node: ast.AST | None) -> str:
    """A list as text, whatever key of a table it stands under: ``self.talks[]``, ``rooms[].history``."""
    match node:
        case ast.Name():
            return node.id
        case (
            ast.Attribute(value=owner, attr=name)
            | ast.Subscript(value=owner, slice=ast.Constant(value=str() as name))
        ):
            inner = entry(owner)
            return f"{inner}.{name}" if inner else ""
        case ast.Subscript(value=owner, slice=key) if not isinstance(key, ast.Slice | ast.UnaryOp):
            inner = entry(owner) if not isinstance(constant(key), int) else ""
            return f"{inner}[]" if inner else ""
        case ast.Call(func=ast.Attribute(attr=attr, value=owner), args=[key, *_]) if attr in _TAKING:
            return entry(ast.Subscript(value=owner, slice=key))
        case _:
            return ""


def table_of(node: ast.AST | None) -> str:
    """The same, empty where a list stands in no table."""
    name = entry(node)
    return name if "[]" in name else ""


def taken_from(name: str, facts: Facts) -> frozenset[str]:
    """The lists of which a variable is another name in a function: ``talks[]`` for ``talk = talks[user]``."""
    return _other_names(facts).get(name, frozenset())


@lru_cache(maxsize=8)
def _other_names(facts: Facts) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for node in facts.of(ast.Assign, ast.AnnAssign):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                given = {each for one in lists_of(value) for each in _entries(one, facts)}
                found[name] = found.get(name, frozenset()) | given - {"", name}
            case _:
                continue
    return found


def _entries(node: ast.expr, facts: Facts) -> Iterator[str]:
    """A list as text; of what a function of the same module gives back, the entries of tables."""
    yield entry(node)
    call = node.value if isinstance(node, ast.Await) else node
    function = own_function(call, facts) if isinstance(call, ast.Call) else None
    for returned in function.kinds.get(ast.Return, ()) if function is not None else ():
        if isinstance(returned, ast.Return) and returned.value is not None:
            yield from (name for each in lists_of(returned.value) if (name := table_of(each)))


def of_a_table(node: ast.AST | None, facts: Facts) -> Severity | None:
    """How sure it is that a conversation is taken out of a table of them; None if that is not seen."""
    name = table_of(node)
    return Severity.ERROR if name and holds_talks(name, facts) else None


def holds_talks(name: str, facts: Facts) -> bool:
    """Whether messages are added to what a table holds: ``talks[channel].append({"role": …})``."""
    return name in facts.tables or name in _shown_in(facts) or name in _shown_in_module(facts.module)


def is_sent_from_table(cut: ast.AST, facts: Facts) -> bool:
    """Whether a function of the module sends what stands in the table of which an entry is cut."""
    names = {table_of(inner) for inner in ast.walk(cut)}
    return not names.isdisjoint(_sent_in_module(facts.module))


@lru_cache(maxsize=8)  # a function may take messages out of tables in many places
def _shown_in(facts: Facts) -> frozenset[str]:
    """The entries of tables that a function shows to be conversations."""
    nodes = facts.of(ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Call)
    filled = {name for node in nodes for name in _filled(node, facts)}
    return frozenset(name for name in filled if "[]" in name) | _put_among_messages(facts)


@lru_cache(maxsize=2)
def _shown_in_module(module: Module) -> frozenset[str]:
    return frozenset().union(*map(_shown_in, facts_of_all(module)))


@lru_cache(maxsize=2)
def _sent_in_module(module: Module) -> frozenset[str]:
    asking = (facts for facts in facts_of_all(module) if facts.calls or _has_messages(facts))
    return frozenset().union(*map(_put_among_messages, asking))


def _has_messages(facts: Facts) -> bool:
    """Whether a function writes a request with messages, to whatever it is given."""
    calls = (node for node in facts.of(ast.Call) if isinstance(node, ast.Call))
    return any(keyword.arg == "messages" for call in calls for keyword in call.keywords)


def _put_among_messages(facts: Facts) -> frozenset[str]:
    """The entries of tables that become a part of a list of messages in a function."""
    nodes = facts.of(ast.Assign, ast.AnnAssign, ast.Call, ast.Dict)
    names = {entry(each) for node in nodes for value in _parts(node, facts) for each in lists_of(value)}
    return frozenset(name for name in names if "[]" in name)


def _parts(node: ast.AST, facts: Facts) -> Iterator[ast.expr]:
    """What a list of messages is made of."""
    match node:
        case (
            ast.Assign(targets=[target], value=value)
            | ast.AnnAssign(target=target, value=ast.expr() as value)
        ):
            if facts.conviction(target) == Severity.ERROR:
                yield value
        case ast.Call(func=ast.Attribute(attr="extend", value=owner), args=[added]):
            if facts.conviction(owner) == Severity.ERROR:
                yield added
        case ast.Call():
            yield from (keyword.value for keyword in node.keywords if keyword.arg == "messages")
        case ast.Dict():
            pairs = zip(node.keys, node.values, strict=True)
            yield from (value for key, value in pairs if constant(key) == "messages")


def _filled(node: ast.AST, facts: Facts) -> Iterator[str]:
    """Where messages are put."""
    match node:
        case (
            ast.Assign(targets=[target], value=value)
            | ast.AnnAssign(target=target, value=ast.expr() as value)
        ):
            talks = (facts.conviction(each) == Severity.ERROR for each in lists_of(value))
            if _is_of_messages(value) or any(talks):
                yield entry(target)
        case ast.AugAssign(target=target, value=value) if _is_of_messages(value):
            yield entry(target)
        case ast.Call(func=ast.Attribute(attr="append" | "appendleft", value=owner), args=[added]):
            if role_of(added) in _SPEAKERS:
                yield entry(owner)
        case ast.Call(func=ast.Attribute(attr="extend", value=owner), args=[added]):
            if _is_of_messages(added):
                yield entry(owner)


def _is_of_messages(node: ast.expr) -> bool:
    """Whether a list is written down of messages only."""
    elements = node.elts if isinstance(node, ast.List) else []
    return bool(elements) and all(role_of(element) in _SPEAKERS for element in elements)


def lists_of(node: ast.expr) -> Iterator[ast.expr]:
    """The lists of which one is made, by whatever they are called."""
    match node:
        case ast.BinOp(op=ast.Add()):
            yield from lists_of(node.left)
            yield from lists_of(node.right)
        case ast.List():
            for element in node.elts:
                if isinstance(element, ast.Starred):
                    yield from lists_of(element.value)
        case ast.Subscript(slice=ast.Slice()):
            yield from lists_of(node.value)
        case (
            ast.Call(func=ast.Name(id="list"), args=[inner])
            | ast.Call(func=ast.Attribute(attr="copy", value=inner), args=[])
        ):
            yield from lists_of(inner)
        case ast.BoolOp(op=ast.Or(), values=values):
            yield from lists_of(values[0])
        case ast.IfExp(body=body, orelse=other):
            yield from lists_of(body)
            yield from lists_of(other)
        case _:
            yield node
