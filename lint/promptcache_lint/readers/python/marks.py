"""Breakpoints as blocks, messages and tools carry them: where one stands, and for how long it lasts."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from promptcache_lint.prompts import Text
from promptcache_lint.readers.python.values import Map, Str, Thing

if TYPE_CHECKING:
    from promptcache_lint.places import Place
    from promptcache_lint.readers.python.values import Value

__all__ = ["literal", "marked_by"]

_MARKS = ("cache_control", "prompt_cache_breakpoint", "cachePoint", "cache_point")


class _Marked(TypedDict, total=False):
    """The fields of a segment that a breakpoint sets."""

    breakpoint: bool
    marked: Place | None
    ttl: str


def marked_by(block: Value) -> _Marked:
    """The breakpoint that a block carries; nothing if it has none."""
    if not isinstance(block, Map):
        return {}
    for name in _MARKS:
        mark = block.get(name)
        if mark is None or (isinstance(mark, Thing) and mark.constant == "None"):
            continue
        kind = mark.get("type") if isinstance(mark, Map) else None
        ttl = literal(mark.get("ttl")) if isinstance(mark, Map) else ""
        place = _place_of_mark(_place(kind), _place(block.get("type")))
        return {"breakpoint": True, "marked": place, "ttl": ttl}
    return {}


def literal(value: Value | None) -> str:
    """The text of a value that is all literal; else empty."""
    if isinstance(value, Str) and all(isinstance(part, Text) for part in value.parts):
        return "".join(part.text for part in value.parts if isinstance(part, Text))
    return ""


def _place(value: Value | None) -> Place | None:
    return next((part.place for part in value.parts), None) if isinstance(value, Str) else None


def _place_of_mark(mark: Place | None, block: Place | None) -> Place | None:
    """Where a breakpoint stands: in its block, though what it says may be a constant (``EPHEMERAL``)."""
    if mark is None or block is None:
        return mark
    return mark if mark.path == block.path and mark.row >= block.row else block
