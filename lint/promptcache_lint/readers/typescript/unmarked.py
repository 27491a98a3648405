"""Requests in TypeScript to models that cache only up to a breakpoint, in modules that never set one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache.providers import find_model
from promptcache_lint.findings import Severity
from promptcache_lint.prompts import Practice, Text, flatten
from promptcache_lint.readers.typescript.clocks import literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptcache_lint.places import Place
    from promptcache_lint.prompts import Segment
    from promptcache_lint.readers.python.values import Value

__all__ = ["unmarked"]

_MARKS = re.compile(r"cache_?control|cache_?point|cache_?breakpoint|caching", re.IGNORECASE)
_MOST_CHARS_PER_TOKEN = 5.0


def unmarked(
    model: Value | None, segments: Iterable[Segment], place: Place, text: str
) -> tuple[Practice, ...]:
    """PC602 for a long request whose ``model`` caches by marks; ``text`` is that of the whole module."""
    name = literal(model)
    facts = find_model(name) if name else None
    if facts is None or facts.control != "marks" or facts.min_tokens is None or _MARKS.search(text):
        return ()
    heads = (segment for segment in segments if segment.role in {"system", "tool"})
    parts = (part for segment in heads for part in flatten(segment.parts))
    characters = sum(len(part.text) for part in parts if isinstance(part, Text))
    if characters / _MOST_CHARS_PER_TOKEN < facts.min_tokens:
        return ()
    says = f"{facts.name} caches only up to a breakpoint, and there is none."
    return (Practice("PC602", Severity.WARNING, place, says),)
