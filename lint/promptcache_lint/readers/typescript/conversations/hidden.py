"""Cuts that no request shows, as in Python: of a name that nothing reads again, and the longer one of two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_lint.readers.typescript.conversations.facts import LOOPS
from promptcache_lint.readers.typescript.conversations.names import around, function_of, walk
from promptcache_lint.readers.typescript.conversations.stored import is_put_back, takes_place
from promptcache_lint.readers.typescript.conversations.windows import length_of, number
from promptcache_lint.readers.typescript.module import FUNCTIONS

if TYPE_CHECKING:
    from tree_sitter import Node

    from promptcache_lint.readers.typescript.conversations.facts import Facts
    from promptcache_lint.readers.typescript.conversations.names import Key

__all__ = ["is_lost", "outrun"]

_READS = {"identifier", "shorthand_property_identifier"}
_HARMLESS = {"push", "unshift", "pop", "shift", "length", "at"}


def is_lost(key: Key | None, cut: Node, facts: Facts) -> bool:
    """Whether a cut only gives a variable of the function another value, which nothing reads any more."""
    function = function_of(cut)
    statement = next((outer for outer in around(cut) if outer.type.endswith("_statement")), None)
    if key is None or function is None or statement is None or key[1] != function.id:
        return False
    if not takes_place(key, cut, facts) or _is_in_a_loop(cut, function):
        return False
    return not any(
        node.type in _READS and (node.start_byte >= statement.end_byte or function_of(node) != function)
        for node in reversed(facts.names.uses.get(key, []))
    )


def _is_in_a_loop(node: Node, function: Node) -> bool:
    within = (outer for outer in around(node) if outer.start_byte > function.start_byte)
    return any(outer.type in LOOPS for outer in within)


def outrun(key: Key | None, cut: Node, facts: Facts) -> bool | None:
    """Whether a shorter cut of a list that an object keeps hides this one.

    True if so wherever the list is read, None if it is also read whole somewhere, which may be sent or not.
    """
    bound = length_of(cut, facts)
    if key is None or bound is None or not key[0].startswith("this."):
        return False
    reads = facts.names.uses.get(key, [])
    uses = [_use(node) for node in reads if not _is_given(node)]
    others = [use for use in uses if use != cut]
    if not is_put_back(key, cut, facts):
        kept = (use for use in others if is_put_back(key, use, facts))
        return any((length_of(use, facts) or bound) < bound and _is_due(use, bound, facts) for use in kept)
    shown = [use for use in others if not _is_harmless(use, key, facts)]
    shorter = [use for use in shown if (length := length_of(use, facts)) is not None and length <= bound]
    return bool(shorter) and (True if len(shorter) == len(shown) else None)


def _is_due(cut: Node, bound: int, facts: Facts) -> bool:
    """Whether a list is cut wherever it is longer than ``bound``: in any case, or above a mark not higher."""
    for outer in around(cut):
        if outer.type in FUNCTIONS:
            break
        condition = outer.child_by_field_name("condition")
        if condition is not None:
            words = (facts.names.text(node) for node in walk(condition) if not node.named_children)
            marks = [number(word, condition, facts) for word in words]
            if not any(mark is not None and mark <= bound for mark in marks):
                return False
        elif outer.type in {"catch_clause", "switch_statement", *LOOPS}:
            return False
    return True


def _use(field: Node) -> Node:
    """What is done with a field: the call of its method, its member, or the field as it is."""
    member = field.parent
    if member is None or member.type not in {"member_expression", "subscript_expression"}:
        return field
    called = member.parent
    return called if called is not None and called.type == "call_expression" else member


def _is_given(field: Node) -> bool:
    """Whether a field is given a value, and not read."""
    outer = field.parent
    return (
        outer is not None
        and outer.type == "assignment_expression"
        and outer.child_by_field_name("left") == field
    )


def _is_harmless(use: Node, key: Key, facts: Facts) -> bool:
    """Whether a use tells nothing of the list's beginning: it is added to, counted, or cut again."""
    if use.type == "subscript_expression":
        return True
    member = use.child_by_field_name("function") if use.type == "call_expression" else use
    named = facts.names.text(member.child_by_field_name("property")) if member is not None else ""
    return named in _HARMLESS or (named == "slice" and is_put_back(key, use, facts))
