"""What a request's breakpoints and cache key leave uncached, although nothing about them is refused.

Judges one body: how far the marks reach, and whether the key divides what could be shared. Speaks of marks
only for models that cache nothing else.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from promptcache.check_finding import CheckFinding
from promptcache.detectors import find_volatile
from promptcache.divergence.evidence import excerpt
from promptcache.providers import LOOKBACK_BLOCKS
from promptcache.segments import newest_turn_start

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from promptcache.providers import ModelFacts
    from promptcache.segments import Segment

__all__ = ["fine_keys", "out_of_reach"]

_MOST_CHARS_PER_TOKEN: Final = 5.0
"""The thinnest text there is; above it a stretch surely has the tokens."""
_CERTAINLY_MUCH: Final = 4096
"""Tokens; used where a model's own minimum is not known."""
_KEYS: Final = ("prompt_cache_key", "cache_salt")
_FINE: Final = {"PC101": "a time", "PC102": "an id", "PC104": "a user"}
_FINE_TEXTS: Final = (
    ("a user", re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", re.ASCII)),
    ("a time", re.compile(r"(?<![0-9A-Za-z])1[5-9]\d{8}(?:\d{3})?(?![0-9A-Za-z])")),
)
"""E-mail addresses, and seconds or milliseconds since 1970 for the years 2017 to 2033."""


def out_of_reach(
    body: Mapping[str, Any], segments: Sequence[Segment], facts: ModelFacts | None
) -> Iterator[CheckFinding]:
    """Yield PC602 for much history behind the last mark, PC605 for a turn that jumps over the last entry."""
    if facts is None or facts.control != "marks" or not segments:
        return
    marked = [place for place, segment in enumerate(segments) if segment.breakpoint is not None]
    if isinstance(body.get("cache_control"), dict):
        marked.append(len(segments) - 1)
    if not marked:
        return
    newest = newest_turn_start(segments)
    tail = segments[max(marked) + 1 : newest]
    tokens = sum(len(segment.text) for segment in tail) / _MOST_CHARS_PER_TOKEN
    if tokens >= (facts.min_tokens or _CERTAINLY_MUCH):
        message = f"history of at least {round(tokens)} tokens stands behind the last breakpoint."
        yield CheckFinding("PC602", tail[-1].path, message, "warning")
    yield from _jump(segments, marked, newest)


def _jump(segments: Sequence[Segment], marked: Sequence[int], newest: int) -> Iterator[CheckFinding]:
    """The previous request ended before the newest answer; its entry must be near the next mark."""
    while newest and segments[newest - 1].role == "assistant":
        newest -= 1
    end = newest - 1
    if end < 0 or segments[end].kind != "message":
        return
    mark = min((place for place in marked if place >= end), default=end)
    if mark - end >= LOOKBACK_BLOCKS:
        message = (
            f"{mark - end} blocks since the previous request's end at {segments[end].path}; a provider looks "
            f"back {LOOKBACK_BLOCKS}."
        )
        yield CheckFinding("PC605", segments[mark].path, message, "warning")


def fine_keys(body: Mapping[str, Any]) -> Iterator[CheckFinding]:
    """Yield PC607 where a cache key or salt holds a time, a request's id or a user."""
    for name in _KEYS:
        key = body.get(name)
        if isinstance(key, str) and (found := _too_fine(key)):
            what, text = found
            message = f"{excerpt(text, 0)!r} looks like {what}: equal prefixes would not share a cache."
            yield CheckFinding("PC607", name, message, "warning")


def _too_fine(key: str) -> tuple[str, str] | None:
    for what, pattern in _FINE_TEXTS:
        if match := pattern.search(key):
            return what, match.group()
    spans = (span for span in find_volatile(key) if span.code in _FINE)
    return next(((_FINE[span.code], span.text) for span in spans), None)
