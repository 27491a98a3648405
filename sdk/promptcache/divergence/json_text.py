"""Evidence in JSON: texts that hold the same value, written in another way.

Finds the JSON value around a difference on both sides and compares what it says: key order (PC201), array
order (PC202 to PC204), the way numbers are written (PC205).
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from promptcache.divergence.evidence import Finding, looks_like_files

if TYPE_CHECKING:
    from promptcache.divergence.change import Change

__all__ = ["json_finding", "same_json"]

_OPENING = re.compile(r"[{\[]")
_DECODER = json.JSONDecoder()
_BRACKETS = re.compile(r'"(?:[^"\\\n]|\\.)*"|[{}\[\]]')
_OPENINGS_TRIED = 16
_COUNTED = '0123456789aeionrst"{['
_REACH = 100_000
_READ_AT_MOST = 320_000  # characters, in all that is tried


def json_finding(change: Change) -> Finding | None:
    """Name the way in which the JSON values around the first difference differ.

    None when they say different things, or when there is no JSON of a readable size around it.
    """
    for start in _openings(change.before, change.offset):
        first, second = (_value_at(text, start, change.offset) for text in (change.before, change.after))
        if first is None or second is None:
            continue
        code = _difference(*first, *second)
        if code:
            return Finding(code)
    return None


def same_json(before: str, after: str) -> bool:
    """Whether both texts are JSON and mean the same value."""
    try:
        return bool(_typed(json.loads(before)) == _typed(json.loads(after)))
    except (ValueError, RecursionError):
        return False


def _openings(text: str, offset: int) -> list[int]:
    """Where a JSON value that spans ``offset`` may start: outer before inner, then whatever is near.

    Text in front of it may hold a quotation mark or a bracket of its own, which hides what is around.
    """
    floor = max(0, offset - _REACH)
    most = max(2, min(_OPENINGS_TRIED, _READ_AT_MOST // max(len(text), 1)))
    around = _enclosing(text, floor, offset)
    near = [match.start() for match in _OPENING.finditer(text, floor, offset + 1)][-most:]
    own = [0] if text[:1] in {"{", "["} else []
    return list(dict.fromkeys([*own, *around[:most], *around[-most:], *near]))


def _enclosing(text: str, floor: int, offset: int) -> list[int]:
    """The brackets that are open at a place."""
    opened: list[int] = []
    for match in _BRACKETS.finditer(text, floor, offset + 1):
        mark = match.group()
        if mark in "{[":
            opened.append(match.start())
        elif mark in "}]" and opened:
            opened.pop()
    return opened


def _value_at(text: str, start: int, offset: int) -> tuple[Any, str] | None:
    """The object or array that starts at ``start`` and its text, if it reaches beyond ``offset``."""
    try:
        value, end = _DECODER.raw_decode(text[start : offset + _REACH])
    except (ValueError, RecursionError):
        return None
    return (value, text[start : start + end]) if start + end > offset else None


def _difference(first: Any, one: str, second: Any, other: str) -> str | None:
    if first == second:
        return "PC201" if _typed(first) == _typed(second) else "PC205"
    if _same_characters(one, other) and _unordered(first) == _unordered(second):
        return _shuffled_by(first, second)
    return None


def _same_characters(one: str, other: str) -> bool:
    """Whether one text may be the other in another order; asked first, for to look for that takes long."""
    return len(one) == len(other) and all(one.count(mark) == other.count(mark) for mark in _COUNTED)


def _shuffled_by(first: Any, second: Any) -> str:
    """Guess from the first shuffled array what shuffled it: a listing, a collection of rows, a set."""
    shuffled = _first_shuffled(first, second) or []
    if all(isinstance(item, dict | list) for item in shuffled):
        return "PC204"
    return "PC203" if looks_like_files(str(item) for item in shuffled) else "PC202"


def _first_shuffled(first: Any, second: Any) -> list[Any] | None:
    if isinstance(first, dict) and isinstance(second, dict):
        pairs = [(item, second.get(key)) for key, item in first.items()]
    elif isinstance(first, list) and isinstance(second, list):
        if _unordered(first) == _unordered(second) and [*map(_unordered, first)] != [
            *map(_unordered, second)
        ]:
            return first
        pairs = list(zip(first, second, strict=False))
    else:
        return None
    return next((found for pair in pairs if (found := _first_shuffled(*pair))), None)


def _typed(value: Any) -> Any:
    """Make 1, 1.0 and true differ, and leave objects without order."""
    if isinstance(value, dict):
        return {key: _typed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_typed(item) for item in value]
    return (type(value).__name__, value)


def _unordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _unordered(item) for key, item in value.items()}
    if isinstance(value, list):
        return sorted(json.dumps(_unordered(item), sort_keys=True) for item in value)
    return value
