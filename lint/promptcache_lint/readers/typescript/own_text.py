"""What a text says for itself: how many words are its own, and whether it begins like a prompt."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache_lint.exposure import count_words
from promptcache_lint.prompts import Text, flatten
from promptcache_lint.readers.python.values import Str
from promptcache_lint.wording import opens_like_prompt

if TYPE_CHECKING:
    from promptcache_lint.readers.python.values import Value

__all__ = ["ENOUGH_WORDS", "is_headed", "opens", "own_words"]

ENOUGH_WORDS = 3
"""Words of its own that make a text more than a label."""
_HEADING = re.compile(r"\s*#{1,3} \S")


def own_words(value: Str) -> int:
    """How many words of its own a text holds, as far as it takes to know that they are enough."""
    words = 0
    for part in flatten(value.parts):
        if isinstance(part, Text):
            words += count_words(part.text[:200])
            if words >= ENOUGH_WORDS:
                break
    return words


def opens(value: Value) -> bool:
    """Whether a text begins the way prompts do."""
    return isinstance(value, Str) and opens_like_prompt(_start(value))


def is_headed(value: Str) -> bool:
    """Whether a text begins with a Markdown heading."""
    return _HEADING.match(_start(value)) is not None


def _start(value: Str) -> str:
    return value.parts[0].text if value.parts and isinstance(value.parts[0], Text) else ""
