"""Conversations that are cut when they are saved, and loaded again for the next turn."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.conversations.facts import called_name, spell
from promptcache_lint.readers.python.conversations.matching import matched
from promptcache_lint.readers.python.conversations.tables import entry, lists_of

if TYPE_CHECKING:
    from promptcache_lint.readers.python.conversations.facts import Facts

__all__ = ["is_saved", "saves"]

_SAVES = re.compile(
    r"_*(?:a?save|store|persist|dump|write|put|set|hset|setex|rpush|update|upsert|replace|commit)(?:_\w+|one)?"
)
_LOADS = re.compile(
    r"_*(?:a?get|load|fetch|read|restore|retrieve|lrange|loads|find_one)(?:_\w+)?|(?:\w+_)?history",
)
_WRITES_DOWN = {"dumps", "list", "tuple", "encode", "model_dump", "to_json"}
_ROOM = 3


def saves(name: str) -> bool:
    """Whether a function, by its name, keeps what it is given."""
    return _SAVES.fullmatch(name.lower()) is not None


def is_saved(window: ast.Subscript, facts: Facts) -> bool:
    """Whether the end of a list is saved in place of a list that is loaded and sent in the same turn.

    A list that an object keeps is loaded once, when the object is made; what is saved of it no turn shows.
    """
    owner = window.value
    if not isinstance(owner, ast.Name) or not _is_given_to_store(window, facts, _ROOM):
        return False
    if _is_loaded_and_sent(owner.id, facts):
        return True
    return any(
        isinstance(call, ast.Call)
        and isinstance(argument, ast.Name)
        and name == owner.id
        and _is_loaded_and_sent(argument.id, caller)
        for caller, call in facts.handed
        for name, argument in (matched(call, facts.node) if isinstance(call, ast.Call) else ())
    )


def _is_given_to_store(node: ast.AST, facts: Facts, room: int) -> bool:
    """Whether a store is given a list, by itself, written down, or under a name."""
    inner = node
    for outer in facts.around(node):
        match outer:
            case ast.keyword() | ast.Attribute() | ast.Await() | ast.IfExp():
                inner = outer
            case ast.ListComp() | ast.comprehension():
                inner = outer
            case ast.Call() if called_name(outer).rpartition(".")[2] in _WRITES_DOWN:
                inner = outer
            case ast.Call():
                return inner is not outer.func and saves(called_name(outer).rpartition(".")[2])
            case ast.Assign(targets=[ast.Name(id=name)]) if room > 0:
                return any(
                    _is_given_to_store(read, facts, room - 1)
                    for read in facts.of(ast.Name)
                    if isinstance(read, ast.Name) and read.id == name and read.lineno > outer.lineno
                )
            case _:
                return False
    return False


def _is_loaded_and_sent(name: str, facts: Facts) -> bool:
    """Whether a variable gets what a store has, and becomes a part of the messages, in one function."""
    return any(
        any(_is_load(value) for value in lists_of(node.value))
        for node in facts.of(ast.Assign)
        if isinstance(node, ast.Assign) and name in map(spell, node.targets)
    ) and _is_among_messages(name, facts)


def _is_load(node: ast.expr) -> bool:
    inner = node.value if isinstance(node, ast.Await) else node
    return isinstance(inner, ast.Call) and _LOADS.fullmatch(called_name(inner).rpartition(".")[2]) is not None


def _is_among_messages(name: str, facts: Facts) -> bool:
    """Whether messages are given to a request that a list is, or is put into."""
    for node in facts.of(ast.Call, ast.Dict, ast.Assign, ast.For):
        match node:
            case ast.Call():
                parts = [
                    keyword.value for keyword in node.keywords if keyword.arg in {"messages", "contents"}
                ]
                if isinstance(node.func, ast.Attribute) and node.func.attr == "extend":
                    parts += node.args if spell(node.func.value) in facts.sure else []
            case ast.Dict():
                pairs = zip(node.keys, node.values, strict=True)
                parts = [
                    value
                    for key, value in pairs
                    if isinstance(key, ast.Constant) and key.value in {"messages", "contents"}
                ]
            case ast.Assign() if any(spell(target) in facts.sure - {name} for target in node.targets):
                parts = [node.value] if isinstance(node.value, ast.List | ast.BinOp) else []
            case _:
                continue
        if any(entry(each) == name for part in parts for each in lists_of(part)):
            return True
    return False
