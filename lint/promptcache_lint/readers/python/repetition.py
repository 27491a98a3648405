"""Whether what stands at a place of a program is made anew for each request.

What is made with an object, stored on one, or written where a conversation begins is kept: it costs once.
What is run at all is the interpreter's business.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from promptcache_lint.aside import is_beside_the_product
from promptcache_lint.readers.once import sets_up

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.readers.python.frame import Frame
    from promptcache_lint.readers.python.program import Function

__all__ = ["is_made_anew"]

_ADDS = {"append", "insert", "extend", "add", "add_message", "appendleft", "setdefault", "push", "update"}
_EMPTY = re.compile(
    r"not [\w.\[\]'\"]*|len\([\w.\[\]'\"]+\) (?:== 0|<= 0|< 1|== 1|<= 1|< 2)"
    r"|[\w.\[\]'\"]+ (?:is None|== \[\])"
    r"|[\w.]*(?:is_first|first_turn|is_new|new_conversation|new_session)\w*(?:\(\))?"
)
_ROUND = (ast.While, ast.For, ast.AsyncFor)


def is_made_anew(node: ast.AST, frame: Frame, running: list[Function]) -> bool:
    """Whether ``node``, in the function of ``frame``, is run for each request, as far as the source shows."""
    if frame.function is None or frame.kept or is_beside_the_product(frame.module.source.path):
        return False
    if any(sets_up(function.name) for function in running):
        return False
    way = _way_to(node, frame.function.node)
    return not any(_keeps(outer, frame.function.node) for outer in way) and not _opens_a_talk(way, frame)


def _way_to(node: ast.AST, top: ast.AST) -> list[ast.AST]:
    """What stands around a node, outermost first; empty where it stands in another function."""
    line = getattr(node, "lineno", 0)
    way: list[ast.AST] = []
    at: ast.AST | None = top
    while at is not None and at is not node:
        way.append(at)
        at = next((inner for inner in ast.iter_child_nodes(at) if _holds(inner, node, line)), None)
    return way if at is node else []


def _holds(outer: ast.AST, node: ast.AST, line: int) -> bool:
    if outer is node:
        return True
    first, last = getattr(outer, "lineno", None), getattr(outer, "end_lineno", None)
    if first is not None and last is not None and not first <= line <= last:
        return False
    return any(inner is node for inner in ast.walk(outer))


def _keeps(outer: ast.AST, function: ast.AST) -> bool:
    """Whether what stands in ``outer`` is stored on an object, or only where nothing is there yet."""
    match outer:
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_]):
            return True
        case ast.AnnAssign(target=ast.Attribute() | ast.Subscript()):
            return True
        case ast.Call(func=ast.Attribute(value=owner, attr=name)) if name in _ADDS:
            return not _is_local(owner, function)
        case ast.If(test=test):
            return _EMPTY.fullmatch(ast.unparse(test)) is not None
        case _:
            return False


def _is_local(owner: ast.expr, function: ast.AST) -> bool:
    """Whether a list is made in the function itself."""
    if not isinstance(owner, ast.Name):
        return False
    stores = (
        target
        for node in ast.walk(function)
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    )
    return any(isinstance(target, ast.Name) and target.id == owner.id for target in stores)


def _opens_a_talk(way: list[ast.AST], frame: Frame) -> bool:
    """Whether it stands in front of the loop in which a person is asked: the first message of one talk."""
    assert frame.function is not None
    inside = {id(outer) for outer in way}
    return any(
        id(loop) not in inside and any(map(_asks_a_person, ast.walk(loop)))
        for loop in _loops(frame.function.node)
    )


def _loops(function: ast.AST) -> Iterator[ast.AST]:
    return (node for node in ast.walk(function) if isinstance(node, _ROUND))


def _asks_a_person(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="input" | "raw_input")):
            return True
        case ast.Call(func=ast.Attribute(attr="prompt_async" | "ask" | "receive_text" | "receive_json")):
            return True
        case _:
            return False
