"""Answers that TypeScript sends back without the reasoning the model wrote."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.readers.typescript.conversations.names import around, walk
from promptcache_lint.readers.typescript.module import FUNCTIONS, unquoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from promptcache_lint.prompts import Practice
    from promptcache_lint.readers.typescript.conversations.facts import Facts
    from promptcache_lint.readers.typescript.conversations.names import Key

__all__ = ["reasoning"]

_KINDS = re.compile(r"[\"'](?:redacted_)?(?:thinking|reasoning)[\"']")
_REFUSES = re.compile(r"!==?|!\s*\[|!\s*\w+\.(?:has|includes)\(")
_TAG = re.compile(r"<\\?/?think", re.IGNORECASE)
_ANSWERS = re.compile(r"\brole[\"']?\s*:\s*[\"'](?:assistant|model)[\"']")
_ADDS = {"push", "concat"}
_DROPPED = (
    "{} leaves the reasoning out when the answer is sent back, so it is not what the model has written."
)
_PRUNES = {"reasoning": "PC505", "toolCalls": "PC502"}
_PRUNED = {
    "PC505": _DROPPED,
    "PC502": "{} takes calls of tools out of messages that were sent before: all behind them is new.",
}


def reasoning(facts: Facts) -> Iterator[Practice]:
    """PC505, and PC502 of the AI SDK's ``pruneMessages``."""
    for node in facts.names.nodes:
        if node.type != "call_expression":
            continue
        function = node.child_by_field_name("function")
        name = facts.names.text(function.child_by_field_name("property")) if function is not None else ""
        given = facts.names.text(node.child_by_field_name("arguments"))
        drops = name in {"filter", "flatMap"} and _KINDS.search(given) and _REFUSES.search(given)
        cuts = name in {"replace", "replaceAll", "split"} and _TAG.search(given)
        if (drops or cuts) and _is_sent_back(node, facts):
            yield facts.practice("PC505", Severity.WARNING, node, _DROPPED)
        elif facts.names.path(function) == "pruneMessages":
            yield from _pruned(node, facts)


def _pruned(call: Node, facts: Facts) -> Iterator[Practice]:
    """``pruneMessages({ messages, reasoning: "all" })``."""
    for name, value in facts.options(call):
        if name in _PRUNES and unquoted(facts.names.text(value)) != "none":
            yield facts.practice(_PRUNES[name], Severity.WARNING, call, _PRUNED[_PRUNES[name]])
            return


def _is_sent_back(node: Node, facts: Facts) -> bool:
    """Whether a value becomes part of a message of the assistant, or of a conversation that is sent."""
    for outer in around(node):
        if outer.type == "object" and _ANSWERS.search(facts.names.text(outer)):
            return True
        if outer.type == "call_expression" and _adds(outer, facts):
            return True
        if outer.type in {"variable_declarator", "assignment_expression"}:
            target = outer.child_by_field_name("name") or outer.child_by_field_name("left")
            return target is not None and _is_used_so(target, facts)
        if outer.type in FUNCTIONS and outer.parent is not None and outer.parent.type != "arguments":
            return False
    return False


def _is_used_so(target: Node, facts: Facts) -> bool:
    """Whether a variable is sent itself, or stands in an answer that is added to what is sent."""
    key = facts.names.key(target)
    if key is None:
        return False
    if key in facts.sent and facts.is_conversation_key(key):
        return True
    return key in _answered(facts)


@lru_cache(maxsize=2)  # a module may leave the reasoning out of many answers
def _answered(facts: Facts) -> frozenset[Key]:
    """The variables that stand in an answer, or in what is added to a list that is sent."""
    found: set[Key] = set()
    for node in facts.names.nodes:
        is_answer = node.type == "object" and _ANSWERS.search(facts.names.text(node)) is not None
        if is_answer or (node.type == "call_expression" and _adds(node, facts)):
            keys = (facts.names.key(inner) for inner in walk(node) if inner.type.endswith("identifier"))
            found.update(key for key in keys if key is not None)
    return frozenset(found)


def _adds(call: Node, facts: Facts) -> bool:
    """``messages.push(…)`` on a list that is sent."""
    function = call.child_by_field_name("function")
    if function is None or facts.names.text(function.child_by_field_name("property")) not in _ADDS:
        return False
    key = facts.names.key(function.child_by_field_name("object"))
    return key is not None and key in facts.sent
