"""How methods are called that hand out the last messages of a store, in any language."""

from __future__ import annotations

import re
from functools import lru_cache

from promptcache_lint.rulebook import in_words

__all__ = ["MANY_RUNS", "NEXT_TO_NOTHING", "hands_out", "is_length"]

NEXT_TO_NOTHING = 2
"""So many messages, the newest exchange, hold nothing that would be worth keeping."""
MANY_RUNS = 50
"""As many exchanges few conversations ever reach."""
_GETTER = re.compile(
    r"a?(?:get|load|fetch|read|retrieve|recall|list|take)_(?:\w+_)?(?:history|messages|msgs|turns|conversation|exchanges)"
    r"(?:_for_\w+)?|(?:recent|last|latest)_(?:history|messages|msgs|turns|exchanges)"
)
_LENGTH = re.compile(
    r"(?:max|num|n|last|limit|recent|message|history|turn)s?(?:_(?:n|messages|msgs|turns|history|length|limit|count))?"
    r"|k|window(?:_size)?|count"
)


@lru_cache(maxsize=8192)
def hands_out(method: str) -> bool:
    """Whether a method, by its name, gives the messages of a conversation."""
    return _GETTER.fullmatch(in_words(method)) is not None


def is_length(name: str, value: object) -> bool:
    """Whether an argument (``name``: empty where it has none) says that only a few messages are wanted."""
    few = type(value) is int and 1 < value < MANY_RUNS
    return few and (not name or _LENGTH.fullmatch(in_words(name)) is not None)
