"""How a query of a database says that it wants the newest messages of a talk only, in any language."""

from __future__ import annotations

import re

from promptcache_lint.readers.stores import MANY_RUNS

__all__ = ["SAYS", "SHORTEST", "holds_talk", "is_newest_first", "is_window", "last_rows"]

SAYS = "{} reads the newest messages only: from then on every turn begins with another message, and misses."
SHORTEST = 2
"""One row is the last message, and no window."""

_TALK = re.compile(
    r"(?:\w+_)?(?:messages?|msgs?|turns?|history|histories|conversations?|chats?|chat_?logs?|dialogs?|dialogues?"
    r"|exchanges?|interactions?|memory)(?:_(?:log|logs|history|messages|turns|items|entries|table))?",
    re.IGNORECASE,
)
_FROM = re.compile(r"\bfrom\s+[\"`\[]?(?:\w+\.)?[\"`\[]?(\w+)", re.IGNORECASE)
_NEWEST = re.compile(r"\border\s+by\b[^()]*?\bdesc\b[^()]*?\blimit\s+(?P<count>[^\s;)]+)", re.IGNORECASE)
_DESCENDING = re.compile(
    r"\bdesc\(|desc=True|DESCENDING|,-1\)|order_by\(['\"]-|ascending:false|['\"]desc['\"]|:-1\b|\bdesc\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z]\w*")
_SEAM = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def last_rows(query: str) -> str | None:
    """How many of the newest messages a query of SQL asks for, as it spells it; None if for others."""
    match = _NEWEST.search(query)
    tables = _FROM.findall(query)
    return match["count"] if match is not None and any(map(holds_talk, tables)) else None


def is_newest_first(chain: str) -> bool:
    """Whether a query that is put together by calls, written without spaces, gives the newest rows first."""
    return _DESCENDING.search(chain) is not None


def is_window(rows: int | None) -> bool:
    """Whether so many of the newest rows are a window; None: nothing shows how many."""
    return rows is None or SHORTEST <= rows < MANY_RUNS


def holds_talk(text: str) -> bool:
    """Whether a table or class, or one that is named in a text, holds what was said in a conversation."""
    return any(_TALK.fullmatch(_SEAM.sub("_", word)) for word in _WORD.findall(text))
