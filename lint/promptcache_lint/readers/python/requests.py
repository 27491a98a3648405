"""What a request is made of.

The segments in tools, system prompt and messages, as values of a Python program.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Hole, Segment
from promptcache_lint.readers.once import sets_up
from promptcache_lint.readers.python import strings
from promptcache_lint.readers.python.callees import kind_of_call
from promptcache_lint.readers.python.drawn import drawn_run
from promptcache_lint.readers.python.marks import literal, marked_by
from promptcache_lint.readers.python.values import Map, Seq, Str, Thing, map_traits, traits_of, with_traits
from promptcache_lint.wording import role_of_speaker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.places import Place
    from promptcache_lint.prompts import Part, Role, Trait
    from promptcache_lint.readers.python.calls import Call
    from promptcache_lint.readers.python.frame import Frame
    from promptcache_lint.readers.python.interpreter import Interpreter
    from promptcache_lint.readers.python.values import Value

__all__ = [
    "SYSTEM_KEYWORDS",
    "TALKS",
    "Cutter",
    "grows",
    "is_tool",
    "literal",
    "said_in",
    "sends",
    "spoken",
    "talk_of",
]

SYSTEM_KEYWORDS = (
    *("system", "instructions", "system_prompt", "system_instruction", "system_message"),
    *("developer_message", "preamble", "system_template", "system_instructions", "developer_instructions"),
    *("instruction", "global_instruction", "backstory", "custom_instructions", "additional_instructions"),
)
TALKS = ("messages", "contents", "input")
"""Where a request has its messages."""
_OF_A_BODY = (
    *("model", "max_tokens", "max_output_tokens", "anthropic_version", "temperature", "stream"),
    *("generationConfig", "generation_config", "inferenceConfig", "modelId"),
)
_OF_ONE_REQUEST = {"GenerateContentConfig", "GenerateContentConfigDict", "ChatCompletionRequest"}
"""Classes of options that go with one request."""
_NOWHERE = ast.Constant("", lineno=1, col_offset=0, end_lineno=1, end_col_offset=0)


def spoken(value: Map) -> tuple[Role | None, Value | None]:
    """Who speaks in a message, and what."""
    role = value.get("role")
    if not isinstance(role, Str):
        return None, None
    speaker = role_of_speaker("".join(getattr(part, "text", "") for part in role.parts))
    content = value.get("content")
    return speaker, content if content is not None else value.get("parts")


def grows(value: Value) -> bool:
    """Whether a list of messages has, or may have, more of them than are written here: a history."""
    if not isinstance(value, Seq):
        return not isinstance(value, Str)
    return value.partial or any(not isinstance(item, Map) for item in value.items)


def talk_of(body: Map) -> Value | None:
    """The messages of a request's body."""
    found = (body.get(name) for name in TALKS)
    return next((value for value in found if value is not None), None)


def sends(path: str) -> bool:
    """Whether a call with a system prompt asks a model, by its name, and makes no agent that keeps it."""
    last = path.rpartition(".")[2]
    return last in _OF_ONE_REQUEST or (not last[:1].isupper() and not sets_up(last))


def is_tool(value: Map) -> bool:
    """Whether a dict is a tool's definition, as a provider wants it."""
    inner = value.get("function") or value.get("toolSpec")
    if isinstance(inner, Map) and inner.get("name") is not None:
        return inner.get("parameters") is not None or inner.get("inputSchema") is not None
    named = value.get("name") is not None and value.get("description") is not None
    return named and (value.get("input_schema") is not None or value.get("parameters") is not None)


class Cutter:
    """Cuts the arguments of one call, or one list or dict, into segments."""

    def __init__(self, machine: Interpreter, frame: Frame) -> None:
        self._machine = machine
        self._frame = frame

    def request(self, made: Call) -> tuple[Segment, ...]:
        """The segments of a call of a model API, in the provider's order."""
        segments = self.tools(made)
        for keyword in SYSTEM_KEYWORDS:
            if keyword in made.named:
                segments += self.instructions(*made.named[keyword], keyword)
        options, expression = made.named.get("config", (None, made.node))
        if isinstance(options, Map) and (inner := options.get("system_instruction")) is not None:
            segments += self.instructions(inner, expression, "system_instruction")
        for keyword in ("messages", "input", "contents"):
            value = made.named[keyword][0] if keyword in made.named else Thing()
            if isinstance(value, Seq):
                segments += self.messages(value)
        if "prompt" in made.named and isinstance(made.named["prompt"][0], Str):
            value, expression = made.named["prompt"]
            parts = strings.parts_of(self._machine, value, expression, self._frame)
            segments.append(Segment("prompt", "prompt", parts))
        if segments and ("cache_control" in made.named or "cache_control_injection_points" in made.named):
            segments[-1] = replace(segments[-1], breakpoint=True)
        return tuple(segments)

    def body(self, value: Map, node: ast.expr) -> list[Segment]:
        """The segments of a dict that is a request's body with a system prompt of its own; else none."""
        if talk_of(value) is None or not any(value.get(name) is not None for name in _OF_A_BODY):
            return []
        for keyword in ("system", "system_instruction", "systemInstruction", "instructions"):
            system = value.get(keyword)
            if isinstance(system, Map):
                system = system.get("parts")
            if isinstance(system, Str | Seq):
                talk = talk_of(value)
                messages = self.messages(talk) if isinstance(talk, Seq) else []
                return self.content(system, node, keyword, "system") + messages
        return []

    def instructions(self, value: Value, node: ast.expr, keyword: str) -> list[Segment]:
        """The segments of a system prompt: a text, a list of texts or blocks, or a message of parts."""
        marked = isinstance(value, Seq) and any(marked_by(item) for item in value.items)
        text = said_in(value) if not marked and not isinstance(value, Str) else None
        return self.content(value if text is None else text, node, keyword, "system")

    def tools(self, made: Call) -> list[Segment]:
        """The tools of a call: their definitions, then their order."""
        pair = made.named.get("tools")
        if pair is None and kind_of_call(made.path) == "request":
            pair = made.named.get("functions")  # of another call they may be the functions of a file
        if pair is None and made.path.endswith(".bind_tools") and made.arguments:
            pair = made.arguments[0]
        return self.tool_list(*pair) if pair is not None and isinstance(pair[0], Seq) else []

    def tool_list(self, tools: Value, node: ast.expr) -> list[Segment]:
        """The segments of a list of tools. Its order is a fault of its own; what a tool says is another."""
        assert isinstance(tools, Seq)
        frame = self._frame
        order = tuple(dict.fromkeys(trait for trait in _of_the_order(tools) if trait.mark.order))
        segments: list[Segment] = []
        for index, tool in enumerate(tools.items):
            parts = self._deep(map_traits(tool, lambda trait: None if trait in order else trait), node)
            marked = marked_by(tool)
            segments.append(Segment(f"tools[{index}]", "tool", parts, **marked))
        mark = self._machine.vocabulary.mark("PC301")
        if order and mark is not None:
            traits = (replace(order[0], mark=mark), *(trait for trait in tools.traits if trait not in order))
            hole = Hole(frame.module.label(node), frame.module.place(node), traits, mark.stability)
            segments.append(Segment("tools", "tool", (hole,)))
        return segments

    def tool(self, definition: Map, node: ast.expr) -> Segment:
        """One tool's definition."""
        return Segment("tools[0]", "tool", self._deep(definition, node), **marked_by(definition))

    def messages(self, value: Seq) -> list[Segment]:
        """The segments of a list of messages; none where it is no such list."""
        rows = [spoken(item) if isinstance(item, Map) else (None, None) for item in value.items]
        if not any(role for role, _ in rows):
            return []
        roles = [role for role, _ in rows]
        fresh, notes = _of_the_turn(roles), _behind_the_history(roles)
        segments: list[Segment] = []
        drawn = drawn_run(value, roles, fresh, self._frame)
        for index, (role, content) in enumerate(rows):
            if drawn is not None and index == drawn[0]:
                segments.append(drawn[1])
            if role is not None and content is not None:
                newest = index >= (fresh if role == "user" else notes if role == "system" else len(rows))
                cut = self.content(content, _NOWHERE, f"messages[{index}]", role, newest=newest)
                item = value.items[index]
                marked = marked_by(item)
                if cut and marked:
                    cut[-1] = replace(cut[-1], **marked)
                segments += cut
        return segments

    def content(
        self, value: Value, node: ast.expr, path: str, role: Role, *, newest: bool = False
    ) -> list[Segment]:
        """The segments of a message's or a system prompt's content: a text, or a list of blocks."""
        if not (
            isinstance(value, Seq) and value.items and all(isinstance(item, Map) for item in value.items)
        ):
            return [Segment(path, role, self._parts(value, node), newest)]
        segments: list[Segment] = []
        for index, block in enumerate(value.items):
            assert isinstance(block, Map)
            marked = marked_by(block)
            text = block.get("text") or block.get("content")
            if text is None and marked and segments:
                segments[-1] = replace(segments[-1], **marked)
                continue  # a block that is a breakpoint and nothing else, as Bedrock has them
            inner = f"{path}.content[{index}]" if path.startswith("messages") else f"{path}[{index}]"
            segments.append(Segment(inner, role, self._parts(text or Str(()), node), newest, **marked))
        return segments

    def _parts(self, value: Value, node: ast.expr) -> tuple[Part, ...]:
        if isinstance(value, Str):
            return value.parts
        traits = traits_of(value)
        if not traits and node is _NOWHERE:
            return (Hole("…", self._nowhere()),) if not isinstance(value, Seq | Map) else ()
        if isinstance(node, ast.Constant) and traits:
            return (_hole(traits),)
        return strings.parts_of(self._machine, value, node, self._frame)

    def _nowhere(self) -> Place:
        return self._frame.module.source.place(0, 0)

    def _deep(self, value: Value, node: ast.expr) -> tuple[Part, ...]:
        match value:
            case Str():
                return value.parts
            case Map():
                return tuple(part for _, inner in value.pairs for part in self._deep(inner, node))
            case Seq():
                return tuple(part for inner in value.items for part in self._deep(inner, node))
            case Thing() if any(not trait.mark.order for trait in value.traits):
                one = map_traits(value, lambda trait: None if trait.mark.order else trait)
                return strings.parts_of(self._machine, one, node, self._frame)  # which item, the list tells
            case _:
                return ()


def said_in(value: Value) -> Str | None:
    """The text of a system prompt: itself, a list of texts, a message of parts; None where it is none."""
    match value:
        case Str():
            return value
        case Map():
            inner = value.get("parts") or value.get("text") or value.get("content")
            return said_in(inner) if inner is not None else None
        case Seq(items=items) if items and value.kind != "set":
            texts = [said_in(item) or _mark_of(item) for item in items]
            known = [text for text in texts if text is not None]
            return Str(tuple(part for text in known for part in text.parts)) if known else None
        case _:
            return None


def _of_the_order(tools: Seq) -> Iterator[Trait]:
    """The faults of the order of tools: the list's own, and those of items of which nothing else is known.

    The order of what a tool's description lists is a fault of that description.
    """
    yield from tools.traits
    for item in tools.items:
        yield from traits_of(item) if not isinstance(item, Map | Str) else ()


def _mark_of(value: Value) -> Str | None:
    """A value of which nothing is known but that it changes, as a text."""
    marked = with_traits(Str(()), traits_of(value)) if isinstance(value, Thing) else None
    return marked if isinstance(marked, Str) and marked.parts else None


def _of_the_turn(roles: list[Role | None]) -> int:
    """From where on messages of the user are new in each turn: behind the history, or the last one.

    A message of which nothing is known stands for a history, which grows in front of those; a hint to the
    model among them changes nothing.
    """
    last = max((index for index, role in enumerate(roles) if role == "user"), default=0)
    history = max((index for index, role in enumerate(roles) if role is None), default=last)
    return history + 1 if history < last and set(roles[history + 1 :]) <= {"user", "system"} else last


def _hole(traits: tuple[Trait, ...]) -> Hole:
    return Hole(traits[0].label, traits[0].origin, traits, traits[0].mark.stability)


def _behind_the_history(roles: list[Role | None]) -> int:
    """From where on a message of the system is a note for this turn: nothing behind it is ever reused."""
    history = max((index for index, role in enumerate(roles) if role is None), default=len(roles))
    return history + 1 if set(roles[history + 1 :]) <= {"user", "system"} else len(roles)
