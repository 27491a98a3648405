"""Messages that are changed after they were sent: earlier ones, and the system prompt."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.readers.typescript.conversations.choosing import resolved
from promptcache_lint.readers.typescript.conversations.lending import grows_somewhere
from promptcache_lint.readers.typescript.conversations.names import around, bare, function_of, walk
from promptcache_lint.readers.typescript.conversations.overtaking import is_overtaken
from promptcache_lint.readers.typescript.conversations.trims import ASIDE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from promptcache_lint.prompts import Practice
    from promptcache_lint.readers.typescript.conversations.facts import Facts
    from promptcache_lint.readers.typescript.conversations.names import Key

__all__ = ["edits"]

_FIELDS = {"content", "text", "parts", "tool_calls", "output"}
_BEGINS = re.compile(
    r"(?:^| )(?:constructor|set|init|reset|load|clear|start|new|create|restore|convert)", re.IGNORECASE
)
_MARKS = re.compile(r"cache_?(?:control|point|mark|break)|breakpoint|providerOptions", re.IGNORECASE)
_AGED = re.compile(r"\.length-(?!1\b)\w|\.slice\([^,()]*,-|-[\w.]+\.length")
_CHOSEN = re.compile(r"\?|\bif\(|&&")
_WRITES = re.compile(r"\b(?:content|text|parts|output)[\"']?:(?!\w+\.(?:content|text|parts|output)[,}])")
_EARLIER = "{} changes a message that was already sent: all behind it is computed again."
_SYSTEM = "{} changes the system prompt of a running conversation: nothing of it can be reused."


def edits(facts: Facts) -> Iterator[Practice]:
    """PC403 and PC502."""
    yield from _mapped(facts)
    for node in facts.names.nodes:
        if node.type not in {"assignment_expression", "augmented_assignment_expression"}:
            continue
        left, right = bare(node.child_by_field_name("left")), node.child_by_field_name("right")
        names = facts.names.function_name(node)
        if left is None or right is None or ASIDE.search(names) or _BEGINS.search(names):
            continue
        if _MARKS.search(facts.names.text(node)) or _MARKS.search(names):
            continue  # a breakpoint is no content
        message, field = _message_of(left, facts)
        if message is not None and message.type == "subscript_expression":
            yield from _by_index(node, message, field, right, facts=facts)
        elif message is not None and field and (picked := _picked(message, facts)) is not None:
            yield from _by_index(node, picked, field, right, facts=facts)
        elif message is not None and message.type == "identifier" and field:
            yield from _by_loop(left, message, right, facts)


def _picked(message: Node, facts: Facts) -> Node | None:
    """The place in a list of which a variable is the message: ``const message = messages[i]``."""
    made = resolved(message, facts)
    return made if message.type == "identifier" and made.type == "subscript_expression" else None


def _mapped(facts: Facts) -> Iterator[Practice]:
    """``messages.map((m, i) => (i < messages.length - 4 ? {...m, content: "…"} : m))`` in what is sent."""
    for at, call in facts.ways:
        function, arguments = at.child_by_field_name("function"), at.child_by_field_name("arguments")
        if function is None or arguments is None or not arguments.named_children:
            continue
        change, owner = arguments.named_children[0], function.child_by_field_name("object")
        if (
            facts.names.text(function.child_by_field_name("property")) != "map"
            or change.type != "arrow_function"
        ):
            continue
        said = re.sub(r"\s+", "", facts.names.text(change))
        old = re.search(r"\.slice\([^,()]*,-\d", re.sub(r"\s+", "", facts.names.text(owner))) is not None
        if not (old or (_AGED.search(said) and _CHOSEN.search(said))) or _MARKS.search(said):
            continue
        if not _WRITES.search(said) or ASIDE.search(facts.names.function_name(call)):
            continue
        while owner is not None and owner.type == "call_expression":
            inner = owner.child_by_field_name("function")
            owner = inner.child_by_field_name("object") if inner is not None else None
        key = facts.names.key(owner)
        lives = key is not None and (facts.seeded or grows_somewhere(key, facts))
        if key is not None and lives and facts.is_conversation(owner):
            yield facts.practice("PC502", _weight(key, at, facts), at, _EARLIER)


def _message_of(target: Node, facts: Facts) -> tuple[Node | None, str]:
    """The message a target belongs to, and its field: ``m.content``, ``messages[0].content[0].text``."""
    field = ""
    at: Node | None = target
    while at is not None and at.type == "member_expression":
        field = facts.names.text(at.child_by_field_name("property"))
        if field not in _FIELDS:
            return None, ""
        at = bare(at.child_by_field_name("object"))
        holder = (
            bare(at.child_by_field_name("object"))
            if at is not None and at.type == "subscript_expression"
            else None
        )
        inner = facts.names.text(holder.child_by_field_name("property")) if holder is not None else ""
        if inner in _FIELDS:
            at = holder
    return at, field


def _by_index(edit: Node, message: Node, field: str, value: Node, *, facts: Facts) -> Iterator[Practice]:
    owner = message.child_by_field_name("object")
    key = facts.names.key(owner)
    if key is None or key not in facts.sent or not facts.is_conversation(owner) or _is_cleaned(value, facts):
        return
    if all(ASIDE.search(facts.names.function_name(call)) for call in facts.sent[key]):
        return
    index = facts.names.text(message.child_by_field_name("index"))
    if _is_fresh(key, edit, facts):
        return
    if index == "0":
        yield from _first(edit, key, value, facts, whole=not field)
    elif index.isdigit():
        if facts.lives(key, edit):
            yield facts.practice("PC502", Severity.WARNING, edit, _EARLIER)
    elif field and _is_aged(edit, facts):
        yield facts.practice("PC502", _weight(key, edit, facts), edit, _EARLIER)


def _first(edit: Node, key: Key, value: Node, facts: Facts, *, whole: bool) -> Iterator[Practice]:
    """A new text for the first message, made of something that may have changed since."""
    said = facts.names.text(value)
    if whole and not re.search(r"role[\"']?\s*:\s*[\"'](?:system|developer)|SystemMessage\(", said):
        return
    if not _is_made(value):
        return
    loop = facts.in_turns(edit)
    severity = Severity.ERROR if loop is not None and _changes_in(loop, value, facts) else Severity.WARNING
    apart = any(
        "system" in facts.names.text(call.child_by_field_name("arguments")) for call in facts.sent[key]
    )
    code, says = ("PC502", _EARLIER) if apart and not whole else ("PC403", _SYSTEM)
    yield facts.practice(code, severity, edit, says)


def _is_made(value: Node) -> bool:
    """Whether a text is put together from a part that is no constant."""
    for inner in walk(value):
        if inner.type == "template_substitution" or (
            inner.type == "binary_expression" and any(child.type == "+" for child in inner.children)
        ):
            terms = [child for child in walk(inner) if child.type in {"identifier", "property_identifier"}]
            if any(not (child.text or b"").decode("utf-8", "replace").isupper() for child in terms):
                return True
    return False


def _changes_in(loop: Node, value: Node, facts: Facts) -> bool:
    """Whether a name in a text is given another value in the loop of the turns."""
    words = {facts.names.text(inner) for inner in walk(value) if inner.type == "identifier"}
    for inner in walk(loop):
        field = {"assignment_expression": "left", "augmented_assignment_expression": "left"}.get(inner.type)
        field = {"variable_declarator": "name", "update_expression": "argument"}.get(inner.type, field)
        target = inner.child_by_field_name(field) if field else None
        if target is not None and facts.names.text(target) in words:
            return True
    return False


def _by_loop(left: Node, message: Node, value: Node, facts: Facts) -> Iterator[Practice]:
    """``for (const m of messages.slice(0, -4)) m.content = …``, and the same with ``forEach``."""
    name = facts.names.text(message)
    for outer in around(left):
        through: Node | None = None
        if outer.type == "for_in_statement" and facts.names.text(outer.child_by_field_name("left")) == name:
            through = outer.child_by_field_name("right")
        elif outer.type == "arrow_function" and outer.parent is not None and outer.parent.type == "arguments":
            given = outer.child_by_field_name("parameter") or outer.child_by_field_name("parameters")
            call = outer.parent.parent
            function = call.child_by_field_name("function") if call is not None else None
            first = re.match(r"\(?\s*(\w+)", facts.names.text(given))
            if function is not None and first is not None and first[1] == name:
                if facts.names.text(function.child_by_field_name("property")) != "forEach":
                    return  # what ``map`` gives is another list
                through = function.child_by_field_name("object")
        if through is None:
            continue
        owner = bare(through)
        aged = _AGED.search(re.sub(r"\s+", "", facts.names.text(through))) is not None
        while owner is not None and owner.type == "call_expression":
            function = owner.child_by_field_name("function")
            owner = function.child_by_field_name("object") if function is not None else None
        key = facts.names.key(owner)
        known = key is not None and key in facts.sent and facts.is_conversation(owner)
        if key is None or not known or _is_cleaned(value, facts):
            return
        if not (aged or _is_aged(left, facts)):
            if is_overtaken(outer, key, facts):
                yield facts.practice("PC502", Severity.WARNING, left, _EARLIER)
            return
        if not _is_fresh(key, left, facts):
            yield facts.practice("PC502", _weight(key, left, facts), left, _EARLIER)
        return


def _weight(key: Key, node: Node, facts: Facts) -> Severity:
    """An edit of a list that is kept from turn to turn costs for certain; another may prepare a copy."""
    return Severity.ERROR if facts.lives(key, node) else Severity.WARNING


def _is_aged(node: Node, facts: Facts) -> bool:
    """Whether what is edited is chosen by its distance from the end: ``i < messages.length - 4``."""
    for outer in around(node):
        said = [
            outer.child_by_field_name(field) for field in ("condition", "right") if "statement" in outer.type
        ]
        if any(_AGED.search(re.sub(r"\s+", "", facts.names.text(each))) for each in said):
            return True
    return False


def _is_cleaned(value: Node, facts: Facts) -> bool:
    """``m.content.trim()``: the same the second time."""
    return (
        re.search(r"\.(?:trim\w*|normalize|toWellFormed)\(\)$", facts.names.text(value).strip()) is not None
    )


def _is_fresh(key: Key, at: Node, facts: Facts) -> bool:
    """Whether the list was made in this very function, or turn of it, so that nothing has been sent yet."""
    if key[0].startswith("this.") or (key[1] == 0 and function_of(at) is not None):
        return False
    made = [bare(value) for value in facts.names.values.get(key, ())]
    loop = facts.in_turns(at)
    if loop is not None:
        made = [
            value
            for value in made
            if value is not None and loop.start_byte <= value.start_byte <= at.start_byte
        ]
    return key not in facts.names.parameters and any(
        value is not None and value.type in {"array", "call_expression"} for value in made
    )
