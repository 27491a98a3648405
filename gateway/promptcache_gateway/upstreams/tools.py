"""The tools of a chat request and how the model may use them, as the caller wrote them.

How a call is written in the model's own text is in ``tool_formats``; how it is read back, in ``tool_calls``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from promptcache_gateway.errors import invalid_request
from promptcache_gateway.upstreams.output_shape import leniently
from promptcache_gateway.upstreams.parameter_values import flag, json_schema, unsupported, wrong

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_TOOLS = 128
ToolMode: TypeAlias = Literal["none", "auto", "required"]

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


@dataclass(frozen=True, slots=True)
class Tool:
    """One function the model may call.

    Attributes:
        name: the function's name.
        schema: what its arguments must be, with the engine's leave where the caller did not say ``strict``.
        path: where the schema stands in the body.
    """

    name: str
    schema: dict[str, Any]
    path: str


@dataclass(frozen=True, slots=True)
class ToolUse:
    """The tools of one request.

    Attributes:
        definitions: as the caller wrote them, for the chat template.
        callable: those the model may call in this answer.
        mode: whether it may, must not, or must.
        parallel: whether it may call several times in one answer.
    """

    definitions: tuple[dict[str, Any], ...] = ()
    callable: tuple[Tool, ...] = ()
    mode: ToolMode = "none"
    parallel: bool = True

    @property
    def may_call(self) -> bool:
        """Whether the answer may hold a call."""
        return self.mode != "none" and bool(self.callable)


NO_TOOLS = ToolUse()


def read_tools(payload: Mapping[str, Any]) -> ToolUse:
    """The tools of a chat request.

    Raises:
        ApiError: 400 naming the path of what is missing, wrong or not supported.
    """
    given = payload.get("tools")
    if given is not None and not isinstance(given, list):
        raise wrong("tools", "a list of tools")
    if given and len(given) > MAX_TOOLS:
        raise wrong("tools", f"at most {MAX_TOOLS} tools")
    tools = [_tool(tool, f"tools[{index}]") for index, tool in enumerate(given or [])]
    names = [tool.name for tool in tools]
    for index, name in enumerate(names):
        if name in names[:index]:
            raise wrong(f"tools[{index}].function.name", "a name that no other tool has")
    choice = payload.get("tool_choice")
    mode, wanted = _choice(choice, names)
    named = isinstance(choice, dict) and choice.get("type") == "function"
    return ToolUse(
        definitions=tuple(given or ()),
        callable=tuple(tool for tool in tools if tool.name in wanted),
        mode=mode,
        parallel=flag(payload, "parallel_tool_calls", default=True) and not named,
    )


def _tool(tool: object, path: str) -> Tool:
    if not isinstance(tool, dict):
        raise wrong(path, "an object with 'type' and 'function'")
    kind = tool.get("type")
    if not isinstance(kind, str):
        raise wrong(f"{path}.type", "'function'")
    if kind != "function":
        raise unsupported(f"{path}.type", f"calls functions only, not {kind[:40]!r}")
    function = tool.get("function")
    if not isinstance(function, dict):
        raise wrong(f"{path}.function", "an object with 'name'")
    name = function.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise wrong(f"{path}.function.name", "1 to 64 letters, digits, '_', '.' or '-'")
    parameters, strict = function.get("parameters"), function.get("strict")
    if parameters is not None:
        parameters = json_schema(parameters, f"{path}.function.parameters")
        if parameters.get("type", "object") != "object":
            raise wrong(f"{path}.function.parameters.type", "'object', for a call's arguments have names")
    if strict is not None and not isinstance(strict, bool):
        raise wrong(f"{path}.function.strict", "true or false")
    schema = {"type": "object", **(parameters or {"properties": {}, "additionalProperties": False})}
    return Tool(name, schema if strict else leniently(schema), f"{path}.function.parameters")


def _choice(choice: object, names: list[str]) -> tuple[ToolMode, list[str]]:
    """The mode, and the names of the tools that may be called."""
    match choice:
        case None | "auto":
            return ("auto" if names else "none"), names
        case "none":
            return "none", names
        case "required":
            if not names:
                raise invalid_request(
                    "'tool_choice' asks for a call, and there are no 'tools'.", "tool_choice", "invalid_value"
                )
            return "required", names
        case {"type": "function", "function": {"name": str(name)}}:
            if name not in names:
                raise wrong("tool_choice.function.name", "the name of one of 'tools'")
            return "required", [name]
        case {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": [_, *_] as tools}}:
            return _allowed(mode, tools, names)
        case {"type": "allowed_tools"}:
            raise wrong("tool_choice.allowed_tools", "an object with 'mode' and 'tools'")
        case {"type": "custom"}:
            raise unsupported("tool_choice.type", "calls functions only, not 'custom'")
        case _:
            raise wrong(
                "tool_choice",
                "'none', 'auto', 'required', 'allowed_tools', {'type': 'function', 'function': {'name': …}}",
            )


def _allowed(mode: object, tools: list[object], names: list[str]) -> tuple[ToolMode, list[str]]:
    """Some of the tools: the others stay in the prompt, and so in the cached prefix."""
    path = "tool_choice.allowed_tools"
    if mode not in ("auto", "required"):
        raise wrong(f"{path}.mode", "'auto' or 'required'")
    allowed = []
    for index, tool in enumerate(tools):
        match tool:
            case {"type": "function", "function": {"name": str(name)}} if name in names:
                allowed.append(name)
            case _:
                raise wrong(f"{path}.tools[{index}]", "'type' and 'function' with the name of one of 'tools'")
    return ("required" if mode == "required" else "auto"), allowed
