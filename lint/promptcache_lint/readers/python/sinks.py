"""Where a value becomes a prompt: calls of model APIs, messages, names and functions that promise a prompt.

A sink that is certain is a call or a message with a role. Names (``SYSTEM_PROMPT``, ``build_instructions``)
and wording ("You are …") are weaker: such a value must hold some text of its own to count.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.exposure import holds_input
from promptcache_lint.prompts import Hole, Prompt, Segment, Text, flatten
from promptcache_lint.readers.python import templates
from promptcache_lint.readers.python.bindings import Bindings
from promptcache_lint.readers.python.cache_keys import keys_of
from promptcache_lint.readers.python.callees import kind_of_call
from promptcache_lint.readers.python.entering import brought
from promptcache_lint.readers.python.following import goes_on, is_history
from promptcache_lint.readers.python.given_prompts import given_prompts
from promptcache_lint.readers.python.lending import is_rehearsal, told_by_callers
from promptcache_lint.readers.python.notes import Notes
from promptcache_lint.readers.python.objects import settled, settled_parts
from promptcache_lint.readers.python.repetition import held, proof
from promptcache_lint.readers.python.requests import (
    TALKS,
    Cutter,
    grows,
    is_tool,
    literal,
    sends,
    spoken,
    talk_of,
)
from promptcache_lint.readers.python.speakers import made_message, said_by_system
from promptcache_lint.readers.python.values import Map, Seq, Str
from promptcache_lint.readers.python.whole_requests import has_unseen_head, is_single
from promptcache_lint.readers.python.worded import is_notice, is_section, is_worded, start_of, static_words
from promptcache_lint.readers.wording_only import doubted
from promptcache_lint.wording import opens_like_code, role_of_name, role_of_speaker

if TYPE_CHECKING:
    from promptcache_lint.places import Place
    from promptcache_lint.prompts import Role
    from promptcache_lint.readers.python.calls import Call
    from promptcache_lint.readers.python.frame import Frame
    from promptcache_lint.readers.python.interpreter import Interpreter
    from promptcache_lint.readers.python.program import Function
    from promptcache_lint.readers.python.values import Value

__all__ = ["Sinks"]

_ENOUGH_WORDS = 3
_DECORATORS = {"system_prompt", "instructions", "dynamic_prompt", "dynamic_system_prompt"}
"""Libraries' decorators of functions whose result is a system prompt."""


class Sinks:
    """Collects the prompts of one file; the interpreter reports every value that may become one."""

    def __init__(self) -> None:
        self.machine: Interpreter | None = None
        self.bindings = Bindings()
        self.reading = ""
        """The file that is read now: what it hands to another file's prompt is a matter of its own."""
        self.doubtful = False
        """What is run now is run so by some objects, and otherwise by others: it proves nothing."""
        self._notes = Notes()
        self._found: dict[str, dict[tuple[object, ...], Prompt]] = {}
        self._rehearsed: list[Prompt] = []

    def take(self, path: str) -> list[Prompt]:
        """The prompts that have to do with a file, in the order of their discovery; they are given up."""
        prompts = told_by_callers(self._found.pop(path, {}).values(), self._rehearsed, path)
        self._rehearsed.clear()
        return prompts

    def called(self, made: Call, frame: Frame) -> None:
        """A call is about to be made."""
        speaker, said, is_template = made_message(made)
        if speaker is not None:
            if speaker == "system" and said is not None:
                self._emit("system", "system", said, made.node, frame, expand=is_template, sent=made.node)
            return
        kind = kind_of_call(made.path)
        if kind == "template":
            value = made.argument(0, "template")
            if isinstance(value, Str):
                self._emit("template", "prompt", value, made.node, frame, expand=True)
        elif kind == "tool":
            self._tool_class(made, frame)
        elif kind == "request":
            self._request(made, frame)
        else:
            self._keywords(made, frame)

    def built_dict(self, value: Map, node: ast.Dict, frame: Frame) -> None:
        """A dict display was evaluated: a system message stands for itself."""
        role, content = spoken(value)
        if role == "system" and content is not None:
            self._emit("system", "system", content, node, frame, sent=node)
        elif is_tool(value):
            segment = self._cutter(frame).tool(value, node)
            self._add("tool", (segment,), frame.module.place(node), frame)
        elif segments := self._cutter(frame).body(value, node):
            talks = grows(talk_of(value) or value)
            self._add("body", tuple(segments), frame.module.place(node), frame, sent=node, grows=talks)

    def built_list(self, value: Seq, node: ast.expr, frame: Frame) -> None:
        """A list or tuple display was evaluated: it may be a list of messages, or a pair of role and text."""
        if len(value.items) == 2 and isinstance(value.items[0], Str) and isinstance(node, ast.Tuple):
            speaker = "".join(getattr(part, "text", "") for part in value.items[0].parts)
            if role_of_speaker(speaker) == "system" and isinstance(value.items[1], Str):
                self._emit("system", "system", value.items[1], node, frame, expand=True)
            return
        segments = tuple(self._cutter(frame).messages(value))
        if len(segments) > (not grows(value)) and not isinstance(node, ast.Tuple):
            self._add("messages", segments, frame.module.place(node), frame, sent=node, grows=grows(value))

    def filled(self, value: Str | Seq, node: ast.expr, frame: Frame, *, anew: bool = False) -> None:
        """A template was filled. ``anew``: by what it calls each time, wherever that was said."""
        if isinstance(value, Str):
            self._emit("template", "prompt", value, node, frame, expand=True, sent=node, anew=anew)
            return
        talks = any(map(is_history, value.items))
        for said in said_by_system(value):
            self._emit("system", "system", said, node, frame, expand=True, sent=node, anew=anew, grows=talks)

    def assigned(self, name: str, value: Value, node: ast.expr, frame: Frame) -> None:
        """A value got a name, or was stored under a key or in an attribute."""
        role = role_of_name(name)
        if role is None or role == "user":
            if not frame.at_module_level or not isinstance(value, Str) or not is_worded(value, frame):
                return
            self._named(name, "system", value, node, frame, certain=False)
            return
        self._named(name, role, value, node, frame, certain=True)

    def returned(self, function: Function, frame: Frame) -> None:
        """A function was run by itself: what it returns may be a prompt by its name or its wording."""
        name = function.name
        role = role_of_name(name)
        if _DECORATORS & set(function.decorators):
            role = "system"
        if (
            role is None
            and function.owner is not None
            and name in {"__str__", "render", "build", "text", "content"}
        ):
            role = role_of_name(function.owner.name)
        for value, place in frame.returned:
            if not isinstance(value, Str) or opens_like_code(start_of(value)):
                continue
            weak = role is None
            found: Role | None = role
            if found is None and (is_worded(value, frame) or is_section(name, value)):
                found = "system"
            if found is not None and found != "user":
                called = bool(_DECORATORS & set(function.decorators))  # by the library, for each run
                sent = function.node if called else None
                self._emit_at(name, found, value, place, frame, certain=not weak, sent=sent)

    def _named(
        self, name: str, role: Role, value: Value, node: ast.expr, frame: Frame, *, certain: bool
    ) -> None:
        if isinstance(value, Seq):
            texts = [item for item in value.items if isinstance(item, Str)]
            if not texts or len(texts) < len(value.items):
                return
            value = Str(tuple(part for text in texts for part in text.parts))
        if not isinstance(value, Str) or static_words(value.parts) < _ENOUGH_WORDS or is_notice(value):
            return
        if frame.at_module_level or (frame.owner is not None and frame.function is None):
            changed = settled(value)
            assert isinstance(changed, Str)
            value = changed
        self._emit_at(name, role, value, frame.module.place(node), frame, certain=certain)

    def _tool_class(self, made: Call, frame: Frame) -> None:
        """A tool made by a class of a library: its name and description are sent."""
        value = made.argument(99, "description")
        if isinstance(value, Str):
            segment = Segment("tools[0]", "tool", value.parts)
            self._add("tool", (segment,), frame.module.place(made.node), frame)

    def _keywords(self, made: Call, frame: Frame) -> None:
        """A call of anything with a keyword that names a system prompt."""
        if not made.named and not made.path.endswith((".bind_tools", ".with_instructions")):
            return
        for keyword, given, expression, anew in given_prompts(self._machine(), made, frame):
            if static_words(given.parts) >= _ENOUGH_WORDS:
                value = settled(given) if frame.at_module_level and not anew else given
                sent = made.node if anew or sends(made.path) else None
                self._emit(keyword, "system", value, expression, frame, sent=sent, anew=anew, grows=anew)
        listed = made.named.get("tools")
        named = listed is not None and isinstance(listed[0], Seq) and listed[0].kind == "set"
        tools = [] if named else self._cutter(frame).tools(made)  # a bare set is of names: no API takes it
        if tools:
            self._add("tools", tuple(tools), frame.module.place(made.node), frame)
        pair = made.named.get("messages")
        if pair is not None and isinstance(pair[0], Seq):
            segments = tuple(self._cutter(frame).messages(pair[0]))
            place = frame.module.place(made.node)
            if segments:
                self._add("messages", segments, place, frame, sent=made.node, grows=grows(pair[0]))

    def _request(self, made: Call, frame: Frame) -> None:
        """A call of a model API: tools, then system, then messages."""
        segments = self._cutter(frame).request(made)
        place = frame.module.place(made.node)
        if segments:
            model = literal(made.argument(0, "model") if "model" in made.named else None)
            talks = any(grows(made.named[name][0]) for name in TALKS if name in made.named)
            self._add(
                "request", segments, place, frame, model=model, sent=made.node, grows=talks, request=made
            )
        if keys := keys_of(made, frame):
            self._keep(place.path, Prompt("request", place, (), practices=keys))

    def _cutter(self, frame: Frame) -> Cutter:
        return Cutter(self._machine(), frame)

    def _emit(
        self,
        name: str,
        role: Role,
        value: Value,
        node: ast.expr,
        frame: Frame,
        *,
        expand: bool = False,
        sent: ast.AST | None = None,
        anew: bool = False,
        grows: bool = False,
    ) -> None:
        place = frame.module.place(node)
        path = name if role == "system" else "messages[0]"
        for segment in self._cutter(frame).content(value, node, path, role):
            parts = templates.expanded(segment.parts, frame, self._machine()) if expand else segment.parts
            cut = (replace(segment, parts=parts),)
            self._add(name, cut, place, frame, sent=sent, anew=anew, grows=grows)

    def _emit_at(
        self,
        name: str,
        role: Role,
        value: Str,
        place: Place,
        frame: Frame,
        *,
        certain: bool,
        sent: ast.AST | None = None,
    ) -> None:
        if static_words(value.parts) < 1 and not any(isinstance(part, Hole) for part in value.parts):
            return
        parts = templates.expanded(value.parts, frame, self._machine())
        parts = parts if certain else doubted(parts)
        if role == "system" and role_of_name(name) != "system" and holds_input(parts):
            role = "prompt"  # only its wording speaks for a system prompt, and it holds the turn's own text
        path = "system" if role == "system" else "messages[0]"
        self._add(name, (Segment(path, role, parts),), place, frame, certain=certain, sent=sent)

    def _add(
        self,
        name: str,
        segments: tuple[Segment, ...],
        place: Place,
        frame: Frame,
        *,
        certain: bool = True,
        model: str = "",
        sent: ast.AST | None = None,
        grows: bool = False,
        anew: bool = False,
        request: Call | None = None,
    ) -> None:
        """Keep a prompt. ``sent``: what sends it, or makes a message of it; None if a name only says so."""
        if frame.kept:
            segments = tuple(replace(segment, parts=settled_parts(segment.parts)) for segment in segments)
        segments = held(segments, frame)
        if self._notes.covers(segments, self._found.values()):
            return
        holes = [
            part for segment in segments for part in flatten(segment.parts) if not isinstance(part, Text)
        ]
        paths = {hole.place.path for hole in holes}
        marked = any(segment.breakpoint for segment in segments)
        if model or marked:
            paths.add(place.path)
        proven, before = proof(sent, holes, frame, self._machine().running)
        proven = (proven or anew) and not self.doubtful
        talks, grows = grows, proven and goes_on(sent, frame, seen=grows, before=before)
        made = Prompt(name, place, segments, certain, model=model, proven=proven, grows=grows)
        if request is not None:
            headed = has_unseen_head(request, segments, grows=talks)
            made = replace(made, headed=headed, single=not talks and is_single(request))
        if marked:
            paths.add(self.reading)
            self._rehearsed += [made] if is_rehearsal(self._machine().running) else []
        for path in paths:
            self._keep(path, made)
        if paths and self.reading not in paths:
            here = tuple(replace(segment, parts=brought(segment.parts, self.reading)) for segment in segments)
            if here != segments:
                self._keep(self.reading, replace(made, segments=here))

    def _keep(self, path: str, prompt: Prompt) -> None:
        known = self._found.setdefault(path, {})
        key = (prompt.place, prompt.name, prompt.segments)
        if prompt.proven or key not in known:
            known[key] = prompt

    def _machine(self) -> Interpreter:
        assert self.machine is not None
        return self.machine
