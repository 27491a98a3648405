"""Tool definitions in the dialects. A definition already in the dialect's form is passed on untouched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def to_openai(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool for OpenAI chat: ``{"type": "function", "function": {…}}``."""
    if "function" in tool or not _is_function(tool):
        return dict(tool)
    return {"type": "function", "function": _openai_function(tool)}


def to_responses(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool for OpenAI Responses, where name and schema stand beside the type."""
    function = tool.get("function")
    if isinstance(function, dict):
        return {"type": "function", **function}
    if tool.get("type") == "function" or not _is_function(tool):
        return dict(tool)
    return {"type": "function", **_openai_function(tool)}


def to_anthropic(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool for Anthropic: ``{"name", "description", "input_schema"}``."""
    function = tool.get("function")
    source = function if isinstance(function, dict) else tool
    if "input_schema" in source or not _is_function(tool):
        return dict(tool)
    renamed = {"input_schema" if key == "parameters" else key: value for key, value in source.items()}
    if tool.get("type") == "function":
        renamed.pop("type", None)
    renamed.setdefault("input_schema", {"type": "object", "properties": {}})
    return renamed


def _is_function(tool: Mapping[str, Any]) -> bool:
    return bool({"function", "parameters", "input_schema"} & tool.keys()) or tool.get("type") == "function"


def _openai_function(tool: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in tool.items() if key not in {"type", "cache_control"}}
    return {"parameters" if key == "input_schema" else key: value for key, value in kept.items()}
