"""A conversation as the body of Anthropic messages.

Content is always a list of blocks, so that a mark never changes a message's shape. Consecutive turns of one
role are left as they are (the API joins them); joining them here would change a message that had been sent.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from promptcache.errors import ConversationError
from promptcache.forms import parts, tools
from promptcache.turns.entries import (
    AssistantEntry,
    Entry,
    NoteEntry,
    ResultsEntry,
    ToolCall,
    ToolResult,
    ToolsEntry,
    UserEntry,
    calls_of,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache.turns.static import StaticPart


def body(static: StaticPart, entries: Sequence[Entry]) -> dict[str, Any]:
    """Return ``tools`` and ``system`` (where there are any) and ``messages``, without marks."""
    written: dict[str, Any] = {}
    definitions = [tools.to_anthropic(tool) for tool in tools.all_of(static, entries)]
    if definitions:
        written["tools"] = definitions
    if static.text:
        written["system"] = [{"type": "text", "text": static.text}]
    written["messages"] = [_message(entry) for entry in entries if not isinstance(entry, ToolsEntry)]
    return written


def _message(entry: UserEntry | NoteEntry | AssistantEntry | ResultsEntry) -> dict[str, Any]:
    if isinstance(entry, AssistantEntry):
        return {"role": "assistant", "content": _assistant(entry)}
    if isinstance(entry, ResultsEntry):
        return {
            "role": "user",
            "content": [_result(result) for result in entry.results],
        }
    content = [{"type": "text", "text": entry.text}] if entry.text else []
    if isinstance(entry, UserEntry) and entry.parts is not None:
        content += [parts.to_anthropic(part) for part in json.loads(entry.parts)]
    return {"role": "user", "content": content}


def _result(result: ToolResult) -> dict[str, Any]:
    block: dict[str, Any] = {
        "type": "tool_result",
        "tool_use_id": result.call_id,
        "content": [{"type": "text", "text": result.text}] if result.text else [],
    }
    return {**block, "is_error": True} if result.failed else block


def _assistant(entry: AssistantEntry) -> list[dict[str, Any]]:
    if entry.dialect == "anthropic":
        value = entry.value()
        return [{"type": "text", "text": value}] if isinstance(value, str) else value
    text = text_of(entry)
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    return blocks + [_call(call) for call in calls_of(entry)]


def _call(call: ToolCall) -> dict[str, Any]:
    try:
        arguments = {"input": call.arguments} if call.custom else json.loads(call.arguments or "{}")
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        raise ConversationError(
            f"The arguments of tool call {call.id!r} are no JSON object, which Anthropic requires.",
            remedy="Continue this conversation with the provider that wrote them.",
        )
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": arguments}
