"""Functions that do something else than carry a conversation on, by their names."""

from __future__ import annotations

import re

__all__ = ["is_aside", "sums_up"]

_ASIDE = re.compile(
    r"summar|title|classif|intent|orchestrat|condens|rewrite|rout|compact|extract|preview|debug|test_|display|render|log"
    r"|hash|digest|fingerprint|checksum|^_?(?:clear|save|export|snapshot)"
)
_SUMS_UP = re.compile(r"summar|condens|compact|digest", re.IGNORECASE)


def is_aside(name: str) -> bool:
    """Whether a function, by its name, does something else than carry a conversation on."""
    return _ASIDE.search(name.lower()) is not None


def sums_up(code: str) -> bool:
    """Whether a function's code speaks of summaries: they may hold what it leaves out of the messages."""
    return _SUMS_UP.search(code) is not None
