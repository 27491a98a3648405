"""How like two texts are: one edited into the other, one again with a value changed, the same picture.

Measures of characters and pieces only; what likeness means for a request is `comparison`'s business.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from promptcache.divergence.change import Change
from promptcache.divergence.json_text import json_finding
from promptcache.divergence.same_message import result_shape
from promptcache.divergence.text import drift_finding
from promptcache_gateway.observe.extents import is_opaque
from promptcache_gateway.observe.texts import shared_ends

if TYPE_CHECKING:
    from promptcache.segments import Segment
    from promptcache_gateway.observe.masking import Masker

SIMILAR = 0.5
"""Share of a text that must stand on both sides for it to count as the same text, edited."""
TRIVIAL_CHARS = 24
"""Shorter messages recur by chance."""
SAID_CHARS = 8
"""A shorter message ("yes", "thanks") is everybody's."""
_RESPELLED = frozenset({"PC201", "PC202", "PC203", "PC205"})
_OF_JSON = '{}[]"aeionrst'
_SAME_PICTURE = 0.95
_SENTENCE = re.compile(r"[^\n.!?;]*[\n.!?;]\s*|[^\n.!?;]+$")
_INSTRUCTIONS_CHARS = 1_024  # at the end of two texts that are otherwise not alike: no footer is so long


def is_edit(one: Segment, other: Segment, masker: Masker) -> bool:
    """Whether one text is the other, edited: mostly the same once volatile values are masked."""
    if one.kind != other.kind or one.role != other.role:
        return False
    if masker.key(one.text) == masker.key(other.text):
        return True
    longest = max(len(one.text), len(other.text))
    same = ends_alike(one.text, other.text)
    if same >= longest * SIMILAR and same >= TRIVIAL_CHARS:
        return True
    if is_drift(one.text, other.text):
        return True
    pieces, others = Counter(masker.digests(one.text)), Counter(masker.digests(other.text))
    if len(pieces) > 1 and (pieces & others).total() >= max(pieces.total(), others.total()) * SIMILAR:
        return True
    return is_respelled(one, other) or result_shape(one.body, other.body) is not None


def is_drift(one: str, other: str) -> bool:
    """Whether two texts differ in white space, zero-width marks and Unicode forms only, all over."""
    return drift_finding(Change.between(one, other)) is not None


def is_respelled(one: Segment, other: Segment) -> bool:
    """Whether two texts differ in how one JSON value is written: its keys, its sets, its numbers.

    Rows in another order may have been ranked anew, and are other texts.
    """
    if one.kind != other.kind or one.role != other.role:
        return False
    if any(one.text.count(mark) != other.text.count(mark) for mark in _OF_JSON):
        return False
    found = json_finding(Change.between(one.body, other.body))
    return found is not None and found.code in _RESPELLED


def standing_behind(one: Segment, other: Segment) -> int:
    """Characters of instructions that end both texts, behind documents or a profile that are never the same.

    0 where they are too few to be more than a common footer, or where the texts are not of one kind.
    """
    if one.kind != other.kind or one.role != other.role:
        return 0
    _, end = shared_ends(one.text, other.text)
    return end if end >= _INSTRUCTIONS_CHARS else 0


def is_rendering(one: Segment, other: Segment, masker: Masker) -> bool:
    """Whether a message is an earlier one again, with a volatile value or a note of ours changed."""
    if one.role != other.role or min(len(one.text), len(other.text)) < TRIVIAL_CHARS:
        return False
    if masker.key(one.text) == masker.key(other.text):
        return True
    return one.text.startswith(other.text) or other.text.startswith(one.text)


def is_same_picture(one: Segment, other: Segment) -> bool:
    """Whether both are one picture or file, sent whole, with another setting beside it."""
    if one.role != other.role or not (is_opaque(one) and is_opaque(other) and "base64" in other.text):
        return False
    return ends_alike(one.text, other.text) >= max(len(one.text), len(other.text)) * _SAME_PICTURE


def is_reworded(one: str, other: str, masker: Masker) -> bool:
    """Whether half of the longer text stands at the ends of both, or only volatile values differ."""
    return (
        stands_whole(one, other)
        or ends_alike(one, other) >= max(len(one), len(other)) * SIMILAR
        or (masker.key(one) == masker.key(other))
    )


def stands_whole(one: str, other: str) -> bool:
    """Whether the shorter text is the beginning or the end of the longer one."""
    shorter, longer = sorted((one.strip(), other.strip()), key=len)
    return len(shorter) >= SAID_CHARS and (longer.startswith(shorter) or longer.endswith(shorter))


def ends_alike(one: str, other: str) -> int:
    """How many characters both share at their beginning and at their end."""
    return sum(shared_ends(one, other))


def kept_behind(one: str, other: str) -> int:
    """Where in ``other``, behind its first difference from ``one``, the last text ends that both share; or 0.

    A bare prompt has no turns: what changes at its very end is new, and nothing static is lost by it.
    """
    start, suffix = shared_ends(one, other)
    known = {piece for piece in _SENTENCE.findall(one[start:]) if len(piece) >= TRIVIAL_CHARS}
    place = last = start
    same = start
    for piece in _SENTENCE.findall(other[start:]):
        place += len(piece)
        if piece in known:
            last = place
            same += len(piece)
    if suffix >= TRIVIAL_CHARS:
        last, same = len(other), max(same, start + suffix)
    return last if last > start and same >= max(len(one), len(other)) * SIMILAR else 0
