"""Tool definitions in the dialects. A definition already in the dialect's form is passed on untouched."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from promptcache.turns.entries import Entry, ToolsEntry

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from promptcache.turns.static import StaticPart


def all_of(static: StaticPart, entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """Return fresh copies of all tools, those that came later behind the first."""
    later = [text for entry in entries if isinstance(entry, ToolsEntry) for text in entry.tools]
    return [*static.tool_values(), *(json.loads(text) for text in later)]


def to_openai(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool for OpenAI chat: ``{"type": "function", "function": {…}}``."""
    if "function" in tool or not is_function(tool):
        return dict(tool)
    return {"type": "function", "function": _openai_function(tool)}


def to_responses(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool for OpenAI Responses, where name and schema stand beside the type."""
    function = tool.get("function")
    if isinstance(function, dict):
        return {"type": "function", **function}
    if tool.get("type") == "function" or not is_function(tool):
        return dict(tool)
    return {"type": "function", **_openai_function(tool)}


def to_anthropic(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool for Anthropic: ``{"name", "description", "input_schema"}``."""
    function = tool.get("function")
    source = function if isinstance(function, dict) else tool
    if "input_schema" in source or not is_function(tool):
        return dict(tool)
    renamed = {"input_schema" if key == "parameters" else key: value for key, value in source.items()}
    if tool.get("type") == "function":
        renamed.pop("type", None)
    renamed.setdefault("input_schema", {"type": "object", "properties": {}})
    return renamed


def to_gemini(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool for Gemini: the declaration of a function, or a tool of its own untouched."""
    function = tool.get("function")
    source = function if isinstance(function, dict) else tool
    if not is_function(tool):
        return dict(tool)
    kept = {key: value for key, value in source.items() if key not in {"type", "cache_control", "strict"}}
    names = {"input_schema": "parametersJsonSchema", "parameters": "parametersJsonSchema"}
    return {names.get(key, key): value for key, value in kept.items()}


def is_function(tool: Mapping[str, Any]) -> bool:
    """Tell whether a tool is a function of the caller's, and not one of the provider's own."""
    return bool({"function", "parameters", "input_schema"} & tool.keys()) or tool.get("type") == "function"


def _openai_function(tool: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in tool.items() if key not in {"type", "cache_control"}}
    return {"parameters" if key == "input_schema" else key: value for key, value in kept.items()}
