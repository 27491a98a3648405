"""Whether what stands at a place of a program is made anew for each request.

What is made with an object, stored on one, or written where a conversation begins is kept: it costs once.
What is run at all is the interpreter's business.
"""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.aside import is_beside_the_product
from promptcache_lint.findings import Severity
from promptcache_lint.prompts import Hole, Stability, Text
from promptcache_lint.readers.once import is_kept, opens_session, sets_up
from promptcache_lint.readers.python.values import Str, map_traits

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from promptcache_lint.prompts import Part, Segment, Trait
    from promptcache_lint.readers.python.frame import Frame
    from promptcache_lint.readers.python.program import Function

__all__ = ["held", "proof"]

_ADDS = {"append", "insert", "extend", "add", "add_message", "appendleft", "setdefault", "push", "update"}
_EMPTY = re.compile(
    r"not [\w.\[\]'\"]*|len\([\w.\[\]'\"]+\) (?:== 0|<= 0|< 1|== 1|<= 1|< 2)"
    r"|[\w.\[\]'\"]+ (?:is None|== \[\])"
    r"|[\w.]*(?:is_first|first_turn|is_new|new_conversation|new_session)\w*(?:\(\))?"
)
_CONSTRUCTORS = {"__init__", "__post_init__", "model_post_init"}
_ASKS = {"input", "raw_input", "prompt", "prompt_async", "ask", "readline", "receive_text", "receive_json"}
_ROUND = (ast.While, ast.For, ast.AsyncFor)
_Round = ast.While | ast.For | ast.AsyncFor


def proof(
    sent: ast.AST | None, holes: Sequence[Part], frame: Frame, running: list[Function]
) -> tuple[bool, bool]:
    """Whether a prompt whose values are ``holes`` is proven to be made for each request that ``sent`` makes.

    And whether a grave value is made before the rounds in which it is sent, so that it holds through them.
    """
    grave = [hole for hole in holes if _is_grave(hole)]
    if sent is None or not grave or not _is_made_anew(sent, frame, running):
        return False, False
    loops = [
        loop for function in running if function is not frame.function for loop in _behind(grave, function)
    ]
    if frame.function is not None:
        loops += _behind(grave, frame.function, getattr(sent, "lineno", 0))
    if any(_is_kept_first(part, function) for part in grave for function in running):
        return False, True
    if any(_asks_a_person(inner) for loop in loops for inner in ast.walk(loop)):
        return False, True  # the first message of one talk
    return True, any(_is_of_rounds(loop) for loop in loops)


def held(segments: tuple[Segment, ...], frame: Frame) -> tuple[Segment, ...]:
    """The segments of a prompt, in which what a constructor writes holds as long as its object.

    For a conversation, as a rule, so that at the end of a prompt it costs nothing.
    """
    function = frame.function
    if function is None or function.owner is None or function.name not in _CONSTRUCTORS:
        return segments
    return tuple(
        segment if all(isinstance(part, Text) for part in segment.parts) else _held(segment)
        for segment in segments
    )


def _held(segment: Segment) -> Segment:
    def longer(trait: Trait) -> Trait:
        if trait.mark.severity < Severity.ERROR:
            return trait
        mark = replace(trait.mark, severity=Severity.WARNING, stability=Stability.CONVERSATION)
        return replace(trait, mark=mark)

    value = map_traits(Str(segment.parts), longer)
    assert isinstance(value, Str)
    return replace(segment, parts=value.parts)


def _is_grave(part: Part) -> bool:
    return isinstance(part, Hole) and any(trait.mark.severity == Severity.ERROR for trait in part.traits)


def _behind(grave: list[Part], function: Function, line: int | None = None) -> Iterator[_Round]:
    """The loops of a function behind the rows where grave values come to it, or behind ``line``."""
    for part in grave:
        row = _row_in(part, function)
        start = line if row is None else row
        if start is not None:
            yield from (loop for loop in _loops(function) if loop.lineno > start)


def _row_in(part: Part, function: Function) -> int | None:
    """The row at which a value comes to ``function``, the last on its way; None if unseen."""
    assert isinstance(part, Hole)
    first, last = function.node.lineno, function.node.end_lineno or 0
    steps = [step for trait in part.traits for step in (trait.origin, *trait.flow)]
    path = function.module.source.path
    rows = [step.row for step in (*steps, part.place) if step.path == path and first <= step.row <= last]
    return rows[-1] if rows else None


def _is_made_anew(node: ast.AST, frame: Frame, running: list[Function]) -> bool:
    """Whether ``node``, in the function of ``frame``, is run for each request, as far as the source shows."""
    if frame.function is None or frame.kept:
        return False
    if any(is_beside_the_product(of.source.called) for of in (frame.module, *(f.module for f in running))):
        return False
    if any(sets_up(function.name) for function in running):
        return False
    if _makes_agent(node):
        return False
    way = _way_to(node, frame.function.node)
    return not any(_keeps(outer, frame.function.node) for outer in way)


def _is_kept_first(part: Part, function: Function) -> bool:
    """Whether a value comes into what is kept, where nothing is there yet: ``if not self.messages: …``."""
    row = _row_in(part, function)
    if row is None:
        return False
    around = [
        node
        for node in ast.walk(function.node)
        if isinstance(node, ast.stmt | ast.Call) and node.lineno <= row <= (node.end_lineno or 0)
    ]
    empty = any(isinstance(node, ast.If) and _keeps(node, function.node) for node in around)
    kept = any(not isinstance(node, ast.If) and _keeps(node, function.node) for node in around)
    return empty and kept


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
        case ast.Call() if _makes_agent(outer):
            return True
        case ast.Call(func=ast.Attribute() as called, args=[target, *_]) if opens_session(
            "", _address(target)
        ):
            return True
        case ast.Call(func=ast.Attribute() as called) if opens_session(ast.unparse(called), ""):
            return True
        case ast.Dict(
            keys=[ast.Constant(value="type"), *_], values=[ast.Constant(value="session.update"), *_]
        ):
            return True
        case ast.If(test=test):
            return _EMPTY.fullmatch(ast.unparse(test)) is not None
        case _:
            return False


def _makes_agent(node: ast.AST) -> bool:
    """Whether a call makes an object that keeps what it is given: ``Agent(messages=[…])``."""
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return is_kept(name)
        case _:
            return False


def _address(node: ast.expr) -> str:
    """A text that is written out, with whatever is filled into it."""
    return ast.unparse(node) if isinstance(node, ast.Constant | ast.JoinedStr) else ""


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


def _loops(function: Function) -> Iterator[_Round]:
    return (node for node in ast.walk(function.node) if isinstance(node, _ROUND))


def _is_of_rounds(loop: ast.AST) -> bool:
    """Whether a loop may be that of an agent's steps: ``while``, or over a range of numbers."""
    match loop:
        case ast.While():
            return True
        case ast.For(iter=ast.Call(func=ast.Name(id="range"))):
            return True
        case _:
            return False


def _asks_a_person(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in _ASKS
        case _:
            return False
