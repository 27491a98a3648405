"""What of a request's tools and instructions would have matched an earlier one's but for an edit.

A segment is held against the earlier one that it may be an edit of: a tool against that in its place, the
instructions against the instructions however many tools there are. What a difference means is `comparison`'s
business.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from promptcache_gateway.observe.likeness import (
    SIMILAR,
    TRIVIAL_CHARS,
    is_drift,
    is_edit,
    is_respelled,
    kept_behind,
    standing_behind,
    stands_whole,
)
from promptcache_gateway.observe.pieces import byte_length
from promptcache_gateway.observe.standing import INSTRUCTIONS_CHARS, VALUE_CHARS, standing
from promptcache_gateway.observe.texts import common_prefix, shared_ends

if TYPE_CHECKING:
    from promptcache.segments import Segment
    from promptcache_gateway.observe.masking import Masker
    from promptcache_gateway.observe.prompt import Prompt


def ends_anew(earlier: Prompt, later: Prompt, at: int) -> bool:
    """Whether instructions are the same up to what ends them, and nothing that was there before is behind it.

    Documents or a memory at the end of a system prompt cost only themselves, and are never the same anyway.
    """
    one, other = earlier.segments[at], later.segments[at]
    return not (_ends_with(one, other) or broke_off(one, other) or _goes_on(earlier, later, at, at))


def broke_off(one: Segment, other: Segment) -> bool:
    """Whether two texts part at a value, or in how they are written, and go on with what stands in both."""
    return is_behind_value(one, other) or (
        one.kind == other.kind
        and one.role == other.role
        and (is_drift(one.text, other.text) or is_respelled(one, other))
    )


def is_behind_value(one: Segment, other: Segment) -> bool:
    """Whether two texts part at a value and go on with what stands in both."""
    if one.kind != other.kind or one.role != other.role:
        return False
    return standing(one.text, other.text).of_value


def _goes_on(earlier: Prompt, later: Prompt, before: int, at: int) -> bool:
    """Whether anything behind segment ``at``, ``before`` in the earlier request, was behind it there too."""
    behind = set(earlier.keys[before + 1 :])
    return any(later.keys[index] in behind for index in range(at + 1, min(later.turn, len(later.keys))))


def stands_in_head(earlier: Prompt, later: Prompt, at: int, masker: Masker) -> bool:
    """Whether most of the tools and instructions behind a difference stand in the earlier ones, edited too.

    Tools come and go, and so does the line of the instructions that names them.
    """
    whole = min(
        earlier.offsets[max(at, earlier.head)] - earlier.offsets[at],
        later.offsets[max(at, later.head)] - later.offsets[at],
    )
    if not whole:
        return False
    known = Counter(earlier.keys[at : earlier.head])
    passed = earlier.segments[at].kind == later.segments[at].kind  # what differs here is not behind itself
    size = 0
    for index in range(at, later.head):
        if known[later.keys[index]] > 0:
            known[later.keys[index]] -= 1
            size += bytes_of(later, index)
        elif index > at or not passed:
            size += had_it_been_equal(earlier, later, index, masker)
    return size >= max(whole * SIMILAR, TRIVIAL_CHARS)


def had_it_been_equal(earlier: Prompt, later: Prompt, index: int, masker: Masker) -> int:
    """Bytes of a segment that would have matched had the caller not edited it; 0 where it is another."""
    before = counterpart(earlier, later, index)
    if before is None:
        return 0
    one, other = earlier.segments[before], later.segments[index]
    if one.path.startswith("prompt"):
        kept = kept_behind(one.text, other.text)
        return byte_length(other.text[: min(kept, len(one.text))])
    in_head = index < later.head
    if not is_edit(one, other, masker) and not (
        one.role == other.role and stands_whole(one.body, other.body)
    ):
        return _standing_bytes(one, other) if in_head else 0
    start = common_prefix(one.text, other.text)
    if start == min(len(one.text), len(other.text)):  # grown or cut at its end: nothing of it is lost
        return byte_length(other.text[:start])
    own = min(earlier.offsets[before + 1] - earlier.offsets[before], bytes_of(later, index))
    if not in_head or _goes_on(earlier, later, before, index) or _ends_with(one, other):
        return own
    found = standing(one.text, other.text)
    return min(own, byte_length(other.text[: max(start, found.until) if found.of_value else start]))


def counterpart(earlier: Prompt, later: Prompt, index: int) -> int | None:
    """Where the earlier request has what a segment may be an edit of: a tool, an instruction, a message."""
    before = index
    if index >= later.head:
        before += earlier.head - later.head
    elif later.segments[index].kind != "tool":
        before += _tools(earlier) - _tools(later)
    return before if 0 <= before < len(earlier.segments) else None


def _tools(prompt: Prompt) -> int:
    return sum(segment.kind == "tool" for segment in prompt.segments[: prompt.head])


def bytes_of(prompt: Prompt, index: int) -> int:
    """Bytes that a segment stands for, its markup included."""
    return prompt.offsets[index + 1] - prompt.offsets[index]


def _ends_with(one: Segment, other: Segment) -> bool:
    """Whether both end alike behind what differs, or differ in how they are written only.

    Behind long texts of their own, two may end in the same few sentences by chance.
    """
    start, end = shared_ends(one.text, other.text)
    differing = max(len(one.text), len(other.text)) - start - end
    least = TRIVIAL_CHARS if differing <= VALUE_CHARS else INSTRUCTIONS_CHARS
    return end >= least or is_drift(one.text, other.text) or is_respelled(one, other)


def _standing_bytes(one: Segment, other: Segment) -> int:
    """Bytes of instructions that stand in both behind a difference, though most of both texts is another."""
    if one.kind != other.kind or one.role != other.role:
        return 0
    text, behind = other.text, standing_behind(one, other)
    found = standing(one.text, text)
    passages = text[found.until - found.chars : found.until] if found.of_value else ""
    return max(byte_length(text[len(text) - behind :]) if behind else 0, byte_length(passages))


def kept_until(earlier: Prompt, later: Prompt) -> int:
    """Bytes of the later request up to where the last text ends that could have been read.

    Instructions behind which no history stands may end with what is new in every request: that costs nothing.
    """
    end = min(later.turn, len(later.segments))
    known = set(earlier.keys)
    for index in range(end - 1, -1, -1):
        own, before = later.segments[index], counterpart(earlier, later, index)
        if index >= later.head or own.path.startswith("prompt") or later.keys[index] in known:
            break
        if before is not None and (reach := _reach(earlier.segments[before], own)):
            return later.offsets[index] + byte_length(own.text[:reach])
        end = index
    return later.offsets[end]


def _reach(one: Segment, other: Segment) -> int:
    """Where in ``other`` the last text ends that ``one`` has too, as far as they are one text."""
    if one.kind != other.kind or one.role != other.role:
        return 0
    if _ends_with(one, other):
        return len(other.text)
    found = standing(one.text, other.text)
    return max(common_prefix(one.text, other.text), found.until if found.of_value else 0)
