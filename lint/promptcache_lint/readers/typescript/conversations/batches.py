"""Whether a kept conversation is cut rarely and far, as in Python: above a high mark, down to a low one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.readers.typescript.conversations.names import around
from promptcache_lint.readers.typescript.conversations.stored import is_put_back
from promptcache_lint.readers.typescript.conversations.windows import length_of, number
from promptcache_lint.readers.typescript.module import FUNCTIONS

if TYPE_CHECKING:
    from tree_sitter import Node

    from promptcache_lint.readers.typescript.conversations.facts import Facts
    from promptcache_lint.readers.typescript.conversations.names import Key

__all__ = ["how_rare"]

_MARK = re.compile(r"\.length\s*>=?\s*([\w.$]+)")
_MANY = 10
"""So many messages that go at once were some turns; fewer than `_SOME` are those of one turn."""
_SOME = 4


def how_rare(key: Key | None, cut: Node, facts: Facts) -> Severity | None:
    """How grave a cut is that is made at a mark only: information if it goes far; None if it slides."""
    kept = length_of(cut, facts)
    if kept is None or not is_put_back(key, cut, facts):
        return None
    for outer in around(cut):
        if outer.type in FUNCTIONS:
            return None
        condition = outer.child_by_field_name("condition") if outer.type == "if_statement" else None
        mark = _MARK.search(facts.names.text(condition))
        most = number(mark[1], condition, facts) if mark is not None and condition is not None else None
        if most is not None and most - kept >= _SOME:
            return Severity.INFO if most - kept >= _MANY else Severity.WARNING
    return None
