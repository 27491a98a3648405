"""Functions that do something else than carry a conversation on, by their names."""

from __future__ import annotations

import re

__all__ = ["is_aside"]

_ASIDE = re.compile(
    r"summar|title|classif|intent|orchestrat|condens|rewrite|rout|compact|extract|preview|debug|test_|display|render|log"
    r"|hash|digest|fingerprint|checksum|^_?(?:clear|save|export|snapshot)"
)


def is_aside(name: str) -> bool:
    """Whether a function, by its name, does something else than carry a conversation on."""
    return _ASIDE.search(name.lower()) is not None
