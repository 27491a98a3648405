"""Cache keys of requests: one that is made in the function that sends is another one in each request."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.values import Map
from promptcache_lint.readers.routing_keys import key_practices

if TYPE_CHECKING:
    from promptcache_lint.places import Place
    from promptcache_lint.prompts import Practice
    from promptcache_lint.readers.python.calls import Call
    from promptcache_lint.readers.python.frame import Frame

__all__ = ["keys_of"]

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_MAIN = {"main", "__init__", "__post_init__"}
"""Functions in which what is made may last for a conversation."""


def keys_of(made: Call, frame: Frame) -> tuple[Practice, ...]:
    """What is wrong with the cache keys that a request is given."""
    given = Map(tuple((name, value) for name, (value, _) in made.named.items()))
    return key_practices(
        given, frame.module.place(made.node), lambda origin: _is_made_with(origin, made.node, frame)
    )


def _is_made_with(origin: Place, call: ast.Call, frame: Frame) -> bool:
    """Whether a value is made in the function of the call, and in each round in which that is made."""
    function = frame.function
    if function is None or function.name in _MAIN or origin.path != frame.module.source.path:
        return False
    if not _spans(function.node, origin.row):
        return False
    loops = (node for kind in _LOOPS for node in function.kinds.get(kind, ()))
    return all(_spans(loop, origin.row) for loop in loops if _spans(loop, call.lineno))


def _spans(node: ast.AST, row: int) -> bool:
    first = getattr(node, "lineno", 0)
    return first <= row <= (getattr(node, "end_lineno", None) or first)
