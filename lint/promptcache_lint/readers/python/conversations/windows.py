"""Windows that a store hands out: ``session.get_history(max_messages=16)``, by the names of such methods."""

from __future__ import annotations

import ast
import re

from promptcache_lint.readers.python.conversations.facts import constant

__all__ = ["MANY_RUNS", "is_handed_out"]

MANY_RUNS = 50
"""As many exchanges few conversations ever reach."""
_GETTER = re.compile(
    r"a?(?:get|load|fetch|read|retrieve|recall|list|take)_(?:\w+_)?(?:history|messages|msgs|turns|conversation|exchanges)"
    r"(?:_for_\w+)?|(?:recent|last|latest)_(?:history|messages|msgs|turns|exchanges)"
)
_LENGTH = re.compile(
    r"(?:max|num|n|last|limit|recent|message|history|turn)s?(?:_(?:n|messages|msgs|turns|history|length|limit|count))?"
    r"|limit|n|k|last|window(?:_size)?|count|turns"
)


def is_handed_out(node: ast.Call) -> bool:
    """Whether a call takes so many of the last messages out of a store, few enough to be reached."""
    if not isinstance(node.func, ast.Attribute) or _GETTER.fullmatch(node.func.attr) is None:
        return False
    named = [keyword.value for keyword in node.keywords if keyword.arg and _LENGTH.fullmatch(keyword.arg)]
    lengths = map(constant, named or node.args[-1:])
    return any(type(length) is int and 1 < length < MANY_RUNS for length in lengths)
