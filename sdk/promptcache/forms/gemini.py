"""A conversation for Gemini: ``config`` with the static part, and ``contents``.

The dicts use the names of the REST API, which google-genai's ``client.models.generate_content`` takes too.
For plain HTTP put the fields of ``config`` beside ``contents``.
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
    """Return ``config`` (``systemInstruction`` and ``tools``, where there are any) and ``contents``."""
    config: dict[str, Any] = {}
    definitions = tools.all_of(static, entries)
    functions = [tools.to_gemini(tool) for tool in definitions if tools.is_function(tool)]
    others = [tools.to_gemini(tool) for tool in definitions if not tools.is_function(tool)]
    if definitions:
        config["tools"] = [*([{"functionDeclarations": functions}] if functions else []), *others]
    if static.text:
        config["systemInstruction"] = {"parts": [{"text": static.text}]}
    contents = [_content(entry) for entry in entries if not isinstance(entry, ToolsEntry)]
    return {"config": config, "contents": contents}


def _content(entry: UserEntry | NoteEntry | AssistantEntry | ResultsEntry) -> dict[str, Any]:
    if isinstance(entry, AssistantEntry):
        return {"role": "model", "parts": _model_parts(entry)}
    if isinstance(entry, ResultsEntry):
        return {"role": "user", "parts": [_result(result) for result in entry.results]}
    written = [{"text": entry.text}] if entry.text else []
    if isinstance(entry, UserEntry) and entry.parts is not None:
        written += [parts.to_gemini(part) for part in json.loads(entry.parts)]
    return {"role": "user", "parts": written}


def _model_parts(entry: AssistantEntry) -> list[dict[str, Any]]:
    if entry.dialect == "gemini":
        own: list[dict[str, Any]] = entry.value()
        return own
    text = text_of(entry)
    calls = [{"functionCall": _call(call)} for call in calls_of(entry)]
    return ([{"text": text}] if text or not calls else []) + calls


def _call(call: ToolCall) -> dict[str, Any]:
    try:
        arguments = {"input": call.arguments} if call.custom else json.loads(call.arguments or "{}")
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        raise ConversationError(
            f"The arguments of tool call {call.id!r} are no JSON object, which Gemini requires.",
            remedy="Continue this conversation with the provider that wrote them.",
        )
    return {"id": call.id, "name": call.name, "args": arguments}


def _result(result: ToolResult) -> dict[str, Any]:
    answer = {"error" if result.failed else "result": result.text}
    response: dict[str, Any] = {"name": result.name, "response": answer}
    # A call without an id was given one of our own, with #, which Gemini has never seen.
    known = {} if result.call_id.startswith(f"{result.name}#") else {"id": result.call_id}
    return {"functionResponse": {**known, **response}}
