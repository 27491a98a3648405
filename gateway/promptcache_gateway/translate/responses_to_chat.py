"""A request of OpenAI's Responses API as a request for a chat completion.

What the provider would have kept (conversations, stored prompts, earlier responses that `kept` does not have)
is not here to be found, so a request that leans on it is refused rather than answered without it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from promptcache_gateway.translate.fields import a_list, a_text, an_object, refuse, untranslatable, wrong
from promptcache_gateway.translate.places import call_origin, caller_place

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptcache_gateway.translate.flavor import Flavor

_REFUSED = frozenset(
    {"previous_response_id", "conversation", "prompt", "background", "top_logprobs", "context_management"}
)
# Read here, or of no meaning to a chat completion.
_KNOWN = _REFUSED | {
    "model", "input", "instructions", "tools", "tool_choice", "max_output_tokens", "text", "reasoning",
    "stream", "stream_options", "store", "include", "truncation", "metadata", "prompt_cache_options",
    "max_tool_calls",
}  # fmt: skip
_TEXTS = ("input_text", "output_text", "text")
_BREAKPOINT = "prompt_cache_breakpoint"
# Where a chat completion has what the caller sent elsewhere, but for its messages.
_PLACES = tuple(
    (re.compile(pattern), put)
    for pattern, put in (
        (r"^messages$", "input"),
        (r"^max_(completion_)?tokens$", "max_output_tokens"),
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
    refuse(payload, _REFUSED)
    chat: dict[str, Any] = {"model": model}
    if payload.get("tools"):
        tools = a_list(payload["tools"], "tools")
        chat["tools"] = [_tool(tool, f"tools[{index}]") for index, tool in enumerate(tools)]
    if payload.get("tool_choice") is not None:
        chat["tool_choice"] = _tool_choice(payload["tool_choice"])
    if payload.get("max_output_tokens") is not None:
        chat[flavor.limit] = payload["max_output_tokens"]
    form = _format(payload)
    if form is not None:
        chat["response_format"] = form
    reasoning = payload.get("reasoning")
    if isinstance(reasoning, dict) and reasoning.get("effort"):
        chat["reasoning_effort"] = reasoning["effort"]
    if payload.get("stream"):
        chat["stream"] = True
        chat["stream_options"] = {"include_usage": True}
    chat.update({name: value for name, value in payload.items() if name not in _KNOWN and value is not None})
    chat["messages"] = _messages(payload, flavor)
    return chat


def response_path(path: str, payload: Mapping[str, Any], flavor: Flavor) -> str:
    """Where in a responses request stands what a chat completion has at ``path``, as errors name it.

    Args:
        path: in what `responses_to_chat` makes of the request.
        payload: the request, which could be translated.
        flavor: what the upstream takes.
    """
    return caller_place(path, lambda: _origins(payload, flavor), "input", _PLACES)


def _origins(payload: Mapping[str, Any], flavor: Flavor) -> list[dict[str, str]]:
    """Where each chat message comes from."""
    origins: list[dict[str, str]] = [{"": "instructions"}] if payload.get("instructions") else []
    items = payload["input"]
    if isinstance(items, str):
        return [*origins, {"": "input"}]
    before, messages, media = len(origins), list[dict[str, Any]](), list[dict[str, Any]]()
    for item, place in _placed(items, "input"):
        _add(messages, item, place, flavor, media)
        while before + len(messages) > len(origins):
            origins.append({"": place})
        if origins[before:]:
            origins[-1].update(_fields(item, place, messages[-1]))
    return origins


def _fields(item: Mapping[str, Any], place: str, message: Mapping[str, Any]) -> dict[str, str]:
    """The caller's places of what an item gave its chat message."""
    kind = item.get("type", "message")
    if kind == "function_call":
        number = len(message["tool_calls"]) - 1
        return call_origin(number, place, name="name", arguments="arguments", call="call_id")
    if kind == "reasoning":
        return {}
    field = "content" if kind == "message" else "output"
    content = item.get(field)
    parts = _placed(content, f"{place}.{field}") if isinstance(content, list) else []
    fields = {f".content[{index}]": at for index, (_, at) in enumerate(parts)}
    own = {".role": f"{place}.role"} if kind == "message" else {".tool_call_id": f"{place}.call_id"}
    return {".content": f"{place}.{field}", **own, **fields}


def _format(payload: Mapping[str, Any]) -> dict[str, Any] | None:
    text = payload.get("text")
    form = text.get("format") if isinstance(text, dict) else None
    if not isinstance(form, dict) or form.get("type") == "text":
        return None
    if form.get("type") != "json_schema":
        return form
    described = {name: form[name] for name in ("name", "description", "schema", "strict") if name in form}
    return {"type": "json_schema", "json_schema": described}


def _tool(tool: object, path: str) -> dict[str, Any]:
    tool = an_object(tool, path)
    if tool.get("type") != "function":
        raise untranslatable(path, f"The provider's own tool {str(tool.get('type'))[:40]!r}")
    a_text(tool.get("name"), f"{path}.name")
    function = {name: value for name, value in tool.items() if name != "type" and value is not None}
    return {"type": "function", "function": function}


def _tool_choice(choice: object) -> Any:
    if not isinstance(choice, dict):
        return choice
    if choice.get("type") == "allowed_tools":
        tools = a_list(choice.get("tools"), "tool_choice.tools")
        named = [_named(an_object(each, at), at) for each, at in _placed(tools, "tool_choice.tools")]
        return {"type": "allowed_tools", "allowed_tools": {"mode": choice.get("mode"), "tools": named}}
    return _named(choice, "tool_choice")


def _named(choice: Mapping[str, Any], path: str) -> dict[str, Any]:
    """A function named by a choice."""
    if choice.get("type") != "function":
        raise untranslatable(path, f"The choice {str(choice.get('type'))[:40]!r}")
    return {"type": "function", "function": {"name": a_text(choice.get("name"), f"{path}.name")}}


def _placed(items: list[Any], path: str) -> list[tuple[Any, str]]:
    return [(item, f"{path}[{index}]") for index, item in enumerate(items)]


def _messages(payload: Mapping[str, Any], flavor: Flavor) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    if payload.get("instructions"):
        messages.append({"role": "system", "content": a_text(payload["instructions"], "instructions")})
    items = payload.get("input")
    if isinstance(items, str):
        return [*messages, {"role": "user", "content": items}]
    media: list[dict[str, Any]] = []
    for index, item in enumerate(a_list(items, "input")):
        _add(messages, an_object(item, f"input[{index}]"), f"input[{index}]", flavor, media)
    _put_behind(messages, media)
    for message in messages:
        if message["content"] is None and "tool_calls" not in message:
            message["content"] = ""  # a thought that nothing came of
    return messages


def _put_behind(messages: list[dict[str, Any]], media: list[dict[str, Any]]) -> None:
    """What the results of tools hold besides text, as the user's, behind the last of them."""
    if media:
        messages.append({"role": "user", "content": media.copy()})
        media.clear()


def _add(
    messages: list[dict[str, Any]],
    item: Mapping[str, Any],
    path: str,
    flavor: Flavor,
    media: list[dict[str, Any]],
) -> None:
    """Add an item; what of a tool's result its message cannot hold waits in ``media`` until all have come."""
    kind = item.get("type", "message")
    if kind != "function_call_output":
        _put_behind(messages, media)
    if kind == "message":
        role = item.get("role")
        if role not in ("user", "assistant", "system", "developer"):
            raise wrong(f"{path}.role", "user, assistant, system or developer")
        content = _content(item.get("content"), f"{path}.content", flavor)
        if role == "assistant" and messages and _only_thought(messages[-1]):
            messages[-1]["content"] = content
        else:
            messages.append({"role": "system" if role == "developer" else role, "content": content})
    elif kind == "function_call":
        function = {
            "name": a_text(item.get("name"), f"{path}.name"),
            "arguments": a_text(item.get("arguments"), f"{path}.arguments"),
        }
        call = {
            "id": a_text(item.get("call_id"), f"{path}.call_id"),
            "type": "function",
            "function": function,
        }
        if not messages or messages[-1]["role"] != "assistant":
            messages.append({"role": "assistant", "content": None})
        messages[-1].setdefault("tool_calls", []).append(call)
    elif kind == "function_call_output":
        content = _content(item.get("output"), f"{path}.output", flavor)
        if not (isinstance(content, str) or flavor.shows_tools_media):
            media.extend(part for part in content if part["type"] != "text")
            content = [part for part in content if part["type"] == "text"] or ""
        name = a_text(item.get("call_id"), f"{path}.call_id")
        messages.append({"role": "tool", "tool_call_id": name, "content": content})
    elif kind != "reasoning":
        raise untranslatable(path, f"The item {str(kind)[:40]!r}")
    elif flavor.takes_thoughts and (thought := thought_in(item)):
        messages.append({"role": "assistant", "content": None, "reasoning_content": thought})


def thought_in(item: Mapping[str, Any]) -> str:
    """The text of a reasoning item; empty where it is sealed, as another provider's model's is."""
    content = item.get("content")
    parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if part.get("type") == "reasoning_text"]
    return "".join(text for text in texts if isinstance(text, str))


def _only_thought(message: Mapping[str, Any]) -> bool:
    return message["content"] is None and "tool_calls" not in message


def _content(content: object, path: str, flavor: Flavor) -> str | list[dict[str, Any]]:
    if isinstance(content, str):
        return content
    parts = []
    for index, part in enumerate(a_list(content, path)):
        at = f"{path}[{index}]"
        parts.append(_part(an_object(part, at), at, flavor))
    return parts


def _part(part: Mapping[str, Any], path: str, flavor: Flavor) -> dict[str, Any]:
    kind = part.get("type")
    if kind in _TEXTS:
        made: dict[str, Any] = {"type": "text", "text": a_text(part.get("text"), f"{path}.text")}
    elif kind == "refusal":
        made = {"type": "text", "text": a_text(part.get("refusal"), f"{path}.refusal")}
    elif kind == "input_image" and isinstance(part.get("image_url"), str):
        image = {"url": part["image_url"]}
        if part.get("detail"):
            image["detail"] = part["detail"]
        made = {"type": "image_url", "image_url": image}
    elif kind == "input_file" and isinstance(part.get("file_data"), str):
        made = {"type": "file", "file": {"filename": part.get("filename"), "file_data": part["file_data"]}}
    else:
        raise untranslatable(path, f"The part {str(kind)[:40]!r}")
    for mark in (_BREAKPOINT, "cache_control"):
        if part.get(mark) is not None and (mark == _BREAKPOINT or flavor.keeps_marks):
            made[mark] = part[mark]
    return made
