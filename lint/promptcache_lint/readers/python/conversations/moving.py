"""Breakpoints of a conversation that stay where they were put while the history grows behind them."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.readers.python.conversations.callers import own_function
from promptcache_lint.readers.python.conversations.facts import called_name, constant, role_of, spell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.prompts import Practice
    from promptcache_lint.readers.python.conversations.facts import Facts

__all__ = ["moving"]

_MARKS = {"cache_control", "prompt_cache_breakpoint", "cachePoint", "cache_point"}
_MARKING = re.compile(r"cache|breakpoint|mark", re.IGNORECASE)
_FROZEN = (
    "The breakpoint stays on this message while `{}` grows: what is added behind it is computed every turn."
)
_UNMARKED = (
    "Only the head of the prompt is marked, and `{}` grows without a breakpoint: it is paid in full "
    "each turn."
)


def moving(facts: Facts) -> Iterator[Practice]:
    """PC602 and PC610, for conversations in a loop."""
    for call in facts.calls:
        loop = facts.turns(call)
        name = next((spell(k.value) for k in call.keywords if k.arg == "messages"), "")
        if loop is None or not name or not _grows(name, loop):
            continue
        if any(keyword.arg == "cache_control" for keyword in call.keywords) or _moves(name, facts):
            continue
        fixed = _marked_at_start(name, loop, facts)
        if fixed is not None:
            yield facts.practice("PC610", Severity.WARNING, fixed, _FROZEN.format(name))
        elif _head_is_marked(call, facts):
            yield facts.practice("PC602", Severity.WARNING, call, _UNMARKED.format(name))
        return


def _grows(name: str, loop: ast.AST) -> bool:
    return any(
        (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in {"append", "extend"}
            and spell(node.func.value) == name
        )
        or (isinstance(node, ast.AugAssign) and spell(node.target) == name)
        for node in ast.walk(loop)
    )


def _mark_in(node: ast.AST) -> ast.AST | None:
    """The key of a breakpoint inside a dict display."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Dict):
            for key in inner.keys:
                if key is not None and constant(key) in _MARKS:
                    return key
    return None


def _moves(name: str, facts: Facts) -> bool:
    """Whether something marks the newest message.

    By index, in what is added, or in a helper given the list.
    """
    for node in facts.nodes:
        match node:
            case ast.Assign() if any(
                isinstance(inner, ast.Subscript) and constant(inner.slice) in _MARKS
                for target in node.targets
                for inner in ast.walk(target)
            ):
                return True
            case ast.Call(func=ast.Attribute(attr="append" | "extend", value=owner)) if spell(
                owner
            ) == name and any(_mark_in(a) for a in node.args):
                return facts.turns(node) is not None
            case ast.Call() if any(
                spell(argument) == name for argument in [*node.args, *(k.value for k in node.keywords)]
            ):
                if _MARKING.search(called_name(node)):
                    return True
    return False


def _marked_at_start(name: str, loop: ast.AST, facts: Facts) -> ast.AST | None:
    """The mark in the messages the list begins with, written here or in a function of the module."""
    for node in facts.nodes:
        if isinstance(node, ast.Assign) and any(spell(target) == name for target in node.targets):
            if facts.turns(node) is loop:
                continue
            for first in _lists(node.value, facts):
                for element in first.elts:
                    if role_of(element) not in {"system", "developer"} and (mark := _mark_in(element)):
                        return mark
    return None


def _lists(value: ast.expr, facts: Facts) -> list[ast.List]:
    """The list displays that a value is, or that a function of the module gives back."""
    if isinstance(value, ast.List):
        return [value]
    function = own_function(value, facts) if isinstance(value, ast.Call) else None
    returned = function.kinds.get(ast.Return, []) if function is not None else []
    return [
        node.value for node in returned if isinstance(node, ast.Return) and isinstance(node.value, ast.List)
    ]


def _head_is_marked(call: ast.Call, facts: Facts) -> bool:
    for keyword in call.keywords:
        if keyword.arg in {"system", "tools"}:
            value: ast.AST | None = keyword.value
            if isinstance(value, ast.Name):
                value = next(
                    (
                        n.value
                        for n in facts.nodes
                        if isinstance(n, ast.Assign) and any(spell(t) == value.id for t in n.targets)
                    ),
                    None,
                )
            if value is not None and _mark_in(value):
                return True
    return False
