"""What TypeScript sends back of an answer: arguments of tools written anew, results as they finish."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.readers.typescript.conversations.facts import LOOPS
from promptcache_lint.readers.typescript.conversations.names import around, bare, function_of, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from promptcache_lint.prompts import Practice
    from promptcache_lint.readers.typescript.conversations.facts import Facts

__all__ = ["replays"]

_WRITTEN = "{} writes a call's arguments anew: other spaces, escapes or numbers than the model's own text."
_FINISHED = "{} gives what finishes first: added so, results stand in another order in a retry or a replay."
_ARGUMENTS = re.compile(r"arguments$|\.input$|\.args$|\barguments\b")
_RACES = {"Promise.race", "Promise.any"}


def replays(facts: Facts) -> Iterator[Practice]:
    """PC304 and PC507."""
    for node in facts.names.nodes:
        if node.type != "call_expression":
            continue
        path = facts.names.path(node.child_by_field_name("function"))
        if path == "JSON.stringify":
            yield from _stringified(node, facts)
        elif path in _RACES:
            yield from _raced(node, facts)


def _stringified(node: Node, facts: Facts) -> Iterator[Practice]:
    """``arguments: JSON.stringify(JSON.parse(call.function.arguments))``, also over a name in between."""
    pair = node.parent
    key = facts.names.text(pair.child_by_field_name("key")).strip("\"'") if pair is not None else ""
    given = _first_argument(node)
    if pair is None or pair.type != "pair" or key != "arguments" or given is None:
        return
    name = facts.names.key(given)
    values = facts.names.values.get(name, []) if name is not None else []
    made = bare(values[0]) if len(values) == 1 else bare(given)
    if made is None:
        return
    parsed = _is_parse(made, facts)
    said = facts.names.text(made)
    field = made.type == "member_expression" and re.search(r"\.(?:input|args|arguments)$", said) is not None
    again = (parsed and _ARGUMENTS.search(said)) or (field and _is_answer(node, facts))
    if again and (name is None or not _is_changed(name[0], node, facts)):
        yield facts.practice("PC507", Severity.WARNING, node, _WRITTEN)


def _is_parse(node: Node, facts: Facts) -> bool:
    called = node.child_by_field_name("function") if node.type == "call_expression" else None
    return called is not None and facts.names.path(called) == "JSON.parse"


def _is_answer(node: Node, facts: Facts) -> bool:
    """Whether a call of a tool is written into a message of the assistant."""
    return any(
        outer.type == "pair"
        and facts.names.text(outer.child_by_field_name("key")).strip("\"'") in {"tool_calls", "toolCalls"}
        for outer in around(node)
    )


def _is_changed(name: str, node: Node, facts: Facts) -> bool:
    """Whether something is stored in what was parsed: then it is another text on purpose."""
    function = function_of(node)
    for inner in walk(function) if function is not None else ():
        if inner.type == "assignment_expression":
            left = inner.child_by_field_name("left")
            holder = left.child_by_field_name("object") if left is not None else None
            if holder is not None and facts.names.text(holder) == name:
                return True
    return False


def _raced(node: Node, facts: Facts) -> Iterator[Practice]:
    """``while (…) { const done = await Promise.race(pending); messages.push(done); }``."""
    given = _first_argument(node)
    loop = next((outer for outer in around(node) if outer.type in LOOPS), None)
    if loop is None or given is None or _is_timeout(given):
        return
    names = set()
    for outer in around(node):
        if outer.type == "variable_declarator":
            target = outer.child_by_field_name("name")
            names |= (
                {facts.names.text(each) for each in walk(target) if "identifier" in each.type}
                if target
                else set()
            )
            break
    for inner in walk(loop):
        function = inner.child_by_field_name("function") if inner.type == "call_expression" else None
        if function is None or facts.names.text(function.child_by_field_name("property")) != "push":
            continue
        key = facts.names.key(function.child_by_field_name("object"))
        arguments = inner.child_by_field_name("arguments")
        words = (
            {facts.names.text(each) for each in walk(arguments) if each.type.endswith("identifier")}
            if arguments
            else set()
        )
        if key is not None and key in facts.sent and (words & names or _holds(inner, node)):
            yield facts.practice("PC304", Severity.WARNING, node, _FINISHED)
            return


def _is_timeout(given: Node) -> bool:
    """``Promise.race([ask(), timeout(1000)])``: whatever wins, it is one answer."""
    at = bare(given)
    if at is None or at.type != "array":
        return False
    return not all(child.type == "spread_element" for child in at.named_children)


def _holds(outer: Node, inner: Node) -> bool:
    return outer.start_byte <= inner.start_byte and inner.end_byte <= outer.end_byte


def _first_argument(call: Node) -> Node | None:
    arguments = call.child_by_field_name("arguments")
    given = (
        [each for each in arguments.named_children if each.type != "comment"] if arguments is not None else []
    )
    return bare(given[0]) if given else None
