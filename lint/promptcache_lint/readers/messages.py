"""Messages and blocks in data files: who speaks in one, what it says, and whether it carries a breakpoint.

Knows the shapes of OpenAI, Anthropic, Bedrock, Gemini and of LangChain's own serialization.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypedDict

from promptcache_lint.readers.tree import Entries, Items, Node, Scalar
from promptcache_lint.wording import role_of_speaker

if TYPE_CHECKING:
    from promptcache_lint.places import Place, Source
    from promptcache_lint.prompts import Role

__all__ = ["MARKS", "Marked", "constructed", "marked", "only_marks", "spoken"]

MARKS = ("cache_control", "prompt_cache_breakpoint", "cachePoint", "cache_point")
_CLASS = re.compile(
    r"(System|Developer|Human|User|AI|Assistant|Tool|Function)(?:Chat)?Message(?:PromptTemplate|Chunk)?"
)
_CONTENT = ("content", "parts", "value", "text", "prompt", "template")


class Marked(TypedDict, total=False):
    """The fields of a segment that a breakpoint sets."""

    breakpoint: bool
    marked: Place | None
    ttl: str


def spoken(node: Node) -> tuple[Role, Node | None]:
    """Role and content of a message: a mapping with ``role``, or a pair as LangChain writes it."""
    if isinstance(node, Entries):
        made = constructed(node)
        if made is not None:
            return made
        role = role_of_speaker(node.text("role") or node.text("from") or "")
        content = next((value for key in _CONTENT if (value := node.get(key)) is not None), None)
        return (role, content) if role else ("user", None)
    if isinstance(node, Items) and len(node.items) == 2 and isinstance(node.items[0], Scalar):
        role = role_of_speaker(str(node.items[0].value))
        return (role, node.items[1]) if role else ("user", None)
    return "user", None


def constructed(node: Entries) -> tuple[Role, Node | None] | None:
    """Role and content of ``{"lc": 1, "id": [..., "SystemMessage"], "kwargs": {"content": …}}``."""
    names, arguments = node.get("id"), node.get("kwargs")
    if not isinstance(names, Items) or not names.items or not isinstance(arguments, Entries):
        return None
    last = names.items[-1]
    match = _CLASS.fullmatch(str(last.value)) if isinstance(last, Scalar) else None
    role = role_of_speaker(match[1]) if match else None
    if role is None:
        return None
    inner = arguments.get("prompt")
    if isinstance(inner, Entries) and isinstance(inner.get("kwargs"), Entries):
        inner = inner.get("kwargs")
        assert isinstance(inner, Entries)
        return role, inner.get("template")
    return role, arguments.get("content")


def marked(node: Node, source: Source) -> Marked:
    """The breakpoint that a block, or a block inside it, carries."""
    if isinstance(node, Entries):
        for key, value in node.pairs:
            if key in MARKS:
                ttl = value.text("ttl") if isinstance(value, Entries) else None
                return {"breakpoint": True, "marked": source.place(value.start, value.end), "ttl": ttl or ""}
        for key, value in node.pairs:
            if key in {"content", "function", "toolSpec"} and (found := marked(value, source)):
                return found
    if isinstance(node, Items):
        for item in reversed(node.items):
            if found := marked(item, source):
                return found
    return {}


def only_marks(node: Node) -> bool:
    """Whether a block is a breakpoint and nothing else, as Bedrock writes it."""
    return (
        isinstance(node, Entries)
        and bool(node.pairs)
        and all(key in {*MARKS, "type"} for key, _ in node.pairs)
    )
