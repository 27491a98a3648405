"""What changes between turns in TypeScript beside the text: sets of tools, parameters of the prompt."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.readers.typescript.conversations.choosing import (
    alternatives,
    decided_by_turn,
    in_handler,
    resolved,
)
from promptcache_lint.readers.typescript.conversations.names import bare, function_of, walk
from promptcache_lint.readers.typescript.conversations.trims import ASIDE
from promptcache_lint.readers.typescript.module import unquoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from promptcache_lint.prompts import Practice
    from promptcache_lint.readers.typescript.conversations.facts import Facts
    from promptcache_lint.readers.typescript.conversations.names import Key

__all__ = ["PARAMETERS", "TOOLS_CHANGE", "settings"]

PARAMETERS = {
    *(
        "tool_choice",
        "toolChoice",
        "thinking",
        "reasoning",
        "reasoning_effort",
        "reasoningEffort",
        "verbosity",
    ),
    *("response_format", "responseFormat", "output_config", "thinkingConfig", "toolConfig", "toolMode"),
}
_TOOLS = {"tools", "functions", "activeTools", "toolConfig"}
_CHOOSES_TOOLS = re.compile(
    r"(?:.*\.)?_?(?:select|filter|pick|choose|retrieve|search|relevant|rank|match|find|active|enabled|allowed|"
    r"(?:get)?(?:relevant|available|active|allowed))\w*[tT]ools?\w*|(?:.*\.)?(?:tools|functions)(?:For|Of)\w*"
)
_TURNS = re.compile(
    r"\w*(?:question|query|prompt|message|text|input|intent)s?|(?:step|turn|round|iteration)\w*",
    re.IGNORECASE,
)
TOOLS_CHANGE = "The tools ({}) change inside a conversation: they come first, so all of the prompt is new."
_CHANGES = "`%s` ({}) changes inside a conversation, and with it the prompt the provider builds."


def settings(facts: Facts) -> Iterator[Practice]:
    """PC302 and PC504."""
    for call in facts.calls:
        if not facts.converses(call) or ASIDE.search(facts.names.function_name(call)):
            continue
        for name, value in facts.options(call):
            if name in PARAMETERS:
                yield from _parameter(name, value, facts)
            elif name in _TOOLS:
                function = function_of(call)
                within = facts.module.place(function) if function is not None else None
                yield from (replace(each, within=within) for each in _tools(value, call, facts))
        yield from _spread(call, facts)


def _parameter(name: str, value: Node, facts: Facts) -> Iterator[Practice]:
    for each in _written(value, facts):
        choice = alternatives(each, facts)
        if choice is not None and decided_by_turn(choice[0], facts) and not in_handler(choice[1]):
            yield facts.practice("PC504", Severity.WARNING, choice[1], _CHANGES % name)
            return


def _written(value: Node, facts: Facts) -> Iterator[Node]:
    """A parameter's value, and what the object that it is holds: ``reasoning: { effort: … }``."""
    at = resolved(value, facts)
    yield at
    for child in at.named_children if at.type == "object" else ():
        inner = child.child_by_field_name("value") if child.type == "pair" else child
        if inner is not None and child.type in {"pair", "shorthand_property_identifier"}:
            yield inner


def _tools(value: Node, call: Node, facts: Facts) -> Iterator[Practice]:
    chosen = resolved(value, facts)
    if in_handler(chosen):
        return
    choice = alternatives(chosen, facts)
    if choice is not None:
        if decided_by_turn(choice[0], facts):
            yield facts.practice("PC302", Severity.WARNING, chosen, TOOLS_CHANGE)
    elif chosen.type == "call_expression":
        function, given = chosen.child_by_field_name("function"), chosen.child_by_field_name("arguments")
        is_filter = facts.names.text(_property(function)) == "filter"
        chooses = _CHOOSES_TOOLS.fullmatch(facts.names.path(function)) is not None
        if (is_filter and _filters_by_turn(given, facts)) or (chooses and _is_of_turn(given, facts)):
            yield facts.practice("PC302", Severity.WARNING, chosen, TOOLS_CHANGE)
    elif chosen.type == "subscript_expression" and _is_moved(chosen, call, facts):
        yield facts.practice("PC302", Severity.WARNING, chosen, TOOLS_CHANGE)
    elif chosen.type in {"object", "array"} and (added := _added(chosen, facts)) is not None:
        yield facts.practice("PC302", Severity.WARNING, added, TOOLS_CHANGE)
    else:
        yield from _grown(value, call, facts)


def _is_moved(entry: Node, call: Node, facts: Facts) -> bool:
    """``TOOLS[this.stage]``, where the function that asks moves the stage on."""
    key = facts.names.key(entry.child_by_field_name("index"))
    if key is None or not key[0].startswith("this."):
        return False
    here = function_of(call)
    return here is not None and any(
        value.parent is not None
        and value.parent.type == "assignment_expression"
        and here.start_byte <= value.start_byte < here.end_byte
        for value in facts.names.values.get(key, ())
    )


def _added(tools: Node, facts: Facts) -> Node | None:
    """``{ search, ...(asked ? { deploy } : {}) }``: what is among the tools in some turns only."""
    for child in tools.named_children:
        choice = _spread_choice(child)
        if choice is not None and decided_by_turn(choice[0], facts):
            return choice[1]
    return None


def _spread_choice(child: Node) -> tuple[Node, Node] | None:
    """The condition and the whole of what is spread where it holds: ``...(a ? b : {})``, ``...(a && b)``."""
    inner = bare(child) if child.type == "spread_element" else None
    if inner is None or inner.type not in {"ternary_expression", "binary_expression"}:
        return None
    test = inner.child_by_field_name("condition") or inner.child_by_field_name("left")
    return None if test is None else (test, inner)


def _is_of_turn(given: Node | None, facts: Facts) -> bool:
    """Whether one of the arguments is what was said in the turn, by its name."""
    values = given.named_children if given is not None else []
    return any(_TURNS.fullmatch(facts.names.text(each)) for each in values)


def _property(function: Node | None) -> Node | None:
    return function.child_by_field_name("property") if function is not None else None


def _filters_by_turn(given: Node | None, facts: Facts) -> bool:
    """Whether a filter of tools looks at the turn, and not at the tools alone."""
    test = given.named_children[0] if given is not None and given.named_children else None
    body = test.child_by_field_name("body") if test is not None else None
    if test is None or body is None or body.type == "statement_block":
        return False
    others = [each for each in walk(body) if each.type == "identifier" and not _is_own(each, test, facts)]
    return any(_TURNS.fullmatch(facts.names.text(each)) for each in others) and decided_by_turn(body, facts)


def _is_own(name: Node, function: Node, facts: Facts) -> bool:
    key = facts.names.key(name)
    return key is not None and key[1] == function.id


def _grown(value: Node, call: Node, facts: Facts) -> Iterator[Practice]:
    """``tools.push(…)`` between two turns of a loop."""
    key, loop = facts.names.key(value), facts.in_turns(call)
    if key is None or loop is None:
        return
    for node in _altered(facts).get(key, ()):
        if loop.start_byte <= node.start_byte < loop.end_byte:
            yield facts.practice("PC302", Severity.ERROR, node, TOOLS_CHANGE)
            return


@lru_cache(maxsize=2)  # a module may send many requests
def _altered(facts: Facts) -> dict[Key, list[Node]]:
    """Where something is added to each list, or taken out of it."""
    found: dict[Key, list[Node]] = {}
    for node in facts.names.nodes:
        function = node.child_by_field_name("function") if node.type == "call_expression" else None
        if facts.names.text(_property(function)) in {"push", "splice", "pop", "shift", "unshift"}:
            key = facts.names.key(function.child_by_field_name("object")) if function is not None else None
            if key is not None:
                found.setdefault(key, []).append(node)
    return found


def _spread(call: Node, facts: Facts) -> Iterator[Practice]:
    """``...(hard && { thinking: … })`` and ``...(hard ? { tools } : {})`` among the options of a request."""
    given = call.child_by_field_name("arguments")
    options = bare(given.named_children[0]) if given is not None and given.named_children else None
    for child in options.named_children if options is not None and options.type == "object" else ():
        choice = _spread_choice(child)
        if choice is None:
            continue
        test, inner = choice
        if in_handler(inner) or not decided_by_turn(test, facts):
            continue
        for pair in (each for each in walk(inner) if each.type in {"pair", "shorthand_property_identifier"}):
            name = unquoted(facts.names.text(pair.child_by_field_name("key") or pair))
            if name in PARAMETERS:
                yield facts.practice("PC504", Severity.WARNING, inner, _CHANGES % name)
                break
            if name in _TOOLS:
                yield facts.practice("PC302", Severity.WARNING, inner, TOOLS_CHANGE)
                break
