"""Lists that grow while a loop goes through something: they have the order of what it goes through."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.values import Map, Seq, with_traits

if TYPE_CHECKING:
    from promptcache_lint.places import Place
    from promptcache_lint.readers.python.frame import Frame
    from promptcache_lint.readers.python.values import Traits, Value

__all__ = ["grow", "grow_given"]


def grow(frame: Frame, before: dict[str, Value], order: Traits) -> None:
    """Lists, and dicts under keys that vary, that grew in a loop have the order of what it went through."""
    for name, value in frame.names.items():
        if _has_grown(before.get(name), value):
            frame.names[name] = with_traits(value, order)


def _has_grown(old: Value | None, value: Value) -> bool:
    match old, value:
        case Seq(), Seq(kind="list" | "tuple"):
            return value.items != old.items
        case Map(), Map():
            return any(key is None and pair not in old.pairs for pair in value.pairs for key in pair[:1])
        case _:
            return False


def grow_given(frame: Frame, before: list[tuple[Value, Place]], order: Traits) -> None:
    """What a generator gives in a loop has the order of what that goes through."""
    order = tuple(trait for trait in order if "choice(" not in trait.label)  # one text, given bit by bit
    if not order or frame.function is None or ast.Yield not in frame.function.kinds:
        return
    frame.returned[:] = [
        pair if pair in before or not isinstance(pair[0], Seq) else (with_traits(pair[0], order), pair[1])
        for pair in frame.returned
    ]
