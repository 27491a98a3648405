"""Conversations that are filled from their end until a budget is spent: the oldest messages are left out.

``for (let i = messages.length - 1; i >= 0; i--) { …; if (used > budget) break; kept.unshift(messages[i]); }``
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.readers.typescript.conversations.names import around, bare, walk
from promptcache_lint.readers.typescript.conversations.trims import is_aside
from promptcache_lint.readers.typescript.module import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from promptcache_lint.prompts import Practice
    from promptcache_lint.readers.typescript.conversations.facts import Facts

__all__ = ["budgets"]

_BACKWARDS = re.compile(r"--\w+|\w+--|-=\s*1")
_TURNED = re.compile(r"\.(?:toReversed|reverse)\(\)")
_SAYS = (
    "{} takes the newest messages until a budget is spent: from then on every turn begins with another "
    "message, and misses."
)


def budgets(facts: Facts) -> Iterator[Practice]:
    """PC501 of a window whose length is a budget of tokens or characters."""
    stops: dict[int, bool] = {}  # one loop may add many messages
    for node in facts.names.nodes:
        function = node.child_by_field_name("function") if node.type == "call_expression" else None
        if function is None or facts.names.text(function.child_by_field_name("property")) not in {
            "unshift",
            "push",
        }:
            continue
        key = facts.names.key(function.child_by_field_name("object"))
        if key is None or key not in facts.sent or is_aside(node, facts):
            continue
        loop = _backwards(node, facts)
        if loop is None:
            continue
        if loop.id not in stops:
            stops[loop.id] = _stops(loop)
        if stops[loop.id] and _takes_message(node, loop, facts):
            yield facts.practice("PC501", Severity.WARNING, node, _SAYS)


def _backwards(node: Node, facts: Facts) -> Node | None:
    """The loop around a node, if it goes through a list from its end."""
    for outer in around(node):
        if outer.type in FUNCTIONS:
            return None
        if outer.type == "for_statement":
            step = facts.names.text(outer.child_by_field_name("increment"))
            return outer if _BACKWARDS.search(step) else None
        if outer.type == "for_in_statement":
            through = facts.names.text(outer.child_by_field_name("right"))
            return outer if _TURNED.search(through) else None
    return None


def _stops(loop: Node) -> bool:
    """Whether the loop ends before it has gone through all: not where it looks for one message."""
    return any(inner.type == "break_statement" for inner in walk(loop))


def _takes_message(call: Node, loop: Node, facts: Facts) -> bool:
    """Whether what is added is a message of a conversation: ``messages[i]``, or the loop's own variable."""
    given = call.child_by_field_name("arguments")
    item = bare(given.named_children[0]) if given is not None and given.named_children else None
    if loop.type == "for_in_statement":
        own = facts.names.text(loop.child_by_field_name("left"))
        at = bare(loop.child_by_field_name("right"))
        while at is not None and at.type == "call_expression":
            called = at.child_by_field_name("function")
            at = bare(called.child_by_field_name("object")) if called is not None else None
            if at is not None and at.type == "array" and at.named_children:
                at = bare(at.named_children[0])
        return item is not None and facts.names.text(item) == own and facts.is_conversation(at)
    item = _meaning(item, loop, facts)
    owner = (
        item.child_by_field_name("object")
        if item is not None and item.type == "subscript_expression"
        else None
    )
    if owner is None:
        return False
    made = facts.names.values.get(facts.names.key(owner) or ("", 0), [])
    sources = [owner, *(_receiver(value) for value in made)]
    return any(facts.is_conversation(each) for each in sources if each is not None)


def _meaning(item: Node | None, loop: Node, facts: Facts) -> Node | None:
    """What a variable of the loop stands for: ``const message = messages[i]``."""
    key = facts.names.key(item)
    values = facts.names.values.get(key, []) if key is not None else []
    inside = [value for value in values if loop.start_byte <= value.start_byte < loop.end_byte]
    return bare(inside[0]) if len(inside) == 1 else item


def _receiver(value: Node) -> Node | None:
    """The list of which another is a part: ``const rest = messages.slice(1)``."""
    at = bare(value)
    called = at.child_by_field_name("function") if at is not None and at.type == "call_expression" else None
    return bare(called.child_by_field_name("object")) if called is not None else None
