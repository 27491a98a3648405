"""A conversation as the body of OpenAI Responses: ``instructions`` and a list of ``input`` items."""

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
    """Return ``tools`` and ``instructions`` (where there are any) and ``input``.

    ``system_as_parts`` writes the system prompt as a first developer message, on which a breakpoint can
    stand: none can on ``instructions``. Tools that came later stand in the input where they came.
    """
    written: dict[str, Any] = {}
    if static.tools:
        written["tools"] = [tools.to_responses(tool) for tool in static.tool_values()]
    items = [item for entry in entries for item in _items(entry)]
    if static.text and system_as_parts:
        part = {"type": "input_text", "text": static.text}
        items = [{"role": "developer", "content": [part]}, *items]
    elif static.text:
        written["instructions"] = static.text
    return {**written, "input": items}


def _items(entry: Entry) -> list[dict[str, Any]]:
    if isinstance(entry, AssistantEntry):
        return _assistant(entry)
    if isinstance(entry, ResultsEntry):
        return [
            {
                "type": "custom_tool_call_output" if result.custom else "function_call_output",
                "call_id": result.call_id,
                "output": result.text,
            }
            for result in entry.results
        ]
    if isinstance(entry, ToolsEntry):
        definitions = [tools.to_responses(json.loads(text)) for text in entry.tools]
        return [{"type": "additional_tools", "role": "developer", "tools": definitions}]
    if isinstance(entry, UserEntry) and entry.parts is not None:
        content = [{"type": "input_text", "text": entry.text}] if entry.text else []
        return [
            {
                "role": "user",
                "content": content + [parts.to_responses(part) for part in json.loads(entry.parts)],
            }
        ]
    return [{"role": "user", "content": entry.text}]


def _assistant(entry: AssistantEntry) -> list[dict[str, Any]]:
    if entry.dialect == "responses":
        items: list[dict[str, Any]] = entry.value()
        return items
    text = text_of(entry)
    calls = [_call(call) for call in calls_of(entry)]
    return ([{"role": "assistant", "content": text}] if text or not calls else []) + calls


def _call(call: ToolCall) -> dict[str, Any]:
    if call.custom:
        return {"type": "custom_tool_call", "call_id": call.id, "name": call.name, "input": call.arguments}
    return {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}
