"""Whether the turn decides on something: what was said, and how far the conversation is.

A setting (a flag, a plan, a tenant's choice) is the same for all of a conversation, and a fallback after an
error is no ordinary traffic. What a name stands for is looked up once: ``const hard = text.length > 400``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache_lint.readers.typescript.conversations.names import around, bare, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from promptcache_lint.readers.typescript.conversations.facts import Facts

__all__ = ["alternatives", "decided_by_turn", "in_handler", "resolved"]

_OF_THE_TURN = re.compile(
    r"\b(?:step|turn|round|iteration|depth|complexity|difficulty|intent|usage|tokens?)\w*\b"
    r"|\b\w*(?:question|query|prompt|message|text|input|userInput)\b",
    re.IGNORECASE,
)
_OWNER = re.compile(
    r"\b\w+\??\.(?!(?:length|includes|match|startsWith|endsWith|test|toLowerCase|trim|at|some|search|split)\b)(?=\w)"
)
"""What something is taken out of: of ``input.thinking`` the name of the option alone says what decides."""
_NAME = re.compile(r"[!(\s]*[\w.?]+[)\s]*")
_SETTING = re.compile(
    r"\b(?:config|settings|options?|opts|env|process|flags?|props|plan|tier|args|argv|params|user|account|org|"
    r"customer|session|provider|model)\w*\b|\bthis\.|\bis[A-Z]\w*|\buse[A-Z]\w*|\b[A-Z][A-Z0-9_]{2,}\b"
)
_RETRIES = re.compile(r"attempt|retr(?:y|ies)|error|fail", re.IGNORECASE)
_STEP = re.compile(r"stepNumber|steps")
"""What the AI SDK hands to the function that prepares each step."""


def _speaks_of_turn(said: str) -> bool:
    """Whether a condition, as it is written, speaks of the turn and of no setting."""
    if _NAME.fullmatch(said) or _SETTING.search(said):
        return False  # whether there is something at all says nothing of the turn
    return _OF_THE_TURN.search(_OWNER.sub("", said)) is not None


def decided_by_turn(test: Node, facts: Facts) -> bool:
    """Whether the outcome of a condition differs between the turns of one conversation."""
    at = resolved(test, facts)
    if _RETRIES.search(facts.names.text(at)) or _RETRIES.search(facts.names.text(test)):
        return False
    inner = [each for start in _with_meanings(at, facts) for each in walk(start)]
    if any(_counts_turns(each, facts) for each in inner):
        return True
    return _speaks_of_turn(facts.names.text(test)) or _speaks_of_turn(facts.names.text(at))


def _with_meanings(test: Node, facts: Facts) -> Iterator[Node]:
    yield test
    for inner in walk(test):
        meaning = resolved(inner, facts) if inner.type == "identifier" else inner
        if meaning.id != inner.id:
            yield meaning


def _counts_turns(node: Node, facts: Facts) -> bool:
    """``messages.length``, ``messages.at(-1)``, the counter of the loop of turns, or the number of a step."""
    if node.type == "member_expression":
        looks = facts.names.text(node.child_by_field_name("property")) in {"length", "at"}
        return looks and facts.is_conversation(bare(node.child_by_field_name("object")))
    if node.type != "identifier":
        return False
    name = facts.names.text(node)
    key = facts.names.key(node)
    if _STEP.fullmatch(name) and key in facts.names.parameters:
        return True
    loop = facts.in_turns(node)
    return loop is not None and loop.type == "for_statement" and _is_counter(name, loop, facts)


def _is_counter(name: str, loop: Node, facts: Facts) -> bool:
    step = loop.child_by_field_name("increment")
    return step is not None and any(facts.names.text(inner) == name for inner in walk(step))


def alternatives(value: Node, facts: Facts) -> tuple[Node, Node] | None:
    """The condition and the whole of a choice between two values that are not the same: ``a ? b : c``."""
    chosen = resolved(value, facts)
    if chosen.type != "ternary_expression":
        return None
    test = chosen.child_by_field_name("condition")
    results = {
        re.sub(r"\s+", "", facts.names.text(chosen.child_by_field_name(each)))
        for each in ("consequence", "alternative")
    }
    return (test, chosen) if test is not None and len(results) == 2 else None


def in_handler(node: Node) -> bool:
    """Whether something stands where an error is dealt with."""
    return any(outer.type == "catch_clause" for outer in around(node))


def resolved(value: Node, facts: Facts) -> Node:
    """What a name is given, where that is one thing and not for the life of the module."""
    at = bare(value) or value
    key = facts.names.key(at)
    given = facts.names.values.get(key, []) if key is not None else []
    if len(given) == 1 and key is not None and key[1] != 0 and key not in facts.names.parameters:
        return bare(given[0]) or given[0]
    return at
