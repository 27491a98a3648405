"""What a module makes once: a value in the text of a ``const`` is the same in each request of its process."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Branch, Hole, Stability
from promptcache_lint.readers.python.values import Map, Seq, Str

if TYPE_CHECKING:
    from promptcache_lint.prompts import Part
    from promptcache_lint.readers.python.values import Value

__all__ = ["made_once"]

_PLACEHOLDERS = ("{", "$", "<%", "%")
_DEEPEST = 6


def made_once(value: Value, room: int = _DEEPEST) -> Value:
    """A value of a module's constant; a placeholder in it is filled later, and may be another each time."""
    if room == 0:
        return value
    match value:
        case Str(parts):
            return replace(value, parts=tuple(map(_kept, parts)))
        case Map(pairs):
            return replace(value, pairs=tuple((key, made_once(each, room - 1)) for key, each in pairs))
        case Seq(items):
            return replace(value, items=tuple(made_once(each, room - 1) for each in items))
        case _:
            return value


def _kept(part: Part) -> Part:
    match part:
        case Hole(traits=(), stability=None) if not part.label.startswith(_PLACEHOLDERS):
            return replace(part, stability=Stability.PROCESS)
        case Branch():
            return replace(part, options=tuple(tuple(map(_kept, option)) for option in part.options))
        case _:
            return part
