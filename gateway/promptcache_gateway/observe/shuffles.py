"""Whether examples that stand before every question come in another order each time.

Examples that are chosen for a question, the likest first, come in an order of their own as well; what tells
the two apart is that a shuffle shows all of them each time, and retrieval shows others now and then. So
several requests are asked, not one. What an order costs is `comparison`'s business.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptcache_gateway.observe.prompt import Prompt

_RECENT = 32
_PAIRS = 3
_REQUESTS = 3  # earlier ones with the same examples
_ORDERS = 3  # with the new one's: two are a change that was made once


def are_shuffled(prompt: Prompt, best: Prompt, recent: Iterable[Prompt]) -> bool:
    """Whether a request has the examples of those before it in another order, as those had.

    Args:
        prompt: the new request.
        best: its predecessor; where that has another set of messages, or the same order, nothing is asked.
        recent: requests of the same family, the last one first.
    """
    own, before = _messages(prompt), _messages(best)
    if len(own) != len(before) or own == before or sorted(own) != sorted(before) or not _are_pairs(prompt):
        return False
    orders, known = {own}, set(own)
    requests = 0
    for earlier in islice(recent, _RECENT):
        theirs = _messages(earlier)
        if known.isdisjoint(theirs):
            continue
        if sorted(theirs) != sorted(own):
            return False
        orders.add(theirs)
        requests += 1
    return requests >= _REQUESTS and len(orders) >= _ORDERS


def _messages(prompt: Prompt) -> tuple[int, ...]:
    return prompt.keys[prompt.head : prompt.turn]


def _are_pairs(prompt: Prompt) -> bool:
    """Whether the messages before the newest turn are questions with their answers, no two the same."""
    roles = [segment.role for segment in prompt.segments[prompt.head : prompt.turn]]
    if len(roles) < 2 * _PAIRS or len(roles) % 2 or len(set(_messages(prompt))) < len(roles) // 2:
        return False
    return set(roles[::2]) == {"user"} and set(roles[1::2]) == {"assistant"}
