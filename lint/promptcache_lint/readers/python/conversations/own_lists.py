"""Lists of messages that are a function's own: written down in it, or copied, so that none was sent."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.conversations.facts import spell

if TYPE_CHECKING:
    from promptcache_lint.readers.python.conversations.facts import Facts

__all__ = ["is_copy", "is_fresh"]


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
