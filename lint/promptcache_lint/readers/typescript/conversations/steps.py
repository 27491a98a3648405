"""What the AI SDK's ``prepareStep`` changes between the steps of one run.

A run is one conversation: each step sends what the step before has sent, and its results. What the function
gives back takes the place of that: fewer messages, another model, other tools, another system prompt.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.readers.typescript.conversations.choosing import (
    alternatives,
    decided_by_turn,
    in_handler,
    resolved,
)
from promptcache_lint.readers.typescript.conversations.names import around, bare, function_of, walk
from promptcache_lint.readers.typescript.conversations.settings import TOOLS_CHANGE
from promptcache_lint.readers.typescript.module import FUNCTIONS, unquoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from promptcache_lint.prompts import Practice
    from promptcache_lint.readers.typescript.conversations.facts import Facts

__all__ = ["HOOK", "steps"]

HOOK = re.compile(r"\b(?:experimental_)?prepareStep\b")
_WINDOW = re.compile(r"\.slice\(\s*-\s*(?!1\s*\))[\w.]+\s*\)")
_COMPACTS = re.compile(r"summar|compact|condens", re.IGNORECASE)
_THROUGH = {"parenthesized_expression", "ternary_expression", "binary_expression", "object", "spread_element"}
_CUT = (
    "{} drops the oldest messages of the run: from then on each step begins with another message, and misses."
)
_MODEL = "The model ({}) changes inside a run: another model has another cache."
_SYSTEM = "{} changes the system prompt of a run: nothing of it can be reused."


def steps(facts: Facts) -> Iterator[Practice]:
    """PC302, PC403, PC501 and PC503 of functions that prepare steps."""
    for node in facts.names.nodes:
        function = _hook(node, facts)
        for pair in walk(function) if function is not None else ():
            if pair.type != "pair" or not _is_given_back(pair, function):
                continue
            value = pair.child_by_field_name("value")
            name = unquoted(facts.names.text(pair.child_by_field_name("key")))
            if value is not None:
                yield from _changed(name, value, function, facts)


def _changed(name: str, value: Node, function: Node | None, facts: Facts) -> Iterator[Practice]:
    made = resolved(value, facts)
    if name == "messages":
        said = facts.names.text(made)
        if _WINDOW.search(said) and not _COMPACTS.search(facts.names.text(function)):
            yield facts.practice("PC501", Severity.WARNING, value, _CUT)
    elif name in {"model", "activeTools", "tools", "system"} and _by_step(value, function, facts):
        code, says = {"model": ("PC503", _MODEL), "system": ("PC403", _SYSTEM)}.get(
            name, ("PC302", TOOLS_CHANGE)
        )
        yield facts.practice(code, Severity.WARNING, value, says)


def _hook(node: Node, facts: Facts) -> Node | None:
    """The function that prepares the steps, where ``node`` names it among the options of a run."""
    if node.type == "method_definition":
        return node if HOOK.fullmatch(facts.names.text(node.child_by_field_name("name"))) else None
    if node.type != "pair" or not HOOK.fullmatch(unquoted(facts.names.text(node.child_by_field_name("key")))):
        return None
    value = bare(node.child_by_field_name("value"))
    if value is not None and value.type not in FUNCTIONS:
        return facts.names.functions.get(facts.names.key(value) or ("", 0))
    return value


def _is_given_back(pair: Node, function: Node | None) -> bool:
    """Whether an entry stands in an object that the function returns, as such."""
    for outer in around(pair):
        if outer.type == "return_statement":
            return function_of(outer) == function
        if outer.type in FUNCTIONS:
            return outer == function
        if outer.type not in _THROUGH:
            return False
    return False


def _by_step(value: Node, function: Node | None, facts: Facts) -> bool:
    """Whether it depends on the step what is given back: by a choice, or by a condition around it."""
    if in_handler(value):
        return False
    choice = alternatives(value, facts)
    if choice is not None and decided_by_turn(choice[0], facts):
        return True
    for outer in around(value):
        if outer == function:
            return False
        test = None
        if outer.type in {"if_statement", "ternary_expression"}:
            test = outer.child_by_field_name("condition")
        elif outer.type == "binary_expression":
            test = outer.child_by_field_name("left")
        asks_for_it = facts.names.text(test) == facts.names.text(value)
        if test is not None and not asks_for_it and decided_by_turn(test, facts):
            return True
        if outer.type == "return_statement" and any(decided_by_turn(each, facts) for each in _passed(outer)):
            return True
    return False


def _passed(result: Node) -> Iterator[Node]:
    """The conditions under which a function has ended before this: ``if (!force) return {};``."""
    before = result.prev_named_sibling
    while before is not None:
        test, then = before.child_by_field_name("condition"), before.child_by_field_name("consequence")
        ends = then is not None and any(inner.type == "return_statement" for inner in walk(then))
        if before.type == "if_statement" and test is not None and ends:
            yield test
        before = before.prev_named_sibling
