"""Cuts what a request holds into segments: tools, system prompts, messages and their blocks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Hole, Segment
from promptcache_lint.readers.python.values import Map, Seq, Str, Thing, traits_of
from promptcache_lint.readers.typescript import texts
from promptcache_lint.readers.typescript.clocks import literal
from promptcache_lint.wording import role_of_speaker

if TYPE_CHECKING:
    from tree_sitter import Node

    from promptcache_lint.prompts import Part, Role
    from promptcache_lint.readers.python.values import Value
    from promptcache_lint.readers.typescript.frame import Frame
    from promptcache_lint.readers.typescript.machine import Machine

__all__ = [
    "BREAKPOINTS",
    "content_segments",
    "is_marked",
    "message_segments",
    "spoken",
    "system_segments",
    "tool_segments",
]

BREAKPOINTS = {"cache_control", "cacheControl", "cachePoint", "prompt_cache_breakpoint", "cache_point"}
"""Keys under which a message, block or tool declares that a cacheable prefix ends with it."""


def system_segments(value: Value, keyword: str, node: Node, frame: Frame) -> list[Segment]:
    """The system prompt of a request, which may be a message or a list of messages itself."""
    if isinstance(value, Map):
        content = value.get("content") or value.get("parts") or value.get("text")
        return (
            list(content_segments(content, node, keyword, "system", frame, marked=is_marked(value)))
            if content is not None
            else []
        )
    return list(content_segments(value, node, keyword, "system", frame))


def tool_segments(machine: Machine, value: Value | None, node: Node, frame: Frame) -> list[Segment]:
    """The segments of tool definitions, and one for their order where that is no fixed one."""
    match value:
        case Seq():
            items: tuple[Value, ...] = value.items
        case Map():
            items = tuple(item for _, item in value.pairs)
        case Thing() if value.traits:
            items = (value,)
        case _:
            return []
    segments = [
        Segment(f"tools[{index}]", "tool", _deep(machine, item, node, frame, 0), breakpoint=is_marked(item))
        for index, item in enumerate(items)
    ]
    order = value.traits if isinstance(value, Seq | Map) else ()
    if order:
        hole = Hole("tools", frame.module.place(node), order, order[0].mark.stability)
        segments.append(Segment("tools", "tool", (hole,)))
    return segments


def _deep(machine: Machine, value: Value, node: Node, frame: Frame, depth: int) -> tuple[Part, ...]:
    """All texts in a definition."""
    if depth > 8:
        return ()
    match value:
        case Str():
            return value.parts
        case Map():
            inner = tuple(item for key, item in value.pairs if key not in {"execute", "func", "handler"})
        case Seq():
            inner = value.items
        case Thing() if value.traits:
            return texts.parts_of(machine, value, node, frame)
        case _:
            return ()
    return tuple(part for item in inner for part in _deep(machine, item, node, frame, depth + 1))


def message_segments(value: Seq, node: Node, frame: Frame) -> tuple[Segment, ...]:
    """The segments of a list of messages; empty where none of them says who speaks."""
    said = [spoken(_as_message(item)) for item in value.items]
    if not any(role for role, _ in said):
        return ()
    last_user = max((i for i, (role, _) in enumerate(said) if role == "user"), default=None)
    if last_user is not None and any(role is None for role, _ in said[last_user + 1 :]):
        last_user = None  # what follows is not known: the newest message may stand there
    segments: list[Segment] = []
    for index, (role, content) in enumerate(said):
        if role is not None and content is not None:
            item = _as_message(value.items[index])
            newest = role == "user" and index == last_user
            path = f"messages[{index}]"
            marked = isinstance(item, Map) and is_marked(item)
            segments += content_segments(content, node, path, role, frame, newest=newest, marked=marked)
    if value.traits:  # the order of the messages themselves
        hole = Hole("messages", frame.module.place(node), value.traits, value.traits[0].mark.stability)
        segments.append(Segment("messages", "user", (hole,)))
    return tuple(segments)


def content_segments(
    value: Value,
    node: Node,
    path: str,
    role: Role,
    frame: Frame,
    *,
    newest: bool = False,
    marked: bool = False,
) -> tuple[Segment, ...]:
    """The segments of a content: one text, or one for each of its blocks."""
    if not isinstance(value, Seq):
        return (Segment(path, role, _parts(value), newest, marked),)
    segments: list[Segment] = []
    inner = f"{path}.content" if path.startswith("messages") else path
    for index, block in enumerate(value.items):
        if isinstance(block, Map) and block.get("cachePoint") is not None and segments:
            segments[-1] = replace(segments[-1], breakpoint=True)
            continue
        text: Value | None = block
        if isinstance(block, Map):
            text = block.get("text") or block.get("content")
        parts = _parts(text) if text is not None else ()
        ends = isinstance(block, Map) and is_marked(block)
        segments.append(Segment(f"{inner}[{index}]", role, parts, newest, ends))
    if marked and segments:
        segments[-1] = replace(segments[-1], breakpoint=True)
    if value.traits:
        hole = Hole("content", frame.module.place(node), value.traits, value.traits[0].mark.stability)
        segments.append(Segment(path, role, (hole,), newest))
    return tuple(segments)


def _parts(value: Value) -> tuple[Part, ...]:
    if isinstance(value, Str):
        return value.parts
    traits = traits_of(value)
    if not traits:
        return ()
    return (Hole(traits[0].label, traits[0].origin, traits, traits[0].mark.stability),)


def _as_message(value: Value) -> Value:
    """A message written as a pair, as LangChain allows, in the form of an object."""
    if isinstance(value, Seq) and len(value.items) == 2 and role_of_speaker(literal(value.items[0]) or "?"):
        return Map((("role", value.items[0]), ("content", value.items[1])))
    return value


def spoken(value: Value) -> tuple[Role | None, Value | None]:
    """Role and content of a message."""
    if not isinstance(value, Map):
        return None, None
    role = literal(value.get("role"))
    if role is None:
        return None, None
    return role_of_speaker(role), value.get("content") or value.get("parts")


def is_marked(value: Value, depth: int = 0) -> bool:
    """Whether a message, block or tool declares that a cacheable prefix ends with it."""
    if not isinstance(value, Map) or depth > 4:
        return False
    for key, item in value.pairs:
        if key in BREAKPOINTS:
            return not (isinstance(item, Thing) and item.constant in {"null", "undefined", "false"})
        if key in {
            "providerOptions",
            "providerMetadata",
            "experimental_providerMetadata",
            "anthropic",
            "bedrock",
        }:
            if is_marked(item, depth + 1):
                return True
        elif key in {"additional_kwargs", "openrouter", "vertex"} and is_marked(item, depth + 1):
            return True
    return False
