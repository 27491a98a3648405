"""A history that TypeScript has summarized under another prefix than the conversation's own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.readers.typescript.conversations.choosing import resolved
from promptcache_lint.readers.typescript.conversations.names import bare

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from promptcache_lint.prompts import Practice
    from promptcache_lint.readers.typescript.conversations.facts import Facts

__all__ = ["summaries"]

_SUMMARY = re.compile(r"summar|condens|compact|compress", re.IGNORECASE)
_OF_A_TALK = re.compile(
    r"(?:summar|condens|compact|compress)\w*[\w\s,]{0,40}"
    r"\b(?:conversation|chat|history|messages|transcript|dialog|discussion|session|so far)"
    r"|\b(?:conversation|chat|history|transcript|dialog\w*)[\w\s]{0,12}\b(?:summar|condens|compact|compress)",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"(?:\w+\.)*\w*(?:summar|condens|compact)\w*?_?(?:prompt|system|instruction)s?", re.IGNORECASE
)
_HEADS = {"system", "instructions", "systemInstruction", "systemPrompt"}
_LISTS = {"messages", "input", "contents"}
_SYSTEM = re.compile(r"""\brole["']?\s*:\s*["'](?:system|developer)["']|new SystemMessage\(""")
_SAYS = (
    "`{}` sends the history under another prefix, so that none of it is read from the cache; ask for the "
    "summary in a last message, behind the same tools and system prompt."
)


def summaries(facts: Facts) -> Iterator[Practice]:
    """PC506."""
    for call in facts.calls:
        options = dict(facts.options(call))
        lists = [options[name] for name in _LISTS if name in options]
        lists += [] if options else _given(call)
        heads = [options[name] for name in _HEADS if name in options]
        heads += [first for each in lists if (first := _first(each, facts)) is not None]
        asks = next((head for head in heads if _speaks_of_summaries(head, facts)), None)
        if asks is not None and any(_passes_on(each, facts) for each in lists):
            says = _SAYS.format(facts.module.label(asks)).replace("{", "{{").replace("}", "}}")
            yield facts.practice("PC506", Severity.WARNING, asks, says)


def _given(call: Node) -> list[Node]:
    """The first argument of ``model.invoke([new SystemMessage(…), ...history])``."""
    arguments = call.child_by_field_name("arguments")
    return arguments.named_children[:1] if arguments is not None else []


def _first(messages: Node, facts: Facts) -> Node | None:
    """A system message at the head of a list."""
    at = resolved(messages, facts)
    first = next(iter(at.named_children), None) if at.type == "array" else None
    return first if first is not None and _SYSTEM.search(facts.names.text(first)) else None


def _speaks_of_summaries(head: Node, facts: Facts) -> bool:
    """Whether a prompt, or the name of one, asks for a summary of the conversation."""
    said = facts.names.text(resolved(head, facts))
    if _NAMED.fullmatch(said) or _OF_A_TALK.search(said[:300]):
        return True
    purpose = _SUMMARY.search(facts.names.function_name(head)) is not None
    return purpose and _SUMMARY.search(said[:300]) is not None


def _passes_on(messages: Node, facts: Facts) -> bool:
    """Whether the conversation's own messages are sent as they are, and not written into a text."""
    at = resolved(messages, facts)
    parts = at.named_children if at.type == "array" else [at]
    for part in parts:
        if at.type == "array" and part.type != "spread_element":
            continue
        inner = bare(part)
        key = facts.names.key(inner)
        if (
            key is not None
            and facts.is_conversation_key(key)
            and (key in facts.names.parameters or key[0].startswith("this.") or facts.grows(key))
        ):
            return True
    return False
