"""Whether instructions were changed once, as a new version of a program does, or are others now and again.

A text that stood still over several requests and then reads otherwise was edited: nothing in it is dynamic,
and what the new version costs is paid once. Where a third version is in memory, or the earlier one had hardly
been sent, that is not known. How the texts differ is the SDK's finding.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptcache_gateway.observe.prompt import Prompt

Deploy = Literal["none", "new", "known"]
"""What is known of other instructions: nothing; changed once, this request is the first; others had them."""

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
    heads = [_head(one) for one in islice(recent, _RECENT)]
    if heads.count(old) < _STEADY or any(head not in {old, new} for head in heads):
        return "none"
    return "known" if new in heads else "new"


def _head(prompt: Prompt) -> int:
    return prompt.masked[prompt.head]
