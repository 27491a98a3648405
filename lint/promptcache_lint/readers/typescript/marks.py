"""The breakpoints of a request that TypeScript writes out: too many, lifetimes in the wrong order, too early.

Only what is seen counts: marks that stand in the request itself, and texts that are known to the last word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache.providers import MARK_TTL_S, MAX_BREAKPOINTS, find_model
from promptcache_lint.findings import Severity
from promptcache_lint.prompts import Practice, Text, flatten
from promptcache_lint.readers.python.values import Map, Seq, Thing
from promptcache_lint.readers.typescript.clocks import literal
from promptcache_lint.readers.typescript.content import BREAKPOINTS, is_marked
from promptcache_lint.readers.typescript.conversations.names import walk
from promptcache_lint.readers.typescript.requests import request_segments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from promptcache_lint.places import Place
    from promptcache_lint.readers.python.values import Value
    from promptcache_lint.readers.typescript.frame import Frame
    from promptcache_lint.readers.typescript.machine import Machine

__all__ = ["mark_practices"]

_DEFAULT = "5m"
_FEWEST_CHARS_PER_TOKEN = 2.5
_MANY = "{} breakpoints; a request may carry {}."
_ORDER = "A breakpoint of {} stands behind one of {}; the longer lifetime comes first."
_SHORT = "About {} tokens up to this breakpoint; {} caches nothing below {}."


def mark_practices(machine: Machine, request: Map, node: Node, frame: Frame) -> Iterator[Practice]:
    """PC603 and PC604 of the request that is written at ``node``; nothing where it is no request."""
    if request.get("model") is None or request.get("messages") is None:
        return
    marked = [item for item in _in_order(request) if is_marked(item)]
    places = _places(node, len(marked), frame)
    if len(marked) > MAX_BREAKPOINTS:
        says = _MANY.format(len(marked), MAX_BREAKPOINTS)
        yield Practice("PC603", Severity.WARNING, places[MAX_BREAKPOINTS], says)
        return
    shortest = ""
    for ttl, place in zip(map(_lifetime, marked), places, strict=True):
        if ttl is None:
            break  # it is not written here how long this one lasts
        if shortest and MARK_TTL_S[ttl] > MARK_TTL_S[shortest]:
            yield Practice("PC603", Severity.WARNING, place, _ORDER.format(ttl, shortest))
            return
        shortest = ttl
    if marked:
        yield from _early(machine, request, node, places[-1], frame=frame)


def _in_order(request: Map) -> Iterator[Value]:
    """The tools, blocks and messages of a request that may carry a mark, as the provider reads them."""
    for key in ("tools", "system", "messages"):
        value = request.get(key)
        for item in value.items if isinstance(value, Seq) else ():
            content = item.get("content") if isinstance(item, Map) else None
            yield from content.items if isinstance(content, Seq) else ()
            yield item


def _lifetime(item: Value) -> str | None:
    """How long a mark lasts; None where that is not written, or is no lifetime that is known."""
    mark = item.get("cache_control") if isinstance(item, Map) else None
    if not isinstance(mark, Map) or mark.partial:
        return None
    ttl = mark.get("ttl")
    said = _DEFAULT if ttl is None else literal(ttl)
    return said if said in MARK_TTL_S else None


def _places(node: Node, count: int, frame: Frame) -> list[Place]:
    """Where the marks of a request stand, where each is written in it; else where the request does."""
    written = [
        inner
        for inner in walk(node)
        if inner.type in {"pair", "shorthand_property_identifier"}
        and frame.module.text(inner.child_by_field_name("key") or inner).strip("\"'") in BREAKPOINTS
    ]
    return [frame.module.place(each) for each in (written if len(written) == count else [node] * count)]


def _early(machine: Machine, request: Map, node: Node, place: Place, *, frame: Frame) -> Iterator[Practice]:
    """A last breakpoint behind so little text that nothing is kept."""
    name = literal(request.get("model"))
    facts = find_model(name) if name else None
    if facts is None or facts.min_tokens is None or isinstance(request.get("tools"), Map | Thing):
        return
    segments = request_segments(machine, request, node, frame)
    last = max((i for i, segment in enumerate(segments) if segment.breakpoint), default=None)
    if last is None:
        return
    characters = 0
    for segment in segments[: last + 1]:
        parts = list(flatten(segment.parts))
        if not parts or segment.role == "tool" or not all(isinstance(part, Text) for part in parts):
            return
        characters += sum(len(part.text) for part in parts if isinstance(part, Text))
    if characters / _FEWEST_CHARS_PER_TOKEN < facts.min_tokens:
        says = _SHORT.format((characters + 3) // 4, facts.name, facts.min_tokens)
        yield Practice("PC604", Severity.WARNING, place, says)
