"""The entries of a conversation, frozen as they were sent.

An entry never changes once it exists. What came from a model is kept as the JSON text it arrived as, with the
dialect it speaks, so that a form in the same dialect replays it and a form in another translates it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Dialect = Literal["text", "openai", "responses", "anthropic", "gemini"]


@dataclass(frozen=True, slots=True)
class UserEntry:
    """What the user said, with the facts of that moment written into ``text``.

    ``parts`` is the JSON text of further content parts (images, attachments), or None: then the message is a
    plain string wherever the dialect has such messages, and stays one.
    """

    text: str
    parts: str | None = None


@dataclass(frozen=True, slots=True)
class NoteEntry:
    """A change the model should know of, appended as a user message of its own."""

    text: str


@dataclass(frozen=True, slots=True)
class AssistantEntry:
    """What the model said: ``payload`` is JSON text in ``dialect`` (for "text": a JSON string)."""

    dialect: Dialect
    payload: str

    def value(self) -> Any:
        """Return a fresh copy of the payload, which the caller may change without harm."""
        return json.loads(self.payload)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The answer to one tool call; ``text`` is what the model reads, ``name`` the tool that was called.

    ``custom`` tells that the call was of OpenAI's kind that takes free text.
    """

    call_id: str
    text: str
    failed: bool = False
    name: str = ""
    custom: bool = False


@dataclass(frozen=True, slots=True)
class ResultsEntry:
    """The answers to all tool calls of the assistant entry before it, in the order of the calls."""

    results: tuple[ToolResult, ...]


@dataclass(frozen=True, slots=True)
class ToolsEntry:
    """Tools that came later, as JSON texts of their definitions."""

    tools: tuple[str, ...]


Entry: TypeAlias = UserEntry | NoteEntry | AssistantEntry | ResultsEntry | ToolsEntry


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call the model asks for; ``arguments`` is the JSON text of its arguments.

    For a ``custom`` tool of OpenAI's it is free text.
    """

    id: str
    name: str
    arguments: str
    custom: bool = False


def compact(value: Any) -> str:
    """Write JSON in the order its keys have, without spaces; reads back as the same value.

    Raises ValueError for NaN, infinities and lone surrogates, which are no JSON that could be sent.
    """
    written = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    found = surrogate_in(written)
    if found:
        raise ValueError(f"it holds {found}")
    return written


def surrogate_in(text: str) -> str | None:
    """Return words for the first lone surrogate in a text; None when there is none."""
    if text.isascii():
        return None
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return f"the lone surrogate U+{ord(text[error.start]):04X}"
    return None


def calls_of(entry: AssistantEntry) -> tuple[ToolCall, ...]:
    """Return the tool calls in an assistant entry that await a result, in order."""
    value = entry.value()
    if entry.dialect == "openai":
        return tuple(_openai_call(call) for call in value.get("tool_calls") or ())
    if entry.dialect == "responses":
        kinds = {"function_call": "arguments", "custom_tool_call": "input"}
        return tuple(
            ToolCall(item["call_id"], item["name"], item[kinds[kind]], custom=kind == "custom_tool_call")
            for item in value
            if (kind := item.get("type")) in kinds
        )
    if entry.dialect == "anthropic" and isinstance(value, list):
        return tuple(
            ToolCall(item["id"], item["name"], compact(item["input"]))
            for item in value
            if item.get("type") == "tool_use"
        )
    return _gemini_calls(value) if entry.dialect == "gemini" else ()


def _openai_call(call: dict[str, Any]) -> ToolCall:
    if call.get("type") == "custom":
        return ToolCall(call["id"], call["custom"]["name"], call["custom"]["input"], custom=True)
    return ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])


def _gemini_calls(parts: list[dict[str, Any]]) -> tuple[ToolCall, ...]:
    """Return the calls among Gemini's parts; one without an id is known by its name and its number."""
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    return tuple(
        ToolCall(call.get("id") or f"{call['name']}#{number}", call["name"], compact(call.get("args") or {}))
        for number, call in enumerate(calls)
    )


def text_of(entry: AssistantEntry) -> str:
    """Return the words of an assistant entry, without reasoning and calls."""
    value = entry.value()
    if isinstance(value, str):
        return value
    if entry.dialect == "openai":
        content = value.get("content") or value.get("refusal") or (value.get("audio") or {}).get("transcript")
        return content if isinstance(content, str) else _joined(content or ())
    if entry.dialect == "responses":
        messages = [item for item in value if item.get("type", "message") == "message"]
        contents = [item.get("content") or () for item in messages]
        return "".join(content if isinstance(content, str) else _joined(content) for content in contents)
    if entry.dialect == "gemini":
        return _joined(part for part in value if not part.get("thought"))
    return _joined(value)


def _joined(parts: Any) -> str:
    texts = (part.get("refusal") if part.get("type") == "refusal" else part.get("text") for part in parts)
    return "".join(text for text in texts if isinstance(text, str))
