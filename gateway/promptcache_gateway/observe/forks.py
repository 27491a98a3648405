"""Whether a request branches off from a conversation that it cuts off at its front at the same time.

What its predecessor asked last does not stand in it then, as it does not in a request that is put together
from pieces that recur. But a conversation has grown from request to request: what a request asked that the
predecessor goes on from was said in it, and not drawn for a question. Scripted answers are the same in many
conversations, so several long ones must stand in both.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from promptcache_gateway.observe.likeness import TRIVIAL_CHARS
from promptcache_gateway.observe.lookup import common_depth

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptcache_gateway.observe.prompt import Prompt

_RECENT = 64
_LONG_CHARS = 160  # shorter answers recur because the assistant was told to say them
_LONG = 2


def is_forked(prompt: Prompt, best: Prompt, recent: Iterable[Prompt]) -> bool:
    """Whether a request's history is a part of its predecessor's conversation, without its beginning.

    Args:
        prompt: the new request.
        best: its predecessor; where the two part in front of the messages or in the newest turn, nothing is
            asked.
        recent: requests of the same family, the last one first.
    """
    start = common_depth(best.masked, prompt.masked)
    if best.head != prompt.head or start < prompt.head:
        return False
    kept = prompt.keys[start : prompt.turn]
    if len(kept) < _LONG or not _stands_behind(kept, best.keys, start):
        return False
    return _is_said(prompt, start) and any(
        _grew_into(earlier, best) and _asked(earlier, kept) for earlier in islice(recent, _RECENT)
    )


def _stands_behind(kept: tuple[int, ...], keys: tuple[int, ...], start: int) -> bool:
    """Whether messages stand in a conversation as they are, one behind the other, with others in front."""
    size = len(kept)
    return any(keys[at : at + size] == kept for at in range(start + 1, len(keys) - size + 1))


def _is_said(prompt: Prompt, start: int) -> bool:
    """Whether there are several long texts in a history, and not only a user's."""
    places = range(start, prompt.turn)
    long = {prompt.keys[at]: at for at in places if len(prompt.segments[at].text) >= _LONG_CHARS}
    return len(long) >= _LONG and any(prompt.segments[at].role != "user" for at in long.values())


def _grew_into(earlier: Prompt, later: Prompt) -> bool:
    """Whether all of a request stands at the beginning of another, with more behind it."""
    whole = len(earlier.segments)
    return whole < len(later.segments) and earlier.masked[whole] == later.masked[whole]


def _asked(earlier: Prompt, kept: tuple[int, ...]) -> bool:
    """Whether what a request asked stands in a history, and is more than a word."""
    return any(
        earlier.keys[at] in kept and len(earlier.segments[at].text) >= TRIVIAL_CHARS
        for at in range(earlier.turn, len(earlier.segments))
    )
