"""A request of Anthropic's Messages API as a request for a chat completion.

Order is kept: tools, system, messages, each where it stood, so that a prefix that was stable stays
stable. Marks (``cache_control``) stay on the parts they stood on where the server takes them. Fields this API
does not know were meant for the upstream and are passed on.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import orjson

from promptcache_gateway.translate.fields import a_list, a_text, an_object, refuse, untranslatable, wrong
from promptcache_gateway.translate.places import call_origin, caller_place

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptcache_gateway.translate.flavor import Flavor
    from promptcache_gateway.translate.places import Origin

_MARK = "cache_control"
_REFUSED = frozenset({"mcp_servers", "container", "context_management"})
# Read here, or of no meaning to another provider.
_KNOWN = _REFUSED | {
    "model", "messages", "system", "tools", "tool_choice", "max_tokens", "stop_sequences", "stream", "top_k",
    "thinking", "metadata", "service_tier", "output_config", "output_format", "cache_control", "diagnostics",
    "inference_geo", "speed", "betas",
}  # fmt: skip


_PLACES = tuple(
    (re.compile(pattern), put)
    for pattern, put in (
        (r"^stop(?![a-z_])", "stop_sequences"),
        (r"^max_completion_tokens$", "max_tokens"),
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
    chat: dict[str, Any] = {"model": model}
    if payload.get("tools"):
        tools = a_list(payload["tools"], "tools")
        chat["tools"] = [_tool(tool, f"tools[{index}]", flavor) for index, tool in enumerate(tools)]
    if payload.get("tool_choice") is not None:
        chat.update(_tool_choice(an_object(payload["tool_choice"], "tool_choice")))
    chat.update(_parameters(payload, flavor))
    chat["messages"] = _messages(payload, flavor)
    return chat


def message_path(path: str, payload: Mapping[str, Any], flavor: Flavor) -> str:
    """Where in a messages request stands what a chat completion has at ``path``, as errors name it.

    Args:
        path: in what `messages_to_chat` makes of the request.
        payload: the request, which could be translated.
        flavor: what the upstream takes.
    """
    return caller_place(path, lambda: _origins(payload, flavor), "messages", _PLACES)


def _origins(payload: Mapping[str, Any], flavor: Flavor) -> list[Origin]:
    """Where each chat message comes from, in the words of Anthropic's refusals: ``messages.2.content.0``."""
    origins: list[Origin] = [{"": "system"}] if payload.get("system") else []
    for index, message in enumerate(payload["messages"]):
        place, content = f"messages.{index}", message["content"]
        blocks = content if isinstance(content, list) else []
        at = {kind: _places(blocks, kind, f"{place}.content") for kind in ("tool_use", "tool_result")}
        made = _messages({"messages": [message]}, flavor)
        results = iter(at["tool_result"])
        for each in made:
            if each["role"] == "tool":
                result = next(results)
                fields = {".tool_call_id": f"{result}.tool_use_id", ".content": f"{result}.content"}
                origins.append({"": result, **fields})
                continue
            origin = {"": place, ".role": f"{place}.role", ".content": f"{place}.content"}
            if not any(at.values()):  # else its parts are counted otherwise
                origin |= {f".content[{part}]": f"{place}.content.{part}" for part in range(len(blocks))}
            for number, call in enumerate(at["tool_use"]):
                origin |= call_origin(number, call, name="name", arguments="input", call="id")
            origins.append(origin)
    return origins


def _places(blocks: list[dict[str, Any]], kind: str, path: str) -> list[str]:
    return [f"{path}.{index}" for index, block in enumerate(blocks) if block.get("type") == kind]


def _parameters(payload: Mapping[str, Any], flavor: Flavor) -> dict[str, Any]:
    chat: dict[str, Any] = {}
    if payload.get("max_tokens") is not None:
        chat[flavor.limit] = payload["max_tokens"]
    if payload.get("stop_sequences"):
        chat["stop"] = payload["stop_sequences"]
    if payload.get("top_k") is not None and flavor.takes_top_k:
        chat["top_k"] = payload["top_k"]
    form = _format(payload)
    if form is not None:
        chat["response_format"] = form
    if payload.get("stream"):
        chat["stream"] = True
        chat["stream_options"] = {"include_usage": True}
    chat.update({name: value for name, value in payload.items() if name not in _KNOWN})
    return chat


def _format(payload: Mapping[str, Any]) -> dict[str, Any] | None:
    config = payload.get("output_config")
    form = config.get("format") if isinstance(config, dict) else payload.get("output_format")
    if form is None:
        return None
    form = an_object(form, "output_config.format")
    if form.get("type") != "json_schema":
        raise untranslatable("output_config.format", f"The format {str(form.get('type'))[:40]!r}")
    schema = {"name": "output", "schema": form.get("schema"), "strict": True}
    return {"type": "json_schema", "json_schema": schema}


def _tool(tool: object, path: str, flavor: Flavor) -> dict[str, Any]:
    tool = an_object(tool, path)
    if tool.get("type") not in (None, "custom"):
        raise untranslatable(path, f"The provider's own tool {str(tool['type'])[:40]!r}")
    function: dict[str, Any] = {"name": a_text(tool.get("name"), f"{path}.name")}
    if tool.get("description") is not None:
        function["description"] = tool["description"]
    function["parameters"] = tool.get("input_schema") or {"type": "object", "properties": {}}
    return _marked({"type": "function", "function": function}, tool, flavor)


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


def _messages(payload: Mapping[str, Any], flavor: Flavor) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    if payload.get("system"):
        messages.append({"role": "system", "content": _system(payload["system"], flavor)})
    for index, item in enumerate(a_list(payload.get("messages"), "messages")):
        path = f"messages[{index}]"
        message = an_object(item, path)
        role, content = message.get("role"), message.get("content")
        if role not in ("user", "assistant", "system"):
            raise wrong(f"{path}.role", "user, assistant or system")
        if isinstance(content, str):
            messages.append({"role": role, "content": content})
            continue
        blocks = [
            an_object(block, f"{path}.content[{at}]")
            for at, block in enumerate(a_list(content, f"{path}.content"))
        ]
        if role == "assistant":
            messages.append(_assistant(blocks, f"{path}.content", flavor))
        else:
            messages.extend(_user(role, blocks, f"{path}.content", flavor))
    return messages


def _system(system: object, flavor: Flavor) -> str | list[dict[str, Any]]:
    if isinstance(system, str):
        return system
    parts = []
    for index, item in enumerate(a_list(system, "system")):
        block = an_object(item, f"system[{index}]")
        text = a_text(block.get("text"), f"system[{index}].text")
        parts.append(_marked({"type": "text", "text": text}, block, flavor))
    return parts


def _user(role: str, blocks: list[dict[str, Any]], path: str, flavor: Flavor) -> list[dict[str, Any]]:
    """Results of tools each as a message of its own, right behind their calls, then what the user says."""
    results: list[dict[str, Any]] = []
    parts: list[dict[str, Any]] = []
    for index, block in enumerate(blocks):
        at = f"{path}[{index}]"
        if block.get("type") == "tool_result":
            text, media = _result(block, at, flavor)
            name = a_text(block.get("tool_use_id"), f"{at}.tool_use_id")
            results.append({"role": "tool", "tool_call_id": name, "content": text})
            parts.extend(media)
        else:
            parts.append(_part(block, at, flavor))
    return [*results, {"role": role, "content": parts}] if parts or not results else results


def _result(block: Mapping[str, Any], path: str, flavor: Flavor) -> tuple[Any, list[dict[str, Any]]]:
    """The text of a tool's result, and what of it only a user's message can hold."""
    content = block.get("content")
    if content is None or isinstance(content, str):
        text = content or ""
        if not (flavor.keeps_marks and block.get(_MARK)):
            return text, []
        return [_marked({"type": "text", "text": text}, block, flavor)], []
    parts = [
        _part(an_object(part, f"{path}.content[{index}]"), f"{path}.content[{index}]", flavor)
        for index, part in enumerate(a_list(content, f"{path}.content"))
    ]
    texts = [part for part in parts if part["type"] == "text"]
    if texts and block.get(_MARK):
        texts[-1] = _marked(texts[-1], block, flavor)
    return texts or "", [part for part in parts if part["type"] != "text"]


def _part(block: Mapping[str, Any], path: str, flavor: Flavor) -> dict[str, Any]:
    kind = block.get("type")
    if kind == "text":
        part: dict[str, Any] = {"type": "text", "text": a_text(block.get("text"), f"{path}.text")}
    elif kind == "image":
        part = {"type": "image_url", "image_url": {"url": _url(block, path)}}
    elif kind == "document":
        part = _document(block, path)
    else:
        raise untranslatable(path, f"The block {str(kind)[:40]!r}")
    return _marked(part, block, flavor)


def _url(block: Mapping[str, Any], path: str) -> str:
    source = an_object(block.get("source"), f"{path}.source")
    if source.get("type") == "url":
        return a_text(source.get("url"), f"{path}.source.url")
    if source.get("type") == "base64":
        media = a_text(source.get("media_type"), f"{path}.source.media_type")
        return f"data:{media};base64,{a_text(source.get('data'), f'{path}.source.data')}"
    raise untranslatable(f"{path}.source", f"A source of type {str(source.get('type'))[:40]!r}")


def _document(block: Mapping[str, Any], path: str) -> dict[str, Any]:
    source = an_object(block.get("source"), f"{path}.source")
    if source.get("type") == "text":
        return {"type": "text", "text": a_text(source.get("data"), f"{path}.source.data")}
    if source.get("type") != "base64":
        raise untranslatable(f"{path}.source", f"A document of type {str(source.get('type'))[:40]!r}")
    name = block.get("title") or "document.pdf"
    return {"type": "file", "file": {"filename": name, "file_data": _url(block, path)}}


def _assistant(blocks: list[dict[str, Any]], path: str, flavor: Flavor) -> dict[str, Any]:
    parts: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    thoughts: list[str] = []
    for index, block in enumerate(blocks):
        at = f"{path}[{index}]"
        kind = block.get("type")
        if kind == "tool_use":
            calls.append(_call(block, at))
        elif kind == "thinking":
            if not block.get("signature"):  # ours, made from the upstream's own reasoning
                thoughts.append(a_text(block.get("thinking"), f"{at}.thinking"))
        elif kind != "redacted_thinking":
            parts.append(_part(block, at, flavor))
    message: dict[str, Any] = {"role": "assistant", "content": parts or None}
    if thoughts:
        message["reasoning_content"] = "".join(thoughts)
    if calls:
        message["tool_calls"] = calls
    elif not parts:
        message["content"] = ""
    return message


def _call(block: Mapping[str, Any], path: str) -> dict[str, Any]:
    arguments = orjson.dumps(an_object(block.get("input"), f"{path}.input")).decode()
    function = {"name": a_text(block.get("name"), f"{path}.name"), "arguments": arguments}
    return {"id": a_text(block.get("id"), f"{path}.id"), "type": "function", "function": function}


def _marked(part: dict[str, Any], source: Mapping[str, Any], flavor: Flavor) -> dict[str, Any]:
    mark = source.get(_MARK)
    return {**part, _MARK: mark} if mark is not None and flavor.keeps_marks else part
