"""What reaches a list or a caller: messages that are pushed one by one, and what a function gives back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_lint.readers.typescript.conversations.names import around, function_of, walk
from promptcache_lint.readers.typescript.module import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

__all__ = ["gone_through", "results"]


def gone_through(push: Node) -> Iterator[Node]:
    """The list of which each message is pushed, in a loop over it or in its ``forEach``."""
    for outer in around(push):
        if outer.type == "for_in_statement":
            listed = outer.child_by_field_name("right")
            if listed is not None:
                yield listed
            return
        if outer.type in FUNCTIONS:
            given = outer.parent
            called = given.parent if given is not None and given.type == "arguments" else None
            function = called.child_by_field_name("function") if called is not None else None
            if function is not None and function.text is not None and function.text.endswith(b".forEach"):
                listed = function.child_by_field_name("object")
                if listed is not None:
                    yield listed
            return


def results(function: Node) -> Iterator[Node]:
    """The expressions that a function returns."""
    body = function.child_by_field_name("body")
    if body is None:
        return
    if body.type != "statement_block":
        yield body
        return
    for node in walk(body):
        mine = node.type == "return_statement" and function_of(node) == function
        if mine and node.named_children and node.named_children[0].type != "comment":
            yield node.named_children[0]
