"""What changes between two requests of one conversation in TypeScript: the model, and listings of tools."""

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
from promptcache_lint.readers.typescript.conversations.names import around, function_of, walk
from promptcache_lint.readers.typescript.conversations.trims import ASIDE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from promptcache_lint.prompts import Practice
    from promptcache_lint.readers.typescript.conversations.facts import Facts

__all__ = ["switches"]

_DRAWS = re.compile(r"Math\.random\(|crypto\.randomInt\(|_\.sample\(|\bsample\(")
_CHOOSES = re.compile(r"(?:.*\.)?(?:pick|choose|select|route|decide)\w*Model\w*|(?:.*\.)?modelFor\w*")
_SETTING = re.compile(
    r"\b(?:config|settings|options?|opts|env|process|flags?|props|plan|tier|args|argv|params|user|account|org|"
    r"customer|session|provider|model)\w*\b|\bthis\.|\bis[A-Z]\w*|\buse[A-Z]\w*|\b[A-Z][A-Z0-9_]{2,}\b"
)
_LISTS = re.compile(
    r".*\.(?:listTools|getTools|loadMcpTools)|(?:.*\.)?loadMcpTools|(?:.*\.)?\w*[mM]cp\w*\.tools"
)
_ORDERS = re.compile(r"\.(?:sort|toSorted)\(|\bsortBy\(|\b(?:orderBy|sort)\(")
_ONCE = re.compile(
    r"\?\?=|\|\|=|\bcache|\bmemo|\bonce\(|constructor|(?:^| )(?:init|setup|start|connect|create|load)"
)
_MODEL = "The model ({}) changes inside a conversation: another model has another cache."
_UNPINNED = (
    "{} takes the tools as the server lists them now: when it adds or reorders one, every prompt is new."
)


def switches(facts: Facts) -> Iterator[Practice]:
    """PC305 and PC503."""
    for call in facts.calls:
        if not facts.converses(call) or ASIDE.search(facts.names.function_name(call)):
            continue
        for name, value in facts.options(call):
            if name == "model":
                yield from _model(value, facts)
            elif name == "tools":
                yield from _listed(value, call, facts)
        yield from _bound(call, facts)


def _bound(call: Node, facts: Facts) -> Iterator[Practice]:
    """``const llm = messages.length < 6 ? small : large;`` and then ``llm.invoke(messages)``."""
    function = call.child_by_field_name("function")
    holder = function.child_by_field_name("object") if function is not None else None
    if holder is not None and facts.names.text(_property(function)) in {"invoke", "stream"}:
        choice = alternatives(holder, facts)
        if choice is not None and decided_by_turn(choice[0], facts) and not in_handler(choice[1]):
            yield facts.practice("PC503", Severity.WARNING, choice[1], _MODEL)


def _property(function: Node | None) -> Node | None:
    return function.child_by_field_name("property") if function is not None else None


def _model(value: Node, facts: Facts) -> Iterator[Practice]:
    chosen = resolved(value, facts)
    if in_handler(chosen):
        return  # a fallback after an error is no ordinary traffic
    said = facts.names.text(chosen)
    choice = alternatives(chosen, facts)
    if choice is not None:
        test = choice[0]
        if _DRAWS.search(facts.names.text(test)):
            yield facts.practice("PC503", Severity.ERROR, chosen, _MODEL)
        elif decided_by_turn(test, facts):
            yield facts.practice("PC503", Severity.WARNING, chosen, _MODEL)
    elif chosen.type == "subscript_expression":
        if _DRAWS.search(said) or re.search(r"\[[^\]]*\b(?:i|step|turn|round)\b[^\]]*%", said):
            yield facts.practice("PC503", Severity.ERROR, chosen, _MODEL)
    elif chosen.type == "call_expression":
        given = chosen.child_by_field_name("arguments")
        path = facts.names.path(chosen.child_by_field_name("function"))
        if given is not None and given.named_children and _CHOOSES.fullmatch(path):
            if not _SETTING.search(facts.names.text(given)):
                yield facts.practice("PC503", Severity.WARNING, chosen, _MODEL)
        elif given is not None and given.named_children:
            yield from _model(given.named_children[0], facts)  # ``openai(step > 3 ? "a" : "b")``


def _listed(value: Node, call: Node, facts: Facts) -> Iterator[Practice]:
    """Tools that a server lists in the very function that sends them."""
    function = function_of(call)
    seen: set[int] = set()
    pending = [value]
    while pending and len(seen) < 200:
        at = pending.pop()
        if at.id in seen:
            continue
        seen.add(at.id)
        if _ORDERS.search(facts.names.text(at)):
            return
        for inner in walk(at):
            if inner.type == "call_expression" and _is_listing(inner, facts):
                if function_of(inner) == function and not _is_kept(inner, facts):
                    yield facts.practice("PC305", Severity.WARNING, inner, _UNPINNED)
                return
            key = facts.names.key(inner) if "identifier" in inner.type else None
            pending += facts.names.values.get(key, ()) if key is not None else ()
            pending += facts.names.unpacked.get(key, ()) if key is not None else ()


def _is_listing(call: Node, facts: Facts) -> bool:
    return _LISTS.fullmatch(facts.names.path(call.child_by_field_name("function"))) is not None


def _is_kept(listing: Node, facts: Facts) -> bool:
    """Whether a listing is made once, or only where none is there yet."""
    if _ONCE.search(facts.names.function_name(listing)):
        return True
    for outer in around(listing):
        if outer.type in {"if_statement", "assignment_expression", "augmented_assignment_expression"}:
            left = outer.child_by_field_name("left")
            if outer.type == "if_statement" or (left is not None and left.type == "member_expression"):
                return True
    loop = next((outer for outer in around(listing) if "for_" in outer.type or "while" in outer.type), None)
    function = function_of(listing)
    # Listed once in front of the loop that asks: it is the same for all of the conversation.
    return loop is None and function is not None and any(facts.in_turns(call) for call in facts.calls)
