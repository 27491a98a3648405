"""Where a value becomes a prompt: calls of model APIs, messages, names and functions that promise a prompt.

A sink that is certain is a call or a message with a role. Names (``SYSTEM_PROMPT``, ``build_instructions``)
and wording ("You are …") are weaker: such a value must hold some text of its own to count.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from promptcache_lint.exposure import count_words
from promptcache_lint.prompts import Hole, Prompt, Segment, Text, flatten
from promptcache_lint.readers.placeholders import template_parts
from promptcache_lint.readers.python import strings, templates
from promptcache_lint.readers.python.objects import settled
from promptcache_lint.readers.python.values import Map, Seq, Str, Thing, traits_of
from promptcache_lint.wording import opens_like_prompt, role_of_name, role_of_speaker

if TYPE_CHECKING:
    from promptcache_lint.places import Place
    from promptcache_lint.prompts import Part, Role
    from promptcache_lint.readers.python.calls import Call
    from promptcache_lint.readers.python.frame import Frame
    from promptcache_lint.readers.python.interpreter import Interpreter
    from promptcache_lint.readers.python.program import Function
    from promptcache_lint.readers.python.values import Value

__all__ = ["Sinks"]

_API = re.compile(
    r".*\.(?:chat\.completions|messages|responses|completions|ChatCompletion|Completion|models)"
    r"(?:\.batches|\.with_raw_response|\.with_streaming_response)?"
    r"\.(?:create|acreate|stream|parse|generate_content\w*|count_tokens)"
    r"|(?:litellm\.)?a?completion|litellm\.(?:a?completion|a?responses|a?text_completion)|.*\.converse(?:_stream)?"
)
_MESSAGE_CLASS = re.compile(
    r"(?:.*\.)?(?P<role>System|Developer|Human|User|AI|Assistant)(?:Chat)?Message(?P<template>PromptTemplate)?"
    r"(?:\.from_template)?"
)
_TEMPLATE_CLASS = re.compile(r"(?:.*\.)?(?:Chat)?PromptTemplate(?:\.from_template)?")
_SYSTEM_KEYWORDS = (
    "system",
    "instructions",
    "system_prompt",
    "system_instruction",
    "system_message",
    "developer_message",
    "preamble",
)
_ENOUGH_WORDS = 3
_HEADING = re.compile(r"\s*#{1,3} \S")
_SECTION_NAME = re.compile(
    r"(?:\w+_)?(?:section|block|preamble|rules|guidelines|context|skills|tools_description)"
)


class Sinks:
    """Collects the prompts of one file; the interpreter reports every value that may become one."""

    def __init__(self) -> None:
        self.machine: Interpreter | None = None
        self._found: dict[str, dict[tuple[object, ...], Prompt]] = {}

    def take(self, path: str) -> list[Prompt]:
        """The prompts that have to do with a file, in the order of their discovery; they are given up."""
        return list(self._found.pop(path, {}).values())

    def called(self, made: Call, frame: Frame) -> None:
        """A call is about to be made."""
        if match := _MESSAGE_CLASS.fullmatch(made.path):
            self._message_class(made, match, frame)
        elif _TEMPLATE_CLASS.fullmatch(made.path):
            value = made.argument(0, "template")
            if isinstance(value, Str):
                self._emit("template", "prompt", value, made.node, frame, certain=True, expand=True)
        elif _API.fullmatch(made.path):
            self._request(made, frame)
        else:
            self._keywords(made, frame)

    def built_dict(self, value: Map, node: ast.Dict, frame: Frame) -> None:
        """A dict display was evaluated: a system message stands for itself."""
        role, content = _spoken(value)
        if role == "system" and content is not None:
            self._emit("system", "system", content, node, frame, certain=True)

    def built_list(self, value: Seq, node: ast.expr, frame: Frame) -> None:
        """A list or tuple display was evaluated: it may be a list of messages, or a pair of role and text."""
        if len(value.items) == 2 and isinstance(value.items[0], Str) and isinstance(node, ast.Tuple):
            speaker = "".join(getattr(part, "text", "") for part in value.items[0].parts)
            if role_of_speaker(speaker) == "system" and isinstance(value.items[1], Str):
                self._emit("system", "system", value.items[1], node, frame, certain=True, expand=True)
            return
        segments = self._messages(value, frame)
        if len(segments) > 1 and not isinstance(node, ast.Tuple):
            self._add("messages", segments, frame.module.place(node), certain=True)

    def assigned(self, name: str, value: Value, node: ast.expr, frame: Frame) -> None:
        """A value got a name, or was stored under a key or in an attribute."""
        role = role_of_name(name)
        if role is None or role == "user":
            if not frame.at_module_level or not isinstance(value, Str) or not _opens(value):
                return
            role = "system"
        self._named(name, role, value, node, frame)

    def returned(self, function: Function, frame: Frame) -> None:
        """A function was run by itself: what it returns may be a prompt by its name or its wording."""
        name = function.name
        role = role_of_name(name)
        if (
            role is None
            and function.owner is not None
            and name in {"__str__", "render", "build", "text", "content"}
        ):
            role = role_of_name(function.owner.name)
        for value, place in frame.returned:
            if not isinstance(value, Str):
                continue
            weak = role is None
            found: Role | None = role
            if found is None and (
                _opens(value) or (_SECTION_NAME.fullmatch(name) and _HEADING.match(_start(value)))
            ):
                found = "system"
            if found is not None and found != "user":
                self._emit_at(name, found, value, place, frame, certain=not weak, expand=True)

    def _named(self, name: str, role: Role, value: Value, node: ast.expr, frame: Frame) -> None:
        if isinstance(value, Seq):
            texts = [item for item in value.items if isinstance(item, Str)]
            if not texts or len(texts) < len(value.items):
                return
            value = Str(tuple(part for text in texts for part in text.parts))
        if not isinstance(value, Str) or _static_words(value.parts) < _ENOUGH_WORDS:
            return
        if frame.at_module_level or (frame.owner is not None and frame.function is None):
            changed = settled(value)
            assert isinstance(changed, Str)
            value = changed
        self._emit_at(name, role, value, frame.module.place(node), frame, certain=True, expand=True)

    def _message_class(self, made: Call, match: re.Match[str], frame: Frame) -> None:
        value = made.argument(0, "content") or made.argument(0, "template") or made.argument(0, "prompt")
        if match["role"] in {"System", "Developer"} and value is not None:
            expand = match["template"] is not None
            self._emit("system", "system", value, made.node, frame, certain=True, expand=expand)

    def _keywords(self, made: Call, frame: Frame) -> None:
        """A call of anything with a keyword that names a system prompt."""
        for keyword in _SYSTEM_KEYWORDS:
            pair = made.named.get(keyword)
            if (
                pair is not None
                and isinstance(pair[0], Str)
                and _static_words(pair[0].parts) >= _ENOUGH_WORDS
            ):
                self._emit(keyword, "system", pair[0], pair[1], frame, certain=True)
        pair = made.named.get("messages")
        if pair is not None and isinstance(pair[0], Seq):
            segments = self._messages(pair[0], frame)
            if segments:
                self._add("messages", segments, frame.module.place(made.node), certain=True)

    def _request(self, made: Call, frame: Frame) -> None:
        """A call of a model API: tools, then system, then messages."""
        segments: list[Segment] = []
        tools = made.named.get("tools")
        if tools is not None and isinstance(tools[0], Seq):
            for index, tool in enumerate(tools[0].items):
                segments.append(Segment(f"tools[{index}]", "tool", self._deep_parts(tool, tools[1], frame)))
            segments += self._order_of(tools[0], tools[1], frame)
        for keyword in _SYSTEM_KEYWORDS:
            if keyword in made.named:
                value, expression = made.named[keyword]
                segments += self._content(value, expression, keyword, "system", frame)
        for keyword in ("messages", "input", "contents"):
            value = made.named[keyword][0] if keyword in made.named else Thing()
            if isinstance(value, Seq):
                segments += self._messages(value, frame)
        if "prompt" in made.named and isinstance(made.named["prompt"][0], Str):
            value, expression = made.named["prompt"]
            segments.append(
                Segment("prompt", "prompt", strings.parts_of(self._machine(), value, expression, frame))
            )
        if segments:
            self._add("request", tuple(segments), frame.module.place(made.node), certain=True)

    def _messages(self, value: Seq, frame: Frame) -> tuple[Segment, ...]:
        spoken = [_spoken(item) if isinstance(item, Map) else (None, None) for item in value.items]
        if not any(role for role, _ in spoken):
            return ()
        last_user = max((i for i, (role, _) in enumerate(spoken) if role == "user"), default=None)
        segments: list[Segment] = []
        for index, (role, content) in enumerate(spoken):
            if role is not None and content is not None:
                newest = role == "user" and index == last_user
                node = ast.Constant("", lineno=1, col_offset=0, end_lineno=1, end_col_offset=0)
                segments += self._content(content, node, f"messages[{index}]", role, frame, newest=newest)
        return tuple(segments)

    def _content(
        self, value: Value, node: ast.expr, path: str, role: Role, frame: Frame, *, newest: bool = False
    ) -> list[Segment]:
        if isinstance(value, Seq) and value.items and all(isinstance(item, Map) for item in value.items):
            segments = []
            for index, block in enumerate(value.items):
                assert isinstance(block, Map)
                text = block.get("text") or block.get("content") or Str(())
                inner = f"{path}[{index}]" if not path.startswith("messages") else f"{path}.content[{index}]"
                marked = block.get("cache_control") is not None
                segments.append(Segment(inner, role, self._parts(text, node, frame), newest, marked))
            return segments
        return [Segment(path, role, self._parts(value, node, frame), newest)]

    def _parts(self, value: Value, node: ast.expr, frame: Frame) -> tuple[Part, ...]:
        if isinstance(value, Str):
            return value.parts
        traits = traits_of(value)
        if not traits and node.lineno == 1 and isinstance(node, ast.Constant):
            return ()
        if isinstance(node, ast.Constant) and traits:
            return (Hole(traits[0].label, traits[0].origin, traits, traits[0].mark.stability),)
        return strings.parts_of(self._machine(), value, node, frame)

    def _deep_parts(self, value: Value, node: ast.expr, frame: Frame) -> tuple[Part, ...]:
        match value:
            case Str():
                return value.parts
            case Map():
                return tuple(
                    part for _, inner in value.pairs for part in self._deep_parts(inner, node, frame)
                )
            case Seq():
                return tuple(part for inner in value.items for part in self._deep_parts(inner, node, frame))
            case Thing() if value.traits:
                return strings.parts_of(self._machine(), value, node, frame)
            case _:
                return ()

    def _order_of(self, tools: Seq, node: ast.expr, frame: Frame) -> list[Segment]:
        if not tools.traits:
            return []
        hole = Hole(
            frame.module.label(node), frame.module.place(node), tools.traits, tools.traits[0].mark.stability
        )
        return [Segment("tools", "tool", (hole,))]

    def _emit(
        self,
        name: str,
        role: Role,
        value: Value,
        node: ast.expr,
        frame: Frame,
        *,
        certain: bool,
        expand: bool = False,
    ) -> None:
        place = frame.module.place(node)
        for segment in self._content(value, node, name if role == "system" else "messages[0]", role, frame):
            parts = self._expanded(segment.parts, frame) if expand else segment.parts
            changed = Segment(segment.path, segment.role, parts, segment.newest, segment.breakpoint)
            self._add(name, (changed,), place, certain=certain)

    def _emit_at(
        self, name: str, role: Role, value: Str, place: Place, frame: Frame, *, certain: bool, expand: bool
    ) -> None:
        if _static_words(value.parts) < 1 and not any(isinstance(part, Hole) for part in value.parts):
            return
        parts = self._expanded(value.parts, frame) if expand else value.parts
        path = "system" if role == "system" else "messages[0]"
        self._add(name, (Segment(path, role, parts),), place, certain=certain)

    def _expanded(self, parts: tuple[Part, ...], frame: Frame) -> tuple[Part, ...]:
        """Placeholders in literals that nothing has filled yet are holes."""
        done: list[Part] = []
        for part in parts:
            if isinstance(part, Text) and part.open and part.place.path == frame.module.source.path:
                locate = templates.locator(part, frame.module)
                done += template_parts(part.text, locate, self._machine().vocabulary)
            else:
                done.append(part)
        return tuple(done)

    def _add(self, name: str, segments: tuple[Segment, ...], place: Place, *, certain: bool) -> None:
        holes = [
            part for segment in segments for part in flatten(segment.parts) if not isinstance(part, Text)
        ]
        if holes:
            prompt = Prompt(name, place, segments, certain=certain)
            for path in {hole.place.path for hole in holes}:
                self._found.setdefault(path, {}).setdefault((place, name, segments), prompt)

    def _machine(self) -> Interpreter:
        assert self.machine is not None
        return self.machine


def _spoken(value: Map) -> tuple[Role | None, Value | None]:
    role = value.get("role")
    if not isinstance(role, Str):
        return None, None
    speaker = role_of_speaker("".join(getattr(part, "text", "") for part in role.parts))
    return speaker, value.get("content")


def _static_words(parts: tuple[Part, ...]) -> int:
    return sum(count_words(part.text) for part in flatten(parts) if isinstance(part, Text))


def _start(value: Str) -> str:
    return value.parts[0].text if value.parts and isinstance(value.parts[0], Text) else ""


def _opens(value: Str) -> bool:
    return opens_like_prompt(_start(value))
