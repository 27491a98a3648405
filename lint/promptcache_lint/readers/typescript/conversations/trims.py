"""Conversations that lose their oldest messages: ``messages.slice(-10)``, ``shift()``, ``splice(1, 2)``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.readers.row_windows import SAYS as READS_NEWEST
from promptcache_lint.readers.stores import MANY_RUNS, NEXT_TO_NOTHING, hands_out, is_length
from promptcache_lint.readers.typescript.conversations.batches import how_rare
from promptcache_lint.readers.typescript.conversations.facts import LOOPS
from promptcache_lint.readers.typescript.conversations.hidden import is_lost, outrun
from promptcache_lint.readers.typescript.conversations.names import around, bare, function_of
from promptcache_lint.readers.typescript.conversations.row_windows import queries, reads_newest
from promptcache_lint.readers.typescript.conversations.stored import (
    entries_of,
    goes_on,
    is_fetched,
    is_put_back,
)
from promptcache_lint.readers.typescript.conversations.windows import arguments, count_of, length_of
from promptcache_lint.readers.typescript.module import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from promptcache_lint.prompts import Practice
    from promptcache_lint.readers.typescript.conversations.facts import Facts
    from promptcache_lint.readers.typescript.conversations.names import Key

__all__ = ["ASIDE", "cut_list", "drops", "is_aside", "trims", "windows"]

ASIDE = re.compile(
    r"summar|title|classif|condens|rewrit|rout|compact|extract|preview|debug|suggest|followup|intent|display|log\b",
    re.IGNORECASE,
)
"""Functions beside the conversation, which look at its end, and those that shorten it by a summary."""
_COMPACTS = re.compile(r"summar|compact|condens", re.IGNORECASE)
_FIRST_TEST = re.compile(r"(?:\[0\]|\.at\(0\))[!?]*\.(?:role|type)|isSystem|first\w*\.role", re.IGNORECASE)
"""What goes is the system message, or a result that a cut has left without its call: no turn is lost."""
_DRAINED = re.compile(r"\(?[\w.$]+\.length(?:>0)?\)?")
_FIRST = re.compile(r"""\brole["']?\s*:\s*["'](?:system|developer)["']""")
_LAST = re.compile(r"""\brole["']?\s*:\s*["']user["']""")
_WRITTEN = re.compile(r"""\bcontent["']?\s*:\s*(?:["']|`\s*\w)""")
_PIPED = re.compile(r"\.pipe\(|RunnableSequence|\.invoke\(")
_BULK = 8
_MOST_MESSAGES = 300
_SAYS = "{} drops the oldest messages: from then on every turn begins with another message, and misses."


def trims(facts: Facts) -> Iterator[Practice]:
    """PC501."""
    yield from windows(facts)
    yield from drops(facts)


def windows(facts: Facts) -> Iterator[Practice]:
    """The newest messages that are sent without the others."""
    yield from _piped(facts)
    yield from _rows(facts)
    for node, call in facts.ways:
        function = node.child_by_field_name("function")
        name = facts.names.text(function.child_by_field_name("property")) if function is not None else ""
        if (
            name == "slice"
            and _is_window(node, facts)
            and not is_aside(node, facts)
            and not is_aside(call, facts)
        ):
            yield from _cut(node, function, facts)
        elif function is not None and _takes_last(node, name, facts):
            yield facts.practice("PC501", Severity.WARNING, node, _SAYS)


def _rows(facts: Facts) -> Iterator[Practice]:
    """The newest rows of what a database has kept of a conversation."""
    for query, call in queries(facts):
        if not is_aside(query, facts) and not is_aside(call, facts) and reads_newest(query, facts):
            yield facts.practice("PC501", Severity.WARNING, query, READS_NEWEST)


def _piped(facts: Facts) -> Iterator[Practice]:
    """LangChain's ``trimMessages({ maxTokens, … })`` without messages: a step in front of the model."""
    for node in facts.names.nodes if _PIPED.search(facts.module.source.text) else ():
        if facts.names.path(node.child_by_field_name("function")) != "trimMessages":
            continue
        given = arguments(node)
        keeps = re.search(r"""strategy:\s*["']first""", facts.names.text(given[0])) if given else None
        if len(given) == 1 and given[0].type == "object" and not keeps and not is_aside(node, facts):
            yield facts.practice("PC501", Severity.WARNING, node, _SAYS)


def drops(facts: Facts) -> Iterator[Practice]:
    """The oldest messages that are taken out of a list."""
    for node in facts.names.nodes:
        if node.type == "expression_statement" and node.named_children:
            yield from _dropped(node.named_children[0], facts)


def _takes_last(node: Node, name: str, facts: Facts) -> bool:
    """Whether a call gives the last messages: LangChain's, or that of a store asked for a few."""
    if facts.names.path(node.child_by_field_name("function")) == "trimMessages":
        return True
    return hands_out(name) and _is_few(node, facts) and not is_aside(node, facts)


def _cut(node: Node, function: Node | None, facts: Facts) -> Iterator[Practice]:
    holder = _holder(function.child_by_field_name("object") if function is not None else None, facts)
    key = facts.names.key(holder)
    hidden = outrun(key, node, facts)
    if facts.is_conversation(holder) and not hidden and not is_lost(key, node, facts):
        length = length_of(node, facts)
        sure = (
            length is not None and hidden is False and (_lives(key, node, facts) or _is_between(node, facts))
        )
        severity = Severity.ERROR if sure else Severity.WARNING
        rare = how_rare(key, node, facts)
        severity = severity if rare is None else min(severity, rare)
        is_rare = length is not None and (length >= MANY_RUNS or length <= NEXT_TO_NOTHING)
        yield facts.practice("PC501", Severity.INFO if is_rare else severity, node, _SAYS)


def _lives(key: Key | None, node: Node, facts: Facts) -> bool:
    """Whether a list is sent again with the answer in it; of a seed, the module that calls it knows."""
    if key is None:
        return False
    if is_put_back(key, node, facts) and any(facts.lives(each, node) for each in entries_of(key, facts)):
        return True
    if not (facts.lives(key, node) or (facts.grows(key) and is_fetched(key, facts))):
        return False
    return facts.seeded or is_put_back(key, node, facts) or goes_on(key, node, facts)


def _holder(node: Node | None, facts: Facts) -> Node | None:
    """The list of which a part is taken, or the entry of a table: ``talks.get(user).filter(…)``."""
    at = bare(node)
    while at is not None and at.type in {"call_expression", "binary_expression"}:
        if facts.names.key(at) is not None:
            return at
        function = at.child_by_field_name("function")
        inner = (
            function.child_by_field_name("object") if function is not None else at.child_by_field_name("left")
        )
        at = bare(inner)
    return cut_list(node) if at is None or facts.names.key(at) is None else at


def cut_list(node: Node | None) -> Node | None:
    """The list of which a part is taken: ``history.filter(…)``, ``(body.history ?? [])``."""
    node = bare(node)
    while node is not None:
        if node.type == "call_expression":
            inner = node.child_by_field_name("function")
            node = bare(inner.child_by_field_name("object") if inner is not None else None)
        elif node.type == "binary_expression" and (other := node.child_by_field_name("right")) is not None:
            if other.type != "array" or other.named_children:
                return node
            node = bare(node.child_by_field_name("left"))
        else:
            return node
    return None


def _is_between(node: Node, facts: Facts) -> bool:
    """Whether a window stands behind the system prompt and in front of the newest message of one request."""
    at = node
    for outer in around(node):
        if outer.type == "spread_element":
            at = outer
        elif outer.type == "array" and at.type == "spread_element":
            items = [child for child in outer.named_children if child.type != "comment"]
            place = items.index(at)
            first, last = items[0], items[-1]
            between = 0 < place < len(items) - 1
            return between and _says(first, _FIRST, facts) and _says(last, _LAST, facts)
        elif outer.type not in {"call_expression", "member_expression", "parenthesized_expression"}:
            return False
    return False


def _says(node: Node, role: re.Pattern[str], facts: Facts) -> bool:
    """Whether a message is of a role, and is not a question that the source writes out."""
    text = facts.names.text(node)
    asks = _WRITTEN.search(text) is not None and role is _LAST
    return node.type == "object" and role.search(text) is not None and not asks


def _is_window(node: Node, facts: Facts) -> bool:
    """Whether a slice begins so many messages before the end; the last one alone is no window."""
    count = count_of(node, facts)
    if not count or (count.isdigit() and int(count) > _MOST_MESSAGES):
        return False  # so many are characters of a text
    return count != "1" and not count.endswith(".length")  # those that were just added


def _is_few(node: Node, facts: Facts) -> bool:
    """Whether a store is asked for so many messages: ``getMessages(10)``, ``getHistory({ limit: 10 })``."""
    for argument in arguments(node)[-1:]:
        pairs = argument.named_children if argument.type == "object" else ()
        named = [(pair.child_by_field_name("key"), pair.child_by_field_name("value")) for pair in pairs]
        for key, value in [(None, argument), *named]:
            said = facts.names.text(value)
            if said.isdecimal() and is_length(facts.names.text(key), int(said)):
                return True
    return False


def is_aside(node: Node, facts: Facts) -> bool:
    """Whether a function has another purpose than the conversation, or shortens it by a summary."""
    outer = function_of(node)
    said = facts.names.text(outer) if outer is not None else ""
    return ASIDE.search(facts.names.function_name(node)) is not None or _COMPACTS.search(said) is not None


def _dropped(node: Node, facts: Facts) -> Iterator[Practice]:
    """``messages.shift();`` and ``messages.splice(1, 2);`` whose results nobody uses."""
    function = node.child_by_field_name("function") if node.type == "call_expression" else None
    if function is None or function.type != "member_expression":
        return
    name = facts.names.text(function.child_by_field_name("property"))
    owner = function.child_by_field_name("object")
    key = facts.names.key(owner)
    if (
        name not in {"shift", "splice"}
        or key is None
        or key not in facts.sent
        or not facts.is_conversation(owner)
    ):
        return
    given = [re.sub(r"\s+", "", facts.names.text(argument)) for argument in arguments(node)]
    if name == "splice" and not _drops_front(given):
        return
    if (name == "shift" and given) or is_aside(node, facts) or _is_other(node, facts):
        return
    if all(is_aside(call, facts) for call in facts.sent[key]):
        return
    seldom = name == "splice" and (not given[1].isdigit() or int(given[1]) >= _BULK)
    yield facts.practice(
        "PC501", Severity.ERROR if facts.lives(key, node) and not seldom else Severity.WARNING, node, _SAYS
    )


def _drops_front(given: list[str]) -> bool:
    """Whether a splice takes away the oldest messages, and puts nothing in their place, nor takes all."""
    return (
        len(given) == 2
        and given[0] in {"0", "1", "2"}
        and given[1] != "0"
        and not given[1].endswith(".length")
    )


def _is_other(node: Node, facts: Facts) -> bool:
    """Whether what goes is the system message, or all of a queue, or the function begins anew."""
    for outer in around(node):
        condition = outer.child_by_field_name("condition")
        said = re.sub(r"\s+", "", facts.names.text(condition))
        if outer.type in FUNCTIONS:
            break
        if outer.type in {"if_statement", "while_statement"} and _FIRST_TEST.search(said):
            return True
        if outer.type in LOOPS:
            return outer.type == "while_statement" and _DRAINED.fullmatch(said) is not None
        if outer.type == "catch_clause":
            return True
    return False
