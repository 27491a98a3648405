"""Requests of which all messages are written out, and lists that may hold more than is written here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_lint.readers.python.values import Map, Seq, Str
from promptcache_lint.readers.typescript import blocks

if TYPE_CHECKING:
    from tree_sitter import Node

    from promptcache_lint.readers.python.values import Value
    from promptcache_lint.readers.typescript.frame import Frame

__all__ = ["is_written_out", "may_grow"]

_GO_ON = ("tools", "previous_response_id", "previousResponseId", "conversation", "providerOptions")
"""Options by which steps of a request, or what was said before it, are added to its messages."""


def may_grow(value: Value | None) -> bool:
    """Whether a list of messages may hold more than are written here: a history. None is no list at all."""
    if not isinstance(value, Seq):
        return value is not None and not isinstance(value, Str)
    return value.partial or any(not isinstance(item, Map) for item in value.items)


def is_written_out(options: Node, frame: Frame) -> bool:
    """Whether all messages of a request stand in its options, and nothing in it makes another one follow."""
    if any(blocks.in_object(options, name, frame.module) is not None for name in _GO_ON):
        return False
    found = (
        blocks.in_object(options, name, frame.module) for name in ("messages", "input", "contents", "prompt")
    )
    told = next((each for each in found if each is not None), None)
    if told is None or told.type != "array":
        return told is not None and told.type in {"string", "template_string"}
    return all(each.type != "spread_element" for each in told.named_children)
