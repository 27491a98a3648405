"""How much of a request is written where it is sent: all of its head, all of its messages."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Text
from promptcache_lint.readers.python.values import Map, Seq, Str, Thing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptcache_lint.prompts import Segment
    from promptcache_lint.readers.python.calls import Call
    from promptcache_lint.readers.python.values import Value

__all__ = ["has_unseen_head", "is_single"]

_TALKS = ("messages", "contents", "input", "prompt")
_GO_ON = {"previous_response_id", "conversation"}
"""Options by which what was said before is added to the messages."""


def has_unseen_head(made: Call, segments: Iterable[Segment], *, grows: bool) -> bool:
    """Whether a request begins with more than is written: tools, other options, a history before a mark."""
    tools = made.named.get("tools")
    if any(not isinstance(value, Map) or value.partial for value in made.spread):
        return True
    if tools is not None and not _is_written(tools[0]):
        return True
    return grows and any(each.breakpoint and each.path.startswith("messages") for each in segments)


def is_single(made: Call) -> bool:
    """Whether all messages of a request are written out in its call, so that no other ever follows."""
    if not made.named.keys().isdisjoint(_GO_ON):
        return False
    told = [made.named[name] for name in _TALKS if name in made.named]
    return bool(told) and all(_stands_here(value, node) for value, node in told)


def _stands_here(value: Value, node: ast.expr) -> bool:
    match node:
        case ast.List(elts=items):
            complete = isinstance(value, Seq) and not value.partial
            return complete and not any(isinstance(each, ast.Starred) for each in items)
        case _:
            return isinstance(value, Str)


def _is_written(value: Value) -> bool:
    """Whether a value is known to the last word."""
    match value:
        case Str(parts=parts):
            return all(isinstance(part, Text) for part in parts)
        case Map(pairs=pairs, partial=False):
            return all(_is_written(inner) for _, inner in pairs)
        case Seq(items=items, partial=False):
            return all(map(_is_written, items))
        case Thing(constant=constant):
            return constant is not None
        case _:
            return False
