"""The same prompt sent twice in one module: once with a breakpoint behind it, once without.

Requests are of one kind where they send the same constant or attribute as system prompt or tools. Where a
call may be given its mark by somebody else (a parameter, a helper that marks), nothing is said.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.prompts import Practice
from promptcache_lint.readers.python.conversations.facts import called_name, constant, spell
from promptcache_lint.readers.python.walking import children_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.readers.python.program import Module

__all__ = ["unmarked_twins"]

_MARKS = {"cache_control", "prompt_cache_breakpoint", "cachePoint", "cache_point"}
_REQUEST = re.compile(
    r".*\.messages(?:\.batches)?\.(?:create|acreate|stream|count_tokens)|.*\.converse(?:_stream)?"
)
_HEADS = {"system", "tools", "toolConfig"}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SAYS = "`{}` is sent without a breakpoint here, and with one in line {}: this request pays for all of it."


def unmarked_twins(module: Module) -> Iterator[Practice]:
    """PC602 for calls whose system prompt or tools are marked in another call of the module."""
    text = module.source.text
    if not any(mark in text for mark in _MARKS) or not ("messages" in text or "converse" in text):
        return
    marked: dict[str, int] = {}
    plain: list[tuple[str, ast.Call]] = []
    for call, body in _requests(module.tree):
        names, has_mark = _heads(call, body)
        if has_mark is None:
            continue
        for name in names:
            if has_mark:
                marked.setdefault(name, call.lineno)
            else:
                plain.append((name, call))
    said: set[ast.Call] = set()
    for name, call in plain:
        if name in marked and call not in said and not called_name(call).endswith("count_tokens"):
            said.add(call)
            yield Practice(
                "PC602", Severity.WARNING, module.place(call.func), _SAYS.format(name, marked[name])
            )


def _requests(tree: ast.Module) -> Iterator[tuple[ast.Call, ast.AST]]:
    """The calls of model APIs, each with the function it stands in."""
    pending: list[tuple[ast.AST, ast.AST]] = [(tree, tree)]
    while pending:
        node, body = pending.pop()
        inner = node if isinstance(node, _FUNCTIONS) else body
        if isinstance(node, ast.Call) and _REQUEST.fullmatch(called_name(node)):
            yield node, body
        pending += [(child, inner) for child in reversed(children_of(node))]


def _heads(call: ast.Call, body: ast.AST) -> tuple[set[str], bool | None]:
    """What the call sends first, by name, and whether a breakpoint is among what it sends; None: unknown."""
    if any(keyword.arg is None or keyword.arg in _MARKS for keyword in call.keywords):
        return set(), None if any(keyword.arg is None for keyword in call.keywords) else True
    names: set[str] = set()
    has_mark = False
    for keyword in call.keywords:
        values = _written(keyword.value, body)
        if any(_is_marked(value) for value in values):
            has_mark = True
        elif keyword.arg in {*_HEADS, "messages"} and any(_may_be_marked(value) for value in values):
            return set(), None
        if keyword.arg in _HEADS:
            names |= {name for value in values for name in _constants(value)}
    return names, has_mark


def _written(value: ast.expr, body: ast.AST) -> list[ast.expr]:
    """What a keyword is given: itself, or all that its name is given in the function."""
    name = value.id if isinstance(value, ast.Name) else ""
    found = [
        node.value
        for node in ast.walk(body)
        if name and isinstance(node, ast.Assign) and any(spell(target) == name for target in node.targets)
    ]
    return found or [value]


def _is_marked(value: ast.expr) -> bool:
    return any(
        isinstance(node, ast.Dict) and any(constant(key) in _MARKS for key in node.keys if key is not None)
        for node in ast.walk(value)
    )


def _may_be_marked(value: ast.expr) -> bool:
    """Whether a mark may come with a value that is not seen here: what a call returns, a dict or a list."""
    match value:
        case ast.Call() | ast.Await() | ast.IfExp():
            return True
        case ast.List(elts=elements):
            return any(isinstance(element, ast.Starred | ast.Call) for element in elements)
        case _:
            return False


def _constants(value: ast.expr) -> Iterator[str]:
    """The constants and attributes in a value: what is the same in each call of the module."""
    for node in ast.walk(value):
        name = spell(node) if isinstance(node, ast.Name | ast.Attribute) else ""
        if name and (name.rpartition(".")[2].isupper() or name.startswith("self.")):
            yield name
