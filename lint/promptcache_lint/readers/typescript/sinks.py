"""Where a value becomes a prompt: calls of model libraries, lists of messages, names and wording.

A value that a library sends is certain. Names (``systemPrompt``, ``instructions``, a function's name) and
wording ("You are …") are weaker: such a value must hold some text of its own, and it is let off where the
calls show that its volatile parts only ever reach what is new in any case.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Prompt, Segment, Text, flatten
from promptcache_lint.readers.placeholders import template_parts
from promptcache_lint.readers.python.objects import settled
from promptcache_lint.readers.python.values import Map, Seq, Str
from promptcache_lint.readers.routing_keys import key_practices
from promptcache_lint.readers.typescript import filling
from promptcache_lint.readers.typescript.absolution import absolved_in, without
from promptcache_lint.readers.typescript.bodies import is_body
from promptcache_lint.readers.typescript.clocks import literal
from promptcache_lint.readers.typescript.content import content_segments, is_marked, message_segments, spoken
from promptcache_lint.readers.typescript.declared import is_declared_sink
from promptcache_lint.readers.typescript.following import goes_on
from promptcache_lint.readers.typescript.marks import mark_practices
from promptcache_lint.readers.typescript.own_text import ENOUGH_WORDS, is_headed, opens, own_words
from promptcache_lint.readers.typescript.repetition import is_made_anew
from promptcache_lint.readers.typescript.requests import API, SYSTEM_KEYS, conversations_of, request_segments
from promptcache_lint.readers.typescript.unmarked import unmarked
from promptcache_lint.readers.typescript.written_out import is_written_out, may_grow
from promptcache_lint.readers.wording_only import doubted, talks_to_model
from promptcache_lint.wording import role_of_name, role_of_speaker

if TYPE_CHECKING:
    from tree_sitter import Node

    from promptcache_lint.places import Place
    from promptcache_lint.prompts import Part, Practice, Role
    from promptcache_lint.readers.python.values import Value
    from promptcache_lint.readers.typescript.calls import Call
    from promptcache_lint.readers.typescript.frame import Frame
    from promptcache_lint.readers.typescript.machine import Machine
    from promptcache_lint.readers.typescript.module import Function

__all__ = ["Sinks"]

_TEMPLATE_NAME = re.compile(r"[A-Z][A-Z0-9_]*|\w*(?:Template|Prefix|Suffix|Header|Base)")
"""What is just called ``prompt`` is a user's task, or a question in a dialog, as often as a fixed prompt."""
_SECTION_NAME = re.compile(r"\w*(?:Section|Block|Preamble|Rules|Guidelines|Skills)", re.IGNORECASE)


class Sinks:
    """Collects the prompts of one file; the machine reports every value that may become one."""

    def __init__(self) -> None:
        self.machine: Machine | None = None
        self._found: dict[str, dict[tuple[object, ...], tuple[Prompt, bool]]] = {}
        self._strong: dict[str, list[Prompt]] = {}
        self._kept: set[Place] = set()
        self._lone: dict[int, tuple[Value, tuple[object, ...]]] = {}

    def take(self, path: str) -> list[Prompt]:
        """The prompts that have to do with a file, in the order of their discovery; they are given up."""
        found = list(self._found.pop(path, {}).values())
        absolved = absolved_in(self._strong.pop(path, []), [prompt for prompt, sent in found if sent])
        self._lone.clear()
        return [without(prompt, absolved) if absolved else prompt for prompt, _ in found]

    def called(self, made: Call, frame: Frame) -> None:
        """A call is about to be made."""
        if is_declared_sink(made, self._machine().vocabulary):
            self._declared(made, frame)
        elif API.fullmatch(made.path) or is_body(made, frame):
            self._request(made, frame)
        elif made.arguments:
            self._keywords(made, frame)

    def built_object(self, value: Map, node: Node, frame: Frame) -> None:
        """An object was written: a system message stands for itself."""
        for practice in mark_practices(self._machine(), value, node, frame):
            self.practised(practice, frame)
        role, content = spoken(value)
        if role == "system" and content is not None:
            segments = content_segments(content, node, "system", "system", frame, marked=is_marked(value))
            if not is_made_anew(node, frame):
                self._kept.update(part.place for segment in segments for part in flatten(segment.parts))
            key = self._add("system", segments, frame.module.place(node), frame, strength=1, node=node)
            if key is not None:
                self._lone[id(value)] = (value, key)

    def built_list(self, value: Seq, node: Node, frame: Frame) -> None:
        """An array was written: it may be a list of messages, or a pair of role and text."""
        if len(value.items) == 2 and isinstance(value.items[1], Str):
            speaker = literal(value.items[0])
            if speaker is not None and role_of_speaker(speaker) == "system" and own_words(value.items[1]):
                self._emit("system", "system", value.items[1], node, frame, strength=1, expand=True)
                return
        self.messages(value, node, frame)

    def messages(self, value: Seq, node: Node, frame: Frame) -> None:
        """A list of messages that may be sent."""
        segments = message_segments(value, node, frame)
        if len(segments) > (not may_grow(value)):
            if any(segment.breakpoint for segment in segments):
                self._forget(value)
            talks = may_grow(value)
            place = frame.module.place(node)
            self._add("messages", segments, place, frame, strength=2, node=node, grows=talks)

    def filled(self, value: Str, made: Call, frame: Frame) -> None:
        """A template got its values; it is a prompt by its wording."""
        if self._may_be_prompt(value, frame):
            self._emit("template", "prompt", value, made.node, frame, strength=1)

    def practised(self, practice: Practice, frame: Frame) -> None:
        """Something is done to a conversation, whatever its text."""
        path = frame.module.source.path
        prompt = Prompt("", practice.place, (), practices=(practice,))
        self._found.setdefault(path, {}).setdefault((practice.code, practice.place), (prompt, False))

    def element(self, name: str, value: Str, node: Node, frame: Frame) -> None:
        """A JSX element whose name says that it is a system message."""
        self._emit(name, "system", value, node, frame, strength=1)

    def assigned(
        self,
        name: str,
        value: Value,
        node: Node,
        frame: Frame,
        *,
        key: bool = False,
        per_object: bool = False,
    ) -> None:
        """A value got a name, or was stored under a key or in a field."""
        role = role_of_name(name)
        weak = role is None or role == "user"
        if role is None or role == "user":
            top = frame.at_module_level and not key
            if not top or not isinstance(value, Str) or not self._may_be_prompt(value, frame):
                return
            role = "system"
        if role == "prompt" and not _TEMPLATE_NAME.fullmatch(name) and not opens(value):
            return
        if frame.at_module_level and not per_object:
            value = settled(value)
        if isinstance(value, Seq) and value.items and all(isinstance(item, Map) for item in value.items):
            if any(isinstance(item, Map) and item.get("text") is not None for item in value.items):
                segments = content_segments(value, node, name, role, frame)
                self._add(name, segments, frame.module.place(node), frame, strength=1)
            return
        if isinstance(value, Seq):
            joined = [item for item in value.items if isinstance(item, Str)]
            if not joined or len(joined) < len(value.items):
                return
            value = Str(tuple(part for text in joined for part in text.parts))
        if isinstance(value, Str) and own_words(value) >= ENOUGH_WORDS:
            self._emit(name, role, value, node, frame, strength=0, expand=True, weak=weak)

    def returned(self, function: Function, frame: Frame) -> None:
        """A function was run by itself: what it returns may be a prompt by its name or its wording."""
        role = role_of_name(function.name) if function.name else None
        if role is None and function.owner is not None and function.name in {"toString", "render", "build"}:
            role = role_of_name(function.owner.name)
        for value, place in frame.returned:
            if not isinstance(value, Str):
                continue
            found = role
            if found is None and (
                self._may_be_prompt(value, frame)
                or (_SECTION_NAME.fullmatch(function.name) and is_headed(value))
            ):
                found = "system"
            if found is not None and found != "user" and (own_words(value) or role is not None):
                parts = self._expanded(value.parts, frame)
                parts = parts if role is not None else doubted(parts)
                path = "system" if found == "system" else "messages[0]"
                segments = (Segment(path, found, parts),)
                self._add(function.name, segments, place, frame, strength=0, certain=role is not None)

    def _keywords(self, made: Call, frame: Frame) -> None:
        """A call of anything with an option that names a system prompt."""
        for given, node in made.arguments:
            if not isinstance(given, Map):
                continue
            for keyword in SYSTEM_KEYS:
                value = given.get(keyword)
                parts = value.get("parts") if isinstance(value, Map) else None
                if isinstance(parts, Seq):
                    self._emit(keyword, "system", parts, node, frame, strength=1)
                if isinstance(value, Str) and own_words(value) >= ENOUGH_WORDS:
                    self._emit(keyword, "system", value, node, frame, strength=1)

    def _request(self, made: Call, frame: Frame) -> None:
        """A call of a model API: tools, then system, then messages."""
        given = next((value for value in made.values if isinstance(value, Map)), None)
        if given is None:
            return
        node = made.arguments[0][1] if made.arguments else made.node
        for messages in conversations_of(given):
            if any(segment.breakpoint for segment in message_segments(messages, node, frame)):
                self._forget(messages)
        segments = request_segments(self._machine(), given, node, frame)
        place = frame.module.place(made.node)
        talks = any(may_grow(given.get(key)) for key in ("messages", "input", "contents"))
        single = not talks and is_written_out(node, frame)
        self._add("request", segments, place, frame, strength=3, node=made.node, grows=talks, single=single)
        keys = key_practices(given, place)
        keys += unmarked(given.get("model"), segments, place, frame.module.source.text)
        if keys:
            prompt = Prompt("request", place, (), practices=keys)
            self._found.setdefault(place.path, {}).setdefault((place, "keys"), (prompt, True))

    def _declared(self, made: Call, frame: Frame) -> None:
        """A call that a project declares to send a prompt: its texts, its options, its messages."""
        self._request(made, frame)
        given = [("prompt", value, node) for value, node in made.arguments]
        for value, node in made.arguments:
            pairs = value.pairs if isinstance(value, Map) else ()
            given += [(key, item, node) for key, item in pairs if key is not None]
        for name, value, node in given:
            if isinstance(value, Str):
                self._emit(
                    name,
                    "system" if role_of_name(name) == "system" else "prompt",
                    value,
                    node,
                    frame,
                    strength=1,
                )
            elif isinstance(value, Seq):
                self.messages(value, node, frame)

    def _emit(
        self,
        name: str,
        role: Role,
        value: Value,
        node: Node,
        frame: Frame,
        *,
        strength: int,
        expand: bool = False,
        weak: bool = False,
    ) -> None:
        path = "system" if role == "system" else "messages[0]"
        for segment in content_segments(value, node, path, role, frame):
            parts = self._expanded(segment.parts, frame) if expand else segment.parts
            parts = doubted(parts) if weak else parts
            cut = (replace(segment, parts=parts),)
            sent = node if strength else None
            self._add(name, cut, frame.module.place(node), frame, strength=strength, node=sent)

    def _expanded(self, parts: tuple[Part, ...], frame: Frame) -> tuple[Part, ...]:
        """Placeholders in literals that nothing has filled yet are holes."""
        done: list[Part] = []
        for part in parts:
            if isinstance(part, Text) and part.open and part.place.path == frame.module.source.path:
                text, locate = filling.locator(part, frame.module)
                done += template_parts(text, locate, self._machine().vocabulary)
            else:
                done.append(part)
        return tuple(done)

    def _add(
        self,
        name: str,
        segments: tuple[Segment, ...],
        place: Place,
        frame: Frame,
        *,
        strength: int,
        certain: bool = True,
        node: Node | None = None,
        grows: bool = False,
        single: bool = False,
    ) -> tuple[object, ...] | None:
        """Keep a prompt that has holes; strength 3 is a request, 2 a list of messages, 0 only a name."""
        here = frame.module.source.path
        holes = [
            part for segment in segments for part in flatten(segment.parts) if not isinstance(part, Text)
        ]
        kept = not self._kept.isdisjoint(hole.place for hole in holes)
        proven = strength >= 1 and node is not None and not kept and is_made_anew(node, frame)
        grows = grows or (
            proven and bool(holes) and strength > 1 and node is not None and goes_on(node, frame.module)
        )
        prompt = Prompt(name, place, segments, certain=certain, proven=proven, grows=grows, single=single)
        if strength >= 2:
            self._strong.setdefault(here, []).append(prompt)
        if not holes:
            return None
        key = (place, name, segments)
        for path in {hole.place.path for hole in holes}:
            self._found.setdefault(path, {}).setdefault(key, (prompt, strength >= 1))
        return key

    def _forget(self, messages: Seq) -> None:
        """Drop what was said of single messages: the list they stand in declares breakpoints."""
        for item in messages.items:
            known = self._lone.pop(id(item), None)
            if known is not None:
                for prompts in self._found.values():
                    prompts.pop(known[1], None)

    @staticmethod
    def _may_be_prompt(value: Value, frame: Frame) -> bool:
        """Whether a text begins like a prompt, in a module that has to do with models."""
        return opens(value) and talks_to_model(frame.module.source)

    def _machine(self) -> Machine:
        assert self.machine is not None
        return self.machine
