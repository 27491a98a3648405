"""Whether a request sums an earlier conversation up: its last message asks for that, and all of it is there.

Words alone show nothing: customers have invoices summarized, tables made more compact, and tools return what
they like. What becomes of the instructions in front is `head`'s business.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache.segments import Segment

__all__ = ["sums_up"]

_OPENING, _ENDING = 2_000, 600  # characters of a message in which it says what it asks for
_ASKING = frozenset({"user", "system", "developer"})
_TOOL_RESULT = '"tool_result"'
_VERB = r"(?:sum(?:ming)? up|summari[sz](?:e|ing)|recap|condens(?:e|ing)|compact(?:ing)?|compress|distill?)"
_WHICH = (
    r"(?:(?:the|this|that|these|our|all|of|in|detail|briefly|entire|whole|full|complete|above|following|previous"
    r"|preceding|earlier|existing|current|lines|contents?|between|user|assistant|customer|support|agent|new"
    r"|chat|and|key|main|points)\s+){0,7}"
)
_TALK = (
    r"(?:conversations?|chats?|dialog(?:ue)?s?|discussion|session|transcript|thread|exchange|interaction|context"
    r"|messages|history(?!\s+of\b))\b"
)
_ALL = (
    r"(?:above\s*(?:[.!?:\n]|$)|what\s+(?:follows|was\s+said|has\s+been\s+said|happened|we\s+(?:have\s+)?"
    r"(?:said|discussed|done|talked))\b|everything\s+(?:above|so\s+far|said|until\s+now|we)\b)"
)
_SUM_UP = re.compile(
    rf"\b{_VERB}\s+{_WHICH}(?:{_TALK}|{_ALL})"
    rf"|\b(?:summary|recap|synopsis|digest)\s+(?:of|for|from)\s+{_WHICH}(?:{_TALK}|{_ALL})"
    r"|\b(?:context|conversation|chat|history)[ -](?:checkpoint|compaction|compression|condensation)\b"
    r"|\b(?:conversation|chat|handoff|hand-off)[ -]summary\b"
    r"|\bsummary\b[^.!?\n]{0,60}\bmessages\s+above\b",
    re.IGNORECASE,
)
_BARE = re.compile(
    rf"\s*(?:(?:please|now|ok|okay|can\s+you|could\s+you)\W+)*{_VERB}"
    r"(?:\W+(?:now|please|briefly|everything|all))*\W*",
    re.IGNORECASE,
)


def sums_up(old_talk: Sequence[Segment], new_talk: Sequence[Segment]) -> bool:
    """Whether the later conversation asks for a summary of the earlier one, which stands in it as a whole."""
    if len(old_talk) < 2 or not new_talk:
        return False
    asked = _asked_last(new_talk)
    if _BARE.fullmatch(asked[:_OPENING]) is None and not (
        _SUM_UP.search(asked[:_OPENING]) or _SUM_UP.search(asked[-_ENDING:])
    ):
        return False
    return _stands_in(old_talk, new_talk)


def _asked_last(talk: Sequence[Segment]) -> str:
    """What the newest message says, behind which an answer may have been begun; "" of what tools say."""
    end = len(talk)
    while end and talk[end - 1].role == "assistant":
        end -= 1
    if not end or talk[end - 1].role not in _ASKING:
        return ""
    newest = talk[end - 1].message
    said = [segment.body for segment in talk[:end] if segment.message == newest]
    return "\n".join(text for text in said if not (text.startswith("{") and _TOOL_RESULT in text))


def _stands_in(old_talk: Sequence[Segment], new_talk: Sequence[Segment]) -> bool:
    """Whether a conversation is said again, message by message, or retold in its order within others."""
    said = {segment.body for segment in new_talk}
    missing = [segment.body for segment in old_talk if segment.body not in said]
    everything = "\n".join(segment.body for segment in new_talk) if missing else ""
    at = 0
    for text in missing:  # from where the last one ended, so that a long history is read but once
        found = everything.find(text, at)
        if found < 0:
            return False
        at = found + len(text)
    return True
