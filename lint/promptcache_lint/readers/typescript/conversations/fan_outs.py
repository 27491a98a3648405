"""Many requests with one long prefix that TypeScript starts at once, before the first has been answered.

The prefix must be seen to be shared and to be kept: marked as a prefix, or a text of the module that is long
enough. Nothing is said where one request goes ahead, or only so many run at a time.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.readers.typescript.conversations.names import bare, function_of, walk
from promptcache_lint.readers.typescript.module import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from promptcache_lint.prompts import Practice
    from promptcache_lint.readers.typescript.conversations.facts import Facts

__all__ = ["STARTS", "fan_outs"]

STARTS = re.compile(r"Promise\.all(?:Settled)?\(")
_HEADS = {"system", "tools", "instructions", "messages", "input", "config"}
_MARK = re.compile(r"cache_?[cC]ontrol|cachePoint|cache_point|prompt_cache_breakpoint")
_BOUNDED = re.compile(
    r"[Ss]emaphore|[Ll]imit(?:er)?\(|p-?[Ll]imit|p-?[mM]ap\b|[Tt]hrottle|concurrency|[Qq]ueue"
)
_PRIMES = re.compile(r"(?:warm|prime|prefill)\w*\(", re.IGNORECASE)
_REST = re.compile(r"\.slice\(\s*1|\brest\b|\btail\b|\bothers?\b|\bremaining\b")
_ENOUGH = 4096
"""So many characters are about the 1,024 tokens below which nothing is kept."""
_SAYS = (
    "{} starts these requests at once: none can read the shared prefix before the first answer begins, "
    "so that each computes it."
)


def fan_outs(facts: Facts) -> Iterator[Practice]:
    """PC608, at the ``map`` that starts the requests."""
    if _PRIMES.search(facts.module.source.text) or _BOUNDED.search(facts.module.source.text):
        return
    for node in facts.names.nodes:
        function = node.child_by_field_name("function") if node.type == "call_expression" else None
        if facts.names.path(function) not in {"Promise.all", "Promise.allSettled"}:
            continue
        started = _mapped(node, facts)
        if started is None or _REST.search(facts.names.text(started.child_by_field_name("function"))):
            continue
        change = started.child_by_field_name("arguments")
        each = change.named_children[0] if change is not None and change.named_children else None
        found = _asking(each, facts) if each is not None else None
        if found is None or _goes_ahead(node, found[1], facts):
            continue
        if _shares_a_prefix(*found, facts):
            yield facts.practice("PC608", Severity.WARNING, node, _SAYS)


def _mapped(call: Node, facts: Facts) -> Node | None:
    """``items.map(…)`` in ``Promise.all(items.map(…))``, also over a name."""
    given = call.child_by_field_name("arguments")
    value = bare(given.named_children[0]) if given is not None and given.named_children else None
    key = facts.names.key(value)
    values = facts.names.values.get(key, []) if key is not None else []
    value = bare(values[0]) if len(values) == 1 else value
    function = value.child_by_field_name("function") if value is not None else None
    if function is None or facts.names.text(function.child_by_field_name("property")) != "map":
        return None
    over = bare(function.child_by_field_name("object"))
    if over is not None and over.type == "array" and len(over.named_children) < 3:
        return None
    return value


def _asking(each: Node, facts: Facts) -> tuple[Node, Node] | None:
    """The request that is made for each item, and the function that makes it."""
    pending, seen = [each], set[int]()
    while pending and len(seen) < 8:
        at = pending.pop(0)
        function = (
            facts.names.functions.get(facts.names.key(at) or ("", 0)) if at.type not in FUNCTIONS else at
        )
        if function is None or function.id in seen:
            continue
        seen.add(function.id)
        for call in facts.calls:
            if function.start_byte <= call.start_byte and call.end_byte <= function.end_byte:
                return call, function
        for inner in walk(function):
            called = inner.child_by_field_name("function") if inner.type == "call_expression" else None
            pending += [called] if called is not None else []
    return None


def _shares_a_prefix(call: Node, function: Node, facts: Facts) -> bool:
    """Whether what comes first in the requests is the same: long, or marked as a prefix."""
    own = {key for key in facts.names.parameters if key[1] == function.id}
    for name, value in facts.options(call):
        if name not in _HEADS:
            continue
        head = _head(value)
        if head is None:
            continue
        meant = [head, *_meanings(head, facts)]
        keys = {
            facts.names.key(inner) for each in meant for inner in walk(each) if "identifier" in inner.type
        }
        if keys & own:
            continue
        said = "".join(facts.names.text(each) for each in meant)
        if len(said) >= _ENOUGH or _MARK.search(said):
            return True
    return False


def _head(value: Node) -> Node | None:
    """What comes first: of a list of messages the first one, else the whole."""
    at = bare(value)
    if at is not None and at.type == "array":
        first = at.named_children[0] if at.named_children else None
        return at if first is None or len(at.named_children) == 1 else first
    return at


def _meanings(head: Node, facts: Facts) -> list[Node]:
    """What the module gives the names in a prefix."""
    found: list[Node] = []
    for inner in walk(head):
        key = (
            facts.names.key(inner) if inner.type in {"identifier", "shorthand_property_identifier"} else None
        )
        values = facts.names.values.get(key, []) if key is not None and key[1] == 0 else []
        found += values if len(values) == 1 else []
    return found


def _goes_ahead(start: Node, asking: Node, facts: Facts) -> bool:
    """Whether a request is made and awaited in front of those, by itself or by the same function."""
    outer = function_of(start)
    for node in walk(outer) if outer is not None else ():
        inner = bare(node) if node.type == "await_expression" else None
        if inner is None or inner.type != "call_expression" or node.start_byte >= start.start_byte:
            continue
        if inner in facts.calls or _is(inner.child_by_field_name("function"), asking, facts):
            return True
    return False


def _is(called: Node | None, function: Node, facts: Facts) -> bool:
    return called is not None and facts.names.functions.get(facts.names.key(called) or ("", 0)) == function
