"""Whether a text goes on with a conversation that stands in front of it, and so is its newest message.

"The above messages contain the steps …" is no head of a prompt, and nothing behind it is sent again. A text
that speaks of the model's last answer may be one, or a request with that answer in it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Hole, Text, flatten

if TYPE_CHECKING:
    from promptcache_lint.prompts import Segment

__all__ = ["goes_on", "may_go_on"]

_ABOVE = re.compile(
    r"\b(?:above|preceding|foregoing) (?:messages|conversation|dialog(?:ue)?|discussion|turns)\b"
    r"|\b(?:messages|conversation|dialog(?:ue)?|discussion) (?:above|so far)\b"
    r"|\b(?:recall|remember) (?:that )?(?:we|you) (?:are|were|have)\b",
    re.IGNORECASE,
)
_TALK = re.compile(r"conversation|transcript|dialog|history|messages|chat|turns", re.IGNORECASE)
_ANSWER = (
    r"(?:draft|attempt|answer|response|reply|output|version|change|result|work|solution|step|message|turn"
    r"|analysis|plan)"
)
_BEFORE = re.compile(
    rf"\byou(?:r|'ve| have)? (?:previous(?:ly)?|last|earlier|prior|initial|first|own) {_ANSWER}"
    r"|\byour (?:draft|attempt)\b"
    r"|\b(?:draft|answer|response|attempt|output) to (?:review|revise|improve|critique|evaluate)\b"
    r"|\brevise the (?:draft|answer|response)\b",
    re.IGNORECASE,
)


def goes_on(segment: Segment) -> bool:
    """Whether a text of no known role says that the conversation stands above it, and not in it."""
    if segment.role not in {"prompt", "user"} or not _says(_ABOVE, segment):
        return False
    holes = (part for part in flatten(segment.parts) if isinstance(part, Hole))
    return not any(_TALK.search(hole.words or hole.label) for hole in holes)


def may_go_on(segment: Segment) -> bool:
    """Whether a text speaks of what the model has answered before ("your previous draft")."""
    return _says(_BEFORE, segment)


def _says(pattern: re.Pattern[str], segment: Segment) -> bool:
    return any(isinstance(part, Text) and pattern.search(part.text) for part in flatten(segment.parts))
