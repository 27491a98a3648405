"""A request of Anthropic's Messages API as a request for a chat completion.

Order is kept: tools, system, messages, so that a prefix that was stable stays stable. Fields this API does
not know were meant for the upstream and are passed on. The messages are made in `message_turns`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from promptcache_gateway.errors import invalid_request
from promptcache_gateway.translate.fields import a_text, an_object, refuse, untranslatable, wrong
from promptcache_gateway.translate.marks import MARK, for_chat, mark_of, marked, placed
from promptcache_gateway.translate.message_turns import chat_turns, turn_origins
from promptcache_gateway.translate.places import caller_place

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptcache_gateway.translate.flavor import Flavor

_REFUSED = ("mcp_servers", "container")
_EDITS = "context_management"
# Read here, or of no meaning to another provider.
_KNOWN = {
    *_REFUSED, _EDITS,
    "model", "messages", "system", "tools", "tool_choice", "max_tokens", "stop_sequences", "stream", "top_k",
    "thinking", "metadata", "service_tier", "output_config", "output_format", "cache_control", "diagnostics",
    "inference_geo", "speed", "betas", "user_profile_id", "workspace_id",
}  # fmt: skip
_PLACES = tuple(
    (re.compile(pattern), put)
    for pattern, put in (
        (r"^stop(?![a-z_])", "stop_sequences"),
        (r"^max_completion_tokens$", "max_tokens"),
        (r"^reasoning_effort$", "output_config.effort"),
        (r"^tool_choice\.function(?=\.)", "tool_choice"),
        (r"^response_format\.json_schema(?=\.)", "output_config.format"),
        (r"^(tools\[\d+\])\.function\.parameters", r"\1.input_schema"),
        (r"^(tools\[\d+\])\.function(?=\.)", r"\1"),
    )
)


def messages_to_chat(payload: Mapping[str, Any], model: str, flavor: Flavor) -> dict[str, Any]:
    """Translate a request.

    Args:
        payload: the request's body, decoded; not changed.
        model: the model's name at the upstream.
        flavor: what the upstream takes.

    Raises:
        ApiError: 400 naming the path of what is malformed or has no counterpart.
    """
    refuse(payload, _REFUSED)
    if not _edits_thoughts_only(payload):
        raise untranslatable(_EDITS)
    chat: dict[str, Any] = {"model": model}
    if payload.get("tools"):
        chat["tools"] = [_tool(tool, at, flavor) for tool, at in placed(payload["tools"], "tools")]
    if payload.get("tool_choice") is not None:
        chat.update(_tool_choice(an_object(payload["tool_choice"], "tool_choice")))
    chat.update(_parameters(payload, flavor))
    if flavor.goes_on == "told" and _begins_answer(payload):
        chat.setdefault("continue_final_message", True)
        chat.setdefault("add_generation_prompt", False)
    chat["messages"] = chat_turns(payload, flavor)
    for_chat(chat["messages"], flavor)
    return chat


def refuse_unlimited(payload: Mapping[str, Any]) -> None:
    """Raise `ApiError` 400 where a request names no limit, which Anthropic's API needs and chats do not."""
    if payload.get("max_tokens") is None:
        raise invalid_request("max_tokens: Field required", "max_tokens", "missing_required_parameter")


def refuse_begun(payload: Mapping[str, Any], flavor: Flavor) -> None:
    """Raise `ApiError` 400 where a request begins its answer and the upstream would not go on with it."""
    if flavor.goes_on == "never" and _begins_answer(payload):
        raise untranslatable(f"messages[{len(payload['messages']) - 1}]", "The beginning of an answer")


def message_path(path: str, payload: Mapping[str, Any], flavor: Flavor) -> str:
    """Where in a messages request stands what a chat completion has at ``path``, as errors name it.

    Args:
        path: in what `messages_to_chat` makes of the request.
        payload: the request, which could be translated.
        flavor: what the upstream takes.
    """
    return caller_place(path, lambda: turn_origins(payload, flavor), "messages", _PLACES)


def _edits_thoughts_only(payload: Mapping[str, Any]) -> bool:
    """Whether nothing is to be cut out of the prompt but thoughts, which the upstream is not sent anyway."""
    management = payload.get(_EDITS)
    if not management:
        return True
    edits = management.get("edits") if isinstance(management, dict) else None
    return isinstance(edits, list) and all(
        isinstance(edit, dict) and str(edit.get("type")).startswith("clear_thinking_") for edit in edits
    )


def _begins_answer(payload: Mapping[str, Any]) -> bool:
    """Whether the last message is the assistant's: to Anthropic the beginning of the answer asked for."""
    messages = payload.get("messages")
    last = messages[-1] if isinstance(messages, list) and messages else None
    return isinstance(last, dict) and last.get("role") == "assistant"


def _parameters(payload: Mapping[str, Any], flavor: Flavor) -> dict[str, Any]:
    chat: dict[str, Any] = {}
    if payload.get("max_tokens") is not None:
        chat[flavor.limit] = payload["max_tokens"]
    if payload.get("stop_sequences"):
        chat["stop"] = payload["stop_sequences"]
    if payload.get("top_k") is not None and flavor.takes_top_k:
        chat["top_k"] = payload["top_k"]
    config = payload.get("output_config")
    config = config if isinstance(config, dict) else {}
    if flavor.takes_effort and config.get("effort") is not None:
        chat["reasoning_effort"] = config["effort"]
    form = config.get("format")
    form = payload.get("output_format") if form is None else form
    if form is not None:
        chat["response_format"] = _format(an_object(form, "output_config.format"))
    if flavor.marks_whole and payload.get(MARK) is not None:
        chat[MARK] = payload[MARK]
    if payload.get("stream"):
        chat["stream"] = True
        chat["stream_options"] = {"include_usage": True}
    chat.update({name: value for name, value in payload.items() if name not in _KNOWN})
    return chat


def _format(form: Mapping[str, Any]) -> dict[str, Any]:
    if form.get("type") != "json_schema":
        raise untranslatable("output_config.format", f"The format {str(form.get('type'))[:40]!r}")
    schema = {"name": "output", "schema": form.get("schema"), "strict": True}
    return {"type": "json_schema", "json_schema": schema}


def _tool(tool: Mapping[str, Any], path: str, flavor: Flavor) -> dict[str, Any]:
    if tool.get("type") not in (None, "custom"):
        raise untranslatable(path, f"The provider's own tool {str(tool['type'])[:40]!r}")
    function: dict[str, Any] = {"name": a_text(tool.get("name"), f"{path}.name")}
    if tool.get("description") is not None:
        function["description"] = tool["description"]
    function["parameters"] = tool.get("input_schema") or {"type": "object", "properties": {}}
    if tool.get("strict"):
        function["strict"] = tool["strict"]
    mark = mark_of(tool) if flavor.keeps_marks else None
    return marked({"type": "function", "function": function}, mark)


def _tool_choice(choice: Mapping[str, Any]) -> dict[str, Any]:
    kind = choice.get("type")
    if kind == "tool":
        name = a_text(choice.get("name"), "tool_choice.name")
        said: Any = {"type": "function", "function": {"name": name}}
    else:
        said = {"auto": "auto", "any": "required", "none": "none"}.get(str(kind))
        if said is None:
            raise wrong("tool_choice.type", "auto, any, tool or none")
    chat = {"tool_choice": said}
    if choice.get("disable_parallel_tool_use"):
        chat["parallel_tool_calls"] = False
    return chat
