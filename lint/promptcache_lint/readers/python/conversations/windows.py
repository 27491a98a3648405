"""Windows that a store hands out: ``session.get_history(max_messages=16)``, by the names of such methods."""

from __future__ import annotations

import ast

from promptcache_lint.readers.python.conversations.facts import constant
from promptcache_lint.readers.stores import hands_out, is_length

__all__ = ["is_handed_out"]


def is_handed_out(node: ast.Call) -> bool:
    """Whether a call takes so many of the last messages out of a store, few enough to be reached."""
    if not isinstance(node.func, ast.Attribute) or not hands_out(node.func.attr):
        return False
    named = (is_length(keyword.arg, constant(keyword.value)) for keyword in node.keywords if keyword.arg)
    return any(named) or any(is_length("", constant(last)) for last in node.args[-1:])
