"""Names of a cache that the gateway puts in itself, where an operator asks for it: no caller changes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_gateway.observe.settings import CACHE_NAMES

if TYPE_CHECKING:
    from promptcache_gateway.observe.comparison import Comparison
    from promptcache_gateway.observe.evidence import Evidence
    from promptcache_gateway.observe.prompt import Prompt

KEY_CHANGED = "PC607"


def own_key_changed(comparison: Comparison) -> str | None:
    """The key or salt that is another than before, where the gateway put it in; None where a caller did."""
    earlier, later = comparison.earlier, comparison.later
    changed = {name for name in CACHE_NAMES if earlier.parameters.get(name) != later.parameters.get(name)}
    if any(_is_callers(prompt, name) for prompt in (earlier, later) for name in changed):
        return None  # one that a caller leaves out or brings along is a caller's change, too
    return min(changed, default=None)


def follows_from_first_message(comparison: Comparison) -> bool:
    """Whether a key may be another only because the first message is, which a conversation's is made from.

    A caller cut the conversation off at its front, or edited what it begins with.
    """
    if not comparison.broken or not comparison.same_conversation:
        return False
    return _first_message(comparison.earlier) != _first_message(comparison.later)


def _first_message(prompt: Prompt) -> list[str]:
    messages = prompt.segments[prompt.head :]
    return [segment.text for segment in messages if segment.message == messages[0].message]


def _is_callers(prompt: Prompt, name: str) -> bool:
    return prompt.parameters.get(name) is not None and name not in prompt.own


def is_of_another_place(evidence: Evidence) -> bool:
    """Whether the key or salt that changed is the gateway's own for another upstream."""
    match, comparison = evidence.match, evidence.comparison
    if match is None or match.predecessor is None or comparison is None:
        return False
    return match.predecessor.upstream != evidence.route[0] and own_key_changed(comparison) is not None


def said_of(name: str) -> str:
    """What is said of a change of it."""
    return f"The gateway's own {name} is another than before, as [mutations] has it"
