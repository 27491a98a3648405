"""Messages that are changed before the next one of their kind is added, as in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_lint.readers.typescript.conversations.names import around, function_of, walk
from promptcache_lint.readers.typescript.module import unquoted

if TYPE_CHECKING:
    from tree_sitter import Node

    from promptcache_lint.readers.typescript.conversations.facts import Facts
    from promptcache_lint.readers.typescript.conversations.names import Key

__all__ = ["is_overtaken"]

_EQUALS = {"==", "===", "!=", "!=="}


def is_overtaken(loop: Node, key: Key, facts: Facts) -> bool:
    """Whether a kept list gets, behind the loop that changes it, a message that the loop would change."""
    function = function_of(loop)
    looked_for = {said for node in walk(loop) if _compares(node) for said in _texts(node, facts)}
    if function is None or not looked_for or not facts.lives(key, loop):
        return False
    for use in facts.names.uses.get(key, ()):
        call = next((outer for outer in around(use) if outer.type == "call_expression"), None)
        if call is None or call.start_byte < loop.end_byte or function_of(call) != function:
            continue
        member = call.child_by_field_name("function")
        pushed = member is not None and facts.names.text(member.child_by_field_name("property")) == "push"
        if pushed and looked_for <= set(_texts(call, facts)):
            return any(asked.start_byte >= call.end_byte for asked in facts.calls)
    return False


def _compares(node: Node) -> bool:
    return node.type == "binary_expression" and any(child.type in _EQUALS for child in node.children)


def _texts(node: Node, facts: Facts) -> list[str]:
    return [unquoted(facts.names.text(inner)) for inner in walk(node) if inner.type == "string"]
