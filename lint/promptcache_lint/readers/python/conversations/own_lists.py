"""Lists of messages that are a function's own: written down in it, or copied, so that none was sent.

And those of which it makes what it gives back.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.conversations.facts import lists_in, spell

if TYPE_CHECKING:
    from promptcache_lint.readers.python.conversations.facts import Facts

__all__ = ["is_copy", "is_fresh", "lists_returned", "passes_on"]

_STEPS = 3


def is_fresh(owner: ast.expr, at: ast.AST, facts: Facts) -> bool:
    """Whether the list was written down in this very function, so that nothing has been sent yet.

    Or in all those that hand it over.
    """
    name = spell(owner)
    if facts.handed and all(_is_fresh_in(caller, call) for caller, call in facts.handed):
        return True
    loop = facts.turns(at)
    for node in facts.of(ast.Assign):
        if isinstance(node, ast.Assign) and any(spell(target) == name for target in node.targets):
            made = isinstance(node.value, ast.List) or (
                isinstance(node.value, ast.BinOp) and isinstance(node.value.left, ast.List)
            )
            if made and (loop is None or facts.turns(node) is loop) and "." not in name:
                return True
    return False


def _is_fresh_in(caller: Facts, call: ast.expr) -> bool:
    arguments = call.args if isinstance(call, ast.Call) else []
    given = [argument for argument in arguments if caller.conviction(argument) is not None]
    return bool(given) and not caller.handed and all(is_fresh(each, call, caller) for each in given)


def is_copy(iterable: ast.expr, facts: Facts) -> bool:
    """Whether the list is one of this function's own, made for this request from another."""
    name = spell(iterable)
    return "." not in name and any(
        isinstance(node, ast.Assign)
        and any(spell(target) == name for target in node.targets)
        and ("copy" in ast.unparse(node.value) or isinstance(node.value, ast.ListComp))
        for node in facts.nodes
    )


def lists_returned(facts: Facts) -> set[str]:
    """The lists that a function gives back, and those of which it makes them, whole or by the message."""
    returned = [node.value for node in facts.of(ast.Return) if isinstance(node, ast.Return) and node.value]
    names = {name for value in returned for name in lists_in(value)} - {""}
    for _ in range(_STEPS):
        before = len(names)
        for node in facts.of(ast.Assign, ast.For):
            match node:
                case ast.Assign() if any(spell(target) in names for target in node.targets):
                    names |= set(lists_in(node.value)) - {""}
                case ast.For() if passes_on(node, names):
                    names |= set(lists_in(node.iter)) - {""}
                case _:
                    continue
        if len(names) == before:
            break
    return names


def passes_on(loop: ast.For, names: set[str]) -> bool:
    """Whether a loop adds what it goes through, or something made of it, to one of some lists."""
    held = _names_in(loop.target)
    for node in ast.walk(loop):
        match node:
            case ast.Assign(targets=[target], value=value) | ast.For(target=target, iter=value):
                held |= _names_in(target) if held & _names_in(value) else set()
            case _:
                continue
    added = [node for node in ast.walk(loop) if isinstance(node, ast.Call) and len(node.args) == 1]
    return any(
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "append"
        and spell(call.func.value) in names
        and bool(held & _names_in(call.args[0]))
        for call in added
    )


def _names_in(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
