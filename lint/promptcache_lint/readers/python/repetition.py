"""Whether what stands at a place of a program is made anew for each request.

What is made with an object, stored on one, or written where a conversation begins is kept: it costs once.
What is run at all is the interpreter's business.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.aside import is_beside_the_product
from promptcache_lint.findings import Severity
from promptcache_lint.prompts import Hole, Stability, Text
from promptcache_lint.readers.once import sets_up
from promptcache_lint.readers.python.blocks import parents_of
from promptcache_lint.readers.python.rows import makes_agent
from promptcache_lint.readers.python.values import Str, map_traits

if TYPE_CHECKING:
    import ast
    from collections.abc import Sequence

    from promptcache_lint.prompts import Part, Segment, Trait
    from promptcache_lint.readers.python.frame import Frame
    from promptcache_lint.readers.python.program import Function

__all__ = ["held", "proof"]

_CONSTRUCTORS = {"__init__", "__post_init__", "model_post_init"}


def proof(
    sent: ast.AST | None, holes: Sequence[Part], frame: Frame, running: list[Function]
) -> tuple[bool, bool]:
    """Whether a prompt whose values are ``holes`` is proven to be made for each request that ``sent`` makes.

    And whether a grave value is made before the rounds in which it is sent, so that it holds through them.
    """
    grave = [hole for hole in holes if _is_grave(hole)]
    if sent is None or not grave or not _is_made_anew(sent, frame, running):
        return False, False
    ways = [
        (function.rows, row)
        for function in running
        if function is not frame.function
        for part in grave
        if (row := _row_in(part, function)) is not None
    ]
    if frame.function is not None:
        line = getattr(sent, "lineno", 0)
        given = (_row_in(part, frame.function) for part in grave)
        ways += [(frame.function.rows, line if row is None else row) for row in given]
    if any(_is_kept_first(part, function) for part in grave for function in running):
        return False, True
    if any(rows.asks_behind(row) for rows, row in ways):
        return False, True  # the first message of one talk
    return True, any(rows.rounds_behind(row) for rows, row in ways)


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
    if makes_agent(node):
        return False
    way = _way_to(node, frame.function.node)
    return not any(frame.function.rows.keeps(outer) for outer in way)


def _is_kept_first(part: Part, function: Function) -> bool:
    """Whether a value comes into what is kept, where nothing is there yet: ``if not self.messages: …``."""
    row = _row_in(part, function)
    return row is not None and function.rows.keep_first(row)


def _way_to(node: ast.AST, top: ast.AST) -> list[ast.AST]:
    """What stands around a node; empty where it stands in another function."""
    above = parents_of(top)
    way: list[ast.AST] = []
    at = above.get(node)
    while at is not None:
        way.append(at)
        at = above.get(at)
    return way
