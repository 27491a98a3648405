"""Conversations that are summed up: by a request under another prompt, or gone on with from the summary.

A request that asks for a summary under instructions of its own belongs to another template, where nothing of
its conversation is known; history then names the request of the other template that it was made of, and here
it is compared with that one if it is a compaction for certain, and in no other case.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache.divergence import compare_segments

if TYPE_CHECKING:
    from promptcache_gateway.observe.history import Match
    from promptcache_gateway.observe.prompt import Prompt

COMPACTION = "PC506"

_GOES_ON = re.compile(
    r"\b(?:continued from|summary (?:of|so far)|compacted|previous conversation"
    r"|(?:our|the|this|earlier) (?:conversation|session|chat) (?:so far|until now|is being continued))\b",
    re.IGNORECASE,
)
_OPENING_CHARS = 400
_WORTH_BYTES = 4_096  # of instructions: about 1,024 tokens, which every provider keeps
_TALK = 3  # messages that a conversation has when somebody sums it up


def of_another_template(prompt: Prompt, match: Match) -> Match:
    """What a request is to be compared with: another template's request where it sums that one up.

    Not where another model is asked for the summary: that one's cache never held the conversation. Nor where
    its own template is in the cache, with the same conversation or with long instructions: then it goes on
    from that.
    """
    other = match.elsewhere
    if other is None or other.predecessor is None or _has_its_own(match, prompt):
        return match
    earlier = other.predecessor.prompt
    if earlier.parameters.get("model") != prompt.parameters.get("model"):
        return match
    found = compare_segments(
        earlier.segments, prompt.segments, earlier_body=earlier.parameters, later_body=prompt.parameters
    )
    return other if COMPACTION in found.causes else match


def _has_its_own(match: Match, prompt: Prompt) -> bool:
    """Whether its own cache holds the beginning of the conversation, or instructions that are worth one."""
    if match.living is None:
        return False
    kept = range(min(match.living_segments, prompt.head))
    own = [at for at in kept if prompt.segments[at].kind != "tool"]
    size = sum(prompt.offsets[at + 1] - prompt.offsets[at] for at in own)
    return match.living_segments > prompt.head or size >= _WORTH_BYTES


def goes_on_from_summary(earlier: Prompt, later: Prompt) -> bool:
    """Whether a conversation begins anew from a summary, under the same instructions as a longer one.

    Which conversation was summed up nobody can tell from the summary; that one was, its words say.
    """
    talked, size = len(earlier.segments) - earlier.head, len(later.segments) - later.head
    if talked < max(_TALK, size) or size < 1:
        return False
    if earlier.segments[: later.head] != later.segments[: later.head]:
        return False
    talk, before = later.segments[later.head :], earlier.segments[earlier.head :]
    return bool(_GOES_ON.search(talk[0].body[:_OPENING_CHARS])) and not _GOES_ON.search(
        before[0].body[:_OPENING_CHARS]
    )
