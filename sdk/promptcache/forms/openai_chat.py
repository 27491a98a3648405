"""A conversation as the body of OpenAI chat completions (and of every server that speaks that dialect)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from promptcache.forms import parts, tools
from promptcache.turns.entries import (
    AssistantEntry,
    Entry,
    ResultsEntry,
    ToolCall,
    ToolsEntry,
    UserEntry,
    calls_of,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache.turns.static import StaticPart


def body(static: StaticPart, entries: Sequence[Entry], *, system_as_parts: bool = False) -> dict[str, Any]:
    """Return ``tools`` (when there are any) and ``messages``.

    ``system_as_parts`` writes the system prompt as a list of one part, on which a breakpoint can stand.
    """
    system: Any = [{"type": "text", "text": static.text}] if system_as_parts else static.text
    messages = [{"role": "system", "content": system}] if static.text else []
    for entry in entries:
        messages += _messages(entry)
    definitions = [tools.to_openai(tool) for tool in tools.all_of(static, entries)]
    return {"tools": definitions, "messages": messages} if definitions else {"messages": messages}


def _messages(entry: Entry) -> list[dict[str, Any]]:
    if isinstance(entry, AssistantEntry):
        return [_assistant(entry)]
    if isinstance(entry, ResultsEntry):
        return [
            {"role": "tool", "tool_call_id": result.call_id, "content": result.text}
            for result in entry.results
        ]
    if isinstance(entry, ToolsEntry):
        return []
    if isinstance(entry, UserEntry) and entry.parts is not None:
        content = [{"type": "text", "text": entry.text}] if entry.text else []
        return [
            {"role": "user", "content": content + [parts.to_openai(part) for part in json.loads(entry.parts)]}
        ]
    return [{"role": "user", "content": entry.text}]


def _assistant(entry: AssistantEntry) -> dict[str, Any]:
    if entry.dialect == "openai":
        message: dict[str, Any] = entry.value()
        return message
    calls = [_call(call) for call in calls_of(entry)]
    text = text_of(entry)
    if not calls:
        return {"role": "assistant", "content": text}
    return {"role": "assistant", "content": text or None, "tool_calls": calls}


def _call(call: ToolCall) -> dict[str, Any]:
    if call.custom:
        return {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": call.arguments}}
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
