"""Messages that every request of a template puts before its question: examples, a context, a first rule.

They are sent again with each question, by requests that do not go on from each other. A value in them makes
all new that stands behind it, as it does in instructions. Two conversations have such messages only by
chance, so all of them must be the same but for values that a detector knows, with much static text behind.
What a provider read of them is `verdict`'s business.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache.detectors import classify_change
from promptcache.divergence.change import Change
from promptcache.divergence.text import volatile_findings
from promptcache_gateway.observe.likeness import is_drift, is_respelled
from promptcache_gateway.observe.texts import shared_ends

if TYPE_CHECKING:
    from promptcache.segments import Segment
    from promptcache_gateway.observe.masking import Masker
    from promptcache_gateway.observe.prompt import Prompt

_STATIC_CHARS = 512
"""So much of static text must stand behind a value: canned answers and buttons are shorter."""
_VALUE_CHARS = 80
_OF_THE_USER = "PC104"
_IDENTIFIER = "PC102"
_RECORD = re.compile(
    r"\b(?:ticket|order|case|issue|claim|booking|reservation|invoice|parcel|shipment|contract|policy|account|customer"
    r"|patient|application|document|record)\b[\w .:#\"'=-]*$",
    re.IGNORECASE,
)
_LABEL_CHARS = 60
_ANSWERING = frozenset({"assistant", "tool", "function"})
_CALL = re.compile(r'"type":"[a-z_]*(?:tool_use|function_call|_call)"')


def is_preamble_again(earlier: Prompt, later: Prompt, masker: Masker) -> bool:
    """Whether the messages before both newest turns are the same but for volatile values before static text.

    An answer and a call of the model's are its own, so they are the same to the letter. Data of the user's
    belong to a conversation: another user's is another one.
    """
    one, other = (prompt.segments[prompt.head : prompt.turn] for prompt in (earlier, later))
    if not one or len(one) != len(other):
        return False
    pairs = list(zip(one, other, strict=True))
    changed = [at for at, (before, after) in enumerate(pairs) if not _same(before, after)]
    if not changed or not all(_is_value(*pairs[at], masker) for at in changed):
        return False
    if all(_of_its_own(*pairs[at]) for at in changed) and not any(
        after.role == "user" and _same(before, after) for before, after in pairs
    ):
        return False
    recorded = any(_is_call(after) for _, after in pairs)
    return _static_behind(pairs[changed[0] :], recorded=recorded) >= _STATIC_CHARS


def _is_call(segment: Segment) -> bool:
    if segment.role != "assistant":
        return False
    return ".tool_calls[" in segment.path or (
        segment.body.startswith("{") and _CALL.search(segment.body) is not None
    )


def _same(before: Segment, after: Segment) -> bool:
    return before.text == after.text and before.extra == after.extra


def _is_value(before: Segment, after: Segment, masker: Masker) -> bool:
    """Whether a message is the same one with other values in it, or written in another way."""
    if (before.kind, before.role, before.extra) != (after.kind, after.role, after.extra):
        return False
    if after.role == "assistant":
        return False
    if _is_rewritten(before, after):
        return True
    if masker.key(before.text) != masker.key(after.text) and not _is_one_value(before.body, after.body):
        return False
    codes = {found.code for found in volatile_findings(Change.between(before.body, after.body))}
    return bool(codes) and _OF_THE_USER not in codes


def _of_its_own(before: Segment, after: Segment) -> bool:
    """Whether a user's messages differ in what they are about only: a ticket, or an order, by its identifier.

    That belongs to what is asked, as a form does that is filled in, unless other words of a user's stand
    beside it in every request.
    """
    if after.role != "user" or _is_rewritten(before, after):
        return False
    found = volatile_findings(Change.between(before.body, after.body))
    if {one.code for one in found} != {_IDENTIFIER}:
        return False
    start = shared_ends(before.body, after.body)[0]
    return _RECORD.search(after.body[max(0, start - _LABEL_CHARS) : start]) is not None


def _is_one_value(before: str, after: str) -> bool:
    """Whether two texts differ in one place only, in a value that is known by its label."""
    start, end = shared_ends(before, after)
    if max(len(before), len(after)) - start - end > _VALUE_CHARS:
        return False
    return classify_change(before, after, start) is not None


def _static_behind(pairs: list[tuple[Segment, Segment]], *, recorded: bool) -> int:
    """Characters of equal text behind the first value.

    Answers count where calls of the model's are the same to their ids, so that it is one and the same talk.
    """
    size = _equal_chars(*pairs[0]) - shared_ends(pairs[0][0].body, pairs[0][1].body)[0]
    counted = (pair for pair in pairs[1:] if recorded or pair[1].role not in _ANSWERING)
    return size + sum(_equal_chars(*pair) for pair in counted)


def _equal_chars(before: Segment, after: Segment) -> int:
    """Characters that stand at both ends of two messages; all, where only the writing is another."""
    if _same(before, after) or _is_rewritten(before, after):
        return len(after.body)
    return sum(shared_ends(before.body, after.body))


def _is_rewritten(before: Segment, after: Segment) -> bool:
    return is_drift(before.text, after.text) or is_respelled(before, after)
