"""What remembered values take up in memory, so that a memory can be bounded by all that it keeps.

A prompt's offsets count its texts only: what is sent around them (settings, marks, a message's other fields)
can be larger than they are. Which bounds hold is each memory's own business.
"""

from __future__ import annotations

from sys import getsizeof
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from promptcache.segments import Segment

_SHORT = 64
_NUMBERS = frozenset({bool, int, float})


def held_bytes(value: object) -> int:
    """Bytes that a decoded JSON value takes up, however deep it is nested."""
    total, left = 0, [value]
    while left:
        one = left.pop()
        total += getsizeof(one)
        if isinstance(one, dict):
            left += one.keys()
            left += one.values()
        elif isinstance(one, (list, tuple)):
            left += one
    return total


def settings_bytes(settings: Mapping[str, Any]) -> int:
    """Bytes that the values of settings take up; a name, a number or a short word is nothing to speak of."""
    return sum([held_bytes(value) for value in settings.values() if not _is_short(value)])


def beside_texts(segments: Iterable[Segment]) -> int:
    """Bytes that segments hold beside their texts: a message's other fields, and marks."""
    return sum(
        [
            getsizeof(one.extra) + held_bytes(one.breakpoint)
            for one in segments
            if one.extra or one.breakpoint is not None
        ]
    )


def _is_short(value: object) -> bool:
    return value is None or type(value) in _NUMBERS or (type(value) is str and len(value) <= _SHORT)
