"""Whether examples that stand before every question come in another order each time.

They are messages of their own, or lines of the instructions. Examples that are chosen for a question, the
likest first, come in an order of their own as well; what tells the two apart is that a shuffle shows all of
them each time, and retrieval shows others now and then. So several requests are asked, not one. What an order
costs is `comparison`'s business.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING

from promptcache_gateway.observe.texts import common_prefix

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptcache_gateway.observe.prompt import Prompt

_RECENT = 32
_PAIRS = 3
_REQUESTS = 3  # earlier ones with the same examples
_ORDERS = 3  # with the new one's: two are a change that was made once
_TEXTS = 6  # earlier instructions that are looked into
_LABEL = re.compile(r"^[ \t>*-]*([A-Za-z][A-Za-z ]{0,20}):", re.MULTILINE)
_LABELS = 2  # of a question and its answer


def are_shuffled(prompt: Prompt, best: Prompt, recent: Iterable[Prompt]) -> bool:
    """Whether a request has the examples of those before it in another order, as those had.

    Args:
        prompt: the new request.
        best: its predecessor; where that has another set of messages, or the same order, nothing is asked.
        recent: requests of the same family, the last one first.
    """
    if prompt.masked[prompt.head] != best.masked[best.head]:
        return _are_in_text(prompt, best, recent)
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


def _are_in_text(prompt: Prompt, best: Prompt, recent: Iterable[Prompt]) -> bool:
    """The same of examples that are lines of one text among the instructions."""
    at = _differing(prompt, best)
    if at is None or not _moved(best.segments[at].text, prompt.segments[at].text):
        return False
    text = prompt.segments[at].text
    if not _holds_pairs(text):
        return False
    lines, orders = set(text.split("\n")), {text}
    requests = 0
    for earlier in islice(recent, _TEXTS):
        other = earlier.segments[at].text if at < earlier.head else ""
        if len(other) != len(text) or set(other.split("\n")) != lines:
            return False
        orders.add(other)
        requests += 1
    return requests >= _REQUESTS and len(orders) >= _ORDERS


def _differing(prompt: Prompt, best: Prompt) -> int | None:
    """The one text in front of the conversation that differs from the predecessor's; None: there are more."""
    if prompt.head != best.head:
        return None
    differing = [at for at in range(prompt.head) if prompt.keys[at] != best.keys[at]]
    return differing[0] if len(differing) == 1 and prompt.segments[differing[0]].kind != "tool" else None


def _moved(old: str, new: str) -> bool:
    """Whether two texts are as long, and the line in which they part stands elsewhere in the other one."""
    if len(old) != len(new):
        return False
    at = common_prefix(old, new)
    start, end = new.rfind("\n", 0, at) + 1, new.find("\n", at)
    return end > start and new[start : end + 1] in old


def _holds_pairs(text: str) -> bool:
    """Whether lines with the same two labels come again and again: questions with their answers."""
    known = Counter(label[1].lower() for label in _LABEL.finditer(text))
    return sum(times >= _PAIRS for times in known.values()) >= _LABELS


def _messages(prompt: Prompt) -> tuple[int, ...]:
    return prompt.keys[prompt.head : prompt.turn]


def _are_pairs(prompt: Prompt) -> bool:
    """Whether the messages before the newest turn are questions with their answers, no two the same."""
    roles = [segment.role for segment in prompt.segments[prompt.head : prompt.turn]]
    if len(roles) < 2 * _PAIRS or len(roles) % 2 or len(set(_messages(prompt))) < len(roles) // 2:
        return False
    return set(roles[::2]) == {"user"} and set(roles[1::2]) == {"assistant"}
