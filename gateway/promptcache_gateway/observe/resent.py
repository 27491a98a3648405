"""Whether what a request ended with stands in the next one, written otherwise, with new messages behind it.

The next request of a conversation is all of the one before, the answer and a new turn. Where its last answer
or tool results are trimmed or written anew on the way, little or nothing stands behind them that could show
that both are one conversation; that all before is equal, and that every message has its counterpart, does.
Documents and reminders that go along with a question once and are left out of it later change it, too.
An answer that was made again, and a question asked otherwise, stand in the newest turn or have none behind.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from promptcache_gateway.observe.likeness import (
    SIMILAR,
    TRIVIAL_CHARS,
    ends_alike,
    is_drift,
    is_edit,
    stands_whole,
)
from promptcache_gateway.observe.texts import common_prefix

if TYPE_CHECKING:
    from promptcache.segments import Segment
    from promptcache_gateway.observe.masking import Masker
    from promptcache_gateway.observe.prompt import Prompt

_SAME_ANSWER = 0.9  # of an answer; the same question may be answered in much the same words twice
_JOINTS = ("", "\n", "\n\n", " ")
_CALL_KEYS = ('"tool_call_id":"', '"tool_use_id":"', '"call_id":"')


def is_resent(earlier: Prompt, later: Prompt, at: int, masker: Masker) -> bool:
    """Whether all that ``earlier`` ends with from segment ``at`` on stands in ``later``, edited or not.

    Both are equal before ``at``, which is behind the instructions.
    """
    end = len(earlier.segments)
    if _is_joined(earlier, later, at) or _is_thinned(earlier, later, at):
        return True
    if not at < end <= later.turn - 1 or later.segments[end].role != "assistant":
        return False
    pairs = zip(earlier.segments[at:end], later.segments[at:end], strict=True)
    return all(_is_same(one, other, masker) for one, other in pairs)


def _is_same(one: Segment, other: Segment, masker: Masker) -> bool:
    if one.kind != other.kind or one.role != other.role:
        return False
    if one.text == other.text:
        return True
    if min(len(one.body), len(other.body)) < TRIVIAL_CHARS:
        return False
    if is_drift(one.text, other.text):
        return True
    call = _call_of(one)
    if call:
        return call == _call_of(other) and (is_edit(one, other, masker) or _is_cut(one.body, other.body))
    alike = ends_alike(one.text, other.text)
    return one.role == "assistant" and alike >= max(len(one.text), len(other.text)) * _SAME_ANSWER


def _is_cut(one: str, other: str) -> bool:
    """Whether a result is the other's beginning, with or without a note that there was more."""
    return stands_whole(one, other) or common_prefix(one, other) >= max(len(other) * SIMILAR, TRIVIAL_CHARS)


def _call_of(segment: Segment) -> str:
    """What call a tool's result answers, or nothing; a message of its own stands behind the call itself."""
    if segment.role == "tool":
        return "tool"
    for key in _CALL_KEYS:
        _, found, rest = segment.text.partition(key)
        if found:
            return rest[: rest.find('"')]
    return ""


def _is_joined(earlier: Prompt, later: Prompt, at: int) -> bool:
    """Whether the parts of the last message are one text now."""
    parts = earlier.segments[at:]
    if len(parts) < 2 or not at < later.turn - 1 or later.segments[at + 1].role != "assistant":
        return False
    if any(one.role != other.role for one, other in pairwise((*parts, later.segments[at]))):
        return False
    body = later.segments[at].body
    return len(body) >= TRIVIAL_CHARS and any(
        body == joint.join(part.body for part in parts) for joint in _JOINTS
    )


def _is_thinned(earlier: Prompt, later: Prompt, at: int) -> bool:
    """Whether what was sent last stands in the history now, and something that went along with it does not.

    What is left of it is as it was, in its order, one text of it perhaps without what stood at an end.
    """
    answered = range(len(earlier.segments) - 1, earlier.head - 1, -1)
    start = next((i + 1 for i in answered if earlier.segments[i].role == "assistant"), earlier.head)
    end = next((i for i in range(start, later.turn) if later.segments[i].role == "assistant"), start)
    sent, kept = earlier.segments[start:], later.segments[start:end]
    if not start <= at <= end or not kept:
        return False
    if max(len(part.body) for part in kept) < TRIVIAL_CHARS:
        return False
    rest, cut = iter(sent), 0
    for part in kept:
        before = next((one for one in rest if _holds(one, part)), None)
        if before is None:
            return False
        cut += before.text != part.text
    return cut <= 1 and sum(len(part.body) for part in kept) < sum(len(one.body) for one in sent)


def _holds(one: Segment, part: Segment) -> bool:
    """Whether a text is a part of a message, or one of its ends and worth telling."""
    if (one.kind, one.role) != (part.kind, part.role):
        return False
    if one.text == part.text:
        return True
    known = len(part.body) >= TRIVIAL_CHARS and len(part.body) < len(one.body)
    return known and not _call_of(one) and stands_whole(one.body, part.body)
