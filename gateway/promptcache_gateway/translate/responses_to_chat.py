"""A request of OpenAI's Responses API as a request for a chat completion.

What the provider would have kept (conversations, stored prompts, earlier responses that `kept` does not have)
is not here to be found, so a request that leans on it is refused rather than answered without it. The
messages are made in `response_turns`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from promptcache_gateway.translate.fields import a_text, refuse, untranslatable
from promptcache_gateway.translate.marks import MARK, for_chat, mark_of, marked, placed
from promptcache_gateway.translate.places import caller_place
from promptcache_gateway.translate.response_turns import chat_turns, turn_origins

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptcache_gateway.translate.flavor import Flavor

_REFUSED = (
    "previous_response_id", "conversation", "prompt", "background", "top_logprobs", "context_management",
)  # fmt: skip
FREE_CHOICES = ("auto", "none")  # mean nothing without tools, and not every API takes them then
_LOGPROBS = "message.output_text.logprobs"
# Read here, or of no meaning to a chat completion.
_KNOWN = {
    *_REFUSED,
    "model", "input", "instructions", "tools", "tool_choice", "max_output_tokens", "text", "reasoning",
    "stream", "stream_options", "store", "include", "truncation", "metadata", "prompt_cache_options",
    "max_tool_calls", "parallel_tool_calls",
}  # fmt: skip
# Where a chat completion has what the caller sent elsewhere, but for its messages.
_PLACES = tuple(
    (re.compile(pattern), put)
    for pattern, put in (
        (r"^messages$", "input"),
        (r"^max_(completion_)?tokens$", "max_output_tokens"),
        (r"^reasoning_effort$", "reasoning.effort"),
        (r"^verbosity$", "text.verbosity"),
        (r"^response_format(\.json_schema)?(?![a-z_])", "text.format"),
        (r"^tool_choice\.allowed_tools(?![a-z_])", "tool_choice"),
        (r"^(tools\[\d+\]|tool_choice(?:\.tools\[\d+\])?)\.function(?=\.)", r"\1"),
    )
)


def responses_to_chat(payload: Mapping[str, Any], model: str, flavor: Flavor) -> dict[str, Any]:
    """Translate a request.

    Args:
        payload: the request's body, decoded; not changed.
        model: the model's name at the upstream.
        flavor: what the upstream takes.

    Raises:
        ApiError: 400 naming the path of what is malformed or has no counterpart.
    """
    _refuse(payload)
    chat: dict[str, Any] = {"model": model}
    if payload.get("tools"):
        chat["tools"] = [_tool(tool, at, flavor) for tool, at in placed(payload["tools"], "tools")]
    choice = payload.get("tool_choice")
    if choice is not None and (payload.get("tools") or choice not in FREE_CHOICES):
        chat["tool_choice"] = _tool_choice(choice)
    if (
        payload.get("tools") and payload.get("parallel_tool_calls") is not None
    ):  # a chat has it with tools only
        chat["parallel_tool_calls"] = payload["parallel_tool_calls"]
    if payload.get("max_output_tokens") is not None:
        chat[flavor.limit] = payload["max_output_tokens"]
    form = _format(payload)
    if form is not None:
        chat["response_format"] = form
    if effort := _within(payload, "reasoning", "effort"):
        chat["reasoning_effort"] = effort
    if (verbosity := _within(payload, "text", "verbosity")) and flavor.takes_verbosity:
        chat["verbosity"] = verbosity
    if payload.get("stream"):
        chat["stream"] = True
        chat["stream_options"] = {"include_usage": True}
    chat.update({name: value for name, value in payload.items() if name not in _KNOWN and value is not None})
    chat["messages"] = chat_turns(payload, flavor)
    for_chat(chat["messages"], flavor)
    return chat


def _refuse(payload: Mapping[str, Any]) -> None:
    refuse(payload, _REFUSED)
    wanted = payload.get("include")
    if isinstance(wanted, list) and _LOGPROBS in wanted:
        raise untranslatable(f"include[{wanted.index(_LOGPROBS)}]", f"'{_LOGPROBS}'")
    options = payload.get("prompt_cache_options")
    if isinstance(options, dict):
        refuse(options, ("prewarm",), "prompt_cache_options")


def response_path(path: str, payload: Mapping[str, Any], flavor: Flavor) -> str:
    """Where in a responses request stands what a chat completion has at ``path``, as errors name it.

    Args:
        path: in what `responses_to_chat` makes of the request.
        payload: the request, which could be translated.
        flavor: what the upstream takes.
    """
    return caller_place(path, lambda: turn_origins(payload, flavor), "input", _PLACES)


def _within(payload: Mapping[str, Any], holder: str, field: str) -> Any:
    held = payload.get(holder)
    return held.get(field) if isinstance(held, dict) else None


def _format(payload: Mapping[str, Any]) -> dict[str, Any] | None:
    form = _within(payload, "text", "format")
    if not isinstance(form, dict) or form.get("type") == "text":
        return None
    if form.get("type") != "json_schema":
        return form
    described = {name: form[name] for name in ("name", "description", "schema", "strict") if name in form}
    return {"type": "json_schema", "json_schema": described}


def _tool(tool: Mapping[str, Any], path: str, flavor: Flavor) -> dict[str, Any]:
    if tool.get("type") != "function":
        raise untranslatable(path, f"The provider's own tool {str(tool.get('type'))[:40]!r}")
    a_text(tool.get("name"), f"{path}.name")
    left = {"type", MARK}
    function = {name: value for name, value in tool.items() if name not in left and value is not None}
    return marked({"type": "function", "function": function}, mark_of(tool) if flavor.keeps_marks else None)


def _tool_choice(choice: object) -> Any:
    if not isinstance(choice, dict):
        return choice
    if choice.get("type") == "allowed_tools":
        named = [_named(each, at) for each, at in placed(choice.get("tools"), "tool_choice.tools")]
        return {"type": "allowed_tools", "allowed_tools": {"mode": choice.get("mode"), "tools": named}}
    return _named(choice, "tool_choice")


def _named(choice: Mapping[str, Any], path: str) -> dict[str, Any]:
    """A function named by a choice."""
    if choice.get("type") != "function":
        raise untranslatable(path, f"The choice {str(choice.get('type'))[:40]!r}")
    return {"type": "function", "function": {"name": a_text(choice.get("name"), f"{path}.name")}}
