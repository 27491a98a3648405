"""Whether instructions were changed once, as a new version of a program does, or are others now and again.

A text that stood still over several requests and then reads otherwise was edited: nothing in it is dynamic,
and what the new version costs is paid once, by each conversation that was under way. A conversation that
began with the earlier text when the new one was already there, and then went over to it, was changed by its
caller. Where a third version is in memory, or the earlier one had hardly been sent, nothing is known. How the
texts differ is the SDK's finding.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptcache_gateway.observe.prompt import Prompt

Deploy = Literal["none", "new", "known", "switched"]
"""What is known of other instructions: nothing; changed once, this request is the first; others had them; the
conversation went over to some that others had when it began."""

_RECENT = 64
_STEADY = 3


def deploy_of(prompt: Prompt, best: Prompt, recent: Iterable[Prompt]) -> Deploy:
    """Whether a request's instructions are its predecessor's, changed once; volatile values do not count.

    Args:
        prompt: the new request.
        best: its predecessor.
        recent: requests of the same family, the last one first.
    """
    new, old = _head(prompt), _head(best)
    if new == old:
        return "none"
    seen = list(recent)
    heads = [_head(one) for one in islice(seen, _RECENT)]
    if heads.count(old) < _STEADY or any(head not in {old, new} for head in heads):
        return "none"
    first = max((place for place, one in enumerate(seen) if _head(one) == new), default=None)
    if first is None:
        return "new"
    return "known" if _was_under_way(prompt, best, seen[first], seen[first + 1 :]) else "switched"


def _was_under_way(prompt: Prompt, best: Prompt, first: Prompt, before: Iterable[Prompt]) -> bool:
    """Whether a conversation had begun before the first request with its new instructions, or is none.

    Messages that this request has too are examples, or show that the conversation had gone over already.
    """
    own = set(prompt.messages).difference(first.messages)
    if own.isdisjoint(best.messages):
        return True
    return any(not own.isdisjoint(one.messages) for one in before)


def _head(prompt: Prompt) -> int:
    return prompt.masked[prompt.head]
