"""A request for a chat completion as a request of Anthropic's Messages API.

Instructions at the head become ``system``; one that comes later stays where it stands, as text of the
user's turn: hoisted to the head it would change the whole prefix. Marks stay on the parts they stood on.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import orjson

from promptcache_gateway.exact_json import read
from promptcache_gateway.translate.fields import a_list, a_text, an_object, refuse, untranslatable, wrong
from promptcache_gateway.translate.marks import MARK, mark_of, marked, placed

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_MAX_TOKENS = 4096
_INSTRUCTING = ("system", "developer")
_REFUSED = (
    "logprobs", "top_logprobs", "frequency_penalty", "presence_penalty", "logit_bias", "functions", "audio",
    "function_call", "web_search_options",
)  # fmt: skip
_SAID_ONLY = ("function_call", "audio")  # of an assistant's message
_EFFORTS = ("low", "medium", "high", "xhigh", "max")
# Read here, or of no meaning to another provider.
_KNOWN = {
    *_REFUSED,
    "model", "messages", "tools", "tool_choice", "parallel_tool_calls", "max_tokens", "max_completion_tokens",
    "stop", "stream", "stream_options", "n", "response_format", "reasoning_effort", "user", "seed", "store",
    "metadata", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "service_tier",
    "safety_identifier", "verbosity", "modalities", "prediction",
}  # fmt: skip


def chat_to_messages(payload: Mapping[str, Any], model: str) -> dict[str, Any]:
    """Translate a request; ``payload`` is not changed, ``model`` is the model's name at the upstream.

    Raises:
        ApiError: 400 naming the path of what is malformed or has no counterpart.
    """
    refuse(payload, _REFUSED)
    if payload.get("n") not in (None, 1):
        raise untranslatable("n", "More than one answer")
    if payload.get("modalities") not in (None, [], ["text"]):
        raise untranslatable("modalities", "An answer that is not text")
    translated: dict[str, Any] = {"model": model}
    if payload.get("tools"):
        translated["tools"] = [_tool(tool, at) for tool, at in placed(payload["tools"], "tools")]
    choice = _tool_choice(payload)
    if choice is not None:
        translated["tool_choice"] = choice
    translated.update(_parameters(payload))
    system, messages = _split(a_list(payload.get("messages"), "messages"))
    if system:
        translated["system"] = system
    translated["messages"] = messages
    return translated


def _parameters(payload: Mapping[str, Any]) -> dict[str, Any]:
    limit = payload.get("max_completion_tokens")
    limit = payload.get("max_tokens") if limit is None else limit
    fields: dict[str, Any] = {"max_tokens": DEFAULT_MAX_TOKENS if limit is None else limit}
    stop = payload.get("stop")
    if stop:
        fields["stop_sequences"] = [stop] if isinstance(stop, str) else stop
    if config := _output_config(payload):
        fields["output_config"] = config
    if payload.get("reasoning_effort") == "none":
        fields["thinking"] = {"type": "disabled"}
    if payload.get("user"):
        fields["metadata"] = {"user_id": payload["user"]}
    if payload.get("stream"):
        fields["stream"] = True
    # OpenAI takes null for what is not said, Anthropic does not.
    others = {name: value for name, value in payload.items() if name not in _KNOWN and value is not None}
    return fields | others


def _output_config(payload: Mapping[str, Any]) -> dict[str, Any]:
    config: dict[str, Any] = {}
    effort = payload.get("reasoning_effort")
    if effort not in (None, "none"):
        if effort not in _EFFORTS:
            raise untranslatable("reasoning_effort", f"The effort {str(effort)[:40]!r}")
        config["effort"] = effort
    form = payload.get("response_format")
    kind = an_object(form, "response_format").get("type") if form is not None else "text"
    if kind == "json_schema":
        described = an_object(form and form.get("json_schema"), "response_format.json_schema")
        config["format"] = {"type": "json_schema", "schema": described.get("schema")}
    elif kind != "text":
        raise untranslatable("response_format", f"The format {str(kind)[:40]!r}")
    return config


def _tool(tool: Mapping[str, Any], path: str) -> dict[str, Any]:
    if tool.get("type") != "function":
        raise untranslatable(path, f"The tool {str(tool.get('type'))[:40]!r}")
    function = an_object(tool.get("function"), f"{path}.function")
    said: dict[str, Any] = {"name": a_text(function.get("name"), f"{path}.function.name")}
    if function.get("description") is not None:
        said["description"] = function["description"]
    said["input_schema"] = function.get("parameters") or {"type": "object", "properties": {}}
    if function.get("strict"):
        said["strict"] = function["strict"]
    return marked(said, mark_of(tool if MARK in tool else function))


def _tool_choice(payload: Mapping[str, Any]) -> dict[str, Any] | None:
    choice = payload.get("tool_choice")
    alone = payload.get("parallel_tool_calls") is False and payload.get("tools")
    if not payload.get("tools") and choice in ("auto", "none"):
        return None  # means nothing, and is refused without tools
    if choice is None and not alone:
        return None
    if isinstance(choice, dict):
        if choice.get("type") != "function":
            raise untranslatable("tool_choice", f"The choice {str(choice.get('type'))[:40]!r}")
        function = an_object(choice.get("function"), "tool_choice.function")
        said = {"type": "tool", "name": a_text(function.get("name"), "tool_choice.function.name")}
    else:
        kinds = {"auto": "auto", "required": "any", "none": "none"}
        kind = "auto" if choice is None else kinds.get(choice) if isinstance(choice, str) else None
        if kind is None:
            raise wrong("tool_choice", "auto, required, none or a function")
        said = {"type": kind}
    return {**said, "disable_parallel_tool_use": True} if alone and said["type"] != "none" else said


def _split(messages: list[Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The system blocks, and the turns in Anthropic's roles, neighbours of one role put together."""
    system: list[dict[str, Any]] = []
    turns: list[dict[str, Any]] = []
    for index, item in enumerate(messages):
        path = f"messages[{index}]"
        message = an_object(item, path)
        role = message.get("role")
        if role in _INSTRUCTING:
            blocks = _said(message, path)
            if turns:
                _add(turns, "user", blocks)
            else:
                system.extend(blocks)
        elif role == "user":
            _add(turns, "user", _said(message, path))
        elif role == "tool":
            _add_result(turns, _result(message, path))
        elif role == "assistant":
            _add(turns, "assistant", _assistant(message, path))
        else:
            raise wrong(f"{path}.role", "system, developer, user, assistant or tool")
    return system, turns


def _add(turns: list[dict[str, Any]], role: str, blocks: list[dict[str, Any]]) -> None:
    if turns and turns[-1]["role"] == role:
        turns[-1]["content"].extend(blocks)
    elif blocks:
        turns.append({"role": role, "content": blocks})


def _add_result(turns: list[dict[str, Any]], result: dict[str, Any]) -> None:
    """Results come first in the turn behind their calls, whatever a chat has between."""
    if not turns or turns[-1]["role"] != "user":
        turns.append({"role": "user", "content": []})
    content = turns[-1]["content"]
    before = next((at for at, block in enumerate(content) if block["type"] != "tool_result"), len(content))
    content.insert(before, result)


def _said(message: Mapping[str, Any], path: str) -> list[dict[str, Any]]:
    """What a message says, with the mark on the message itself on the last of it."""
    blocks = _blocks(message, path)
    if blocks and mark_of(message) is not None:
        blocks[-1] = marked(blocks[-1], mark_of(message))
    return blocks


def _blocks(message: Mapping[str, Any], path: str) -> list[dict[str, Any]]:
    """The content of a message; a text without a character is none, and its mark that of what is before."""
    content = message.get("content")
    if content is None:
        return []
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    blocks: list[dict[str, Any]] = []
    for part, at in placed(content, f"{path}.content"):
        block = _block(part, at)
        if block.get("text") != "":
            blocks.append(block)
        elif blocks and MARK in block:
            blocks[-1] = marked(blocks[-1], block[MARK])
    return blocks


def _block(part: Mapping[str, Any], path: str) -> dict[str, Any]:
    kind = part.get("type")
    if kind == "text":
        block: dict[str, Any] = {"type": "text", "text": a_text(part.get("text"), f"{path}.text")}
    elif kind == "refusal":
        block = {"type": "text", "text": a_text(part.get("refusal"), f"{path}.refusal")}
    elif kind == "image_url":
        image = an_object(part.get("image_url"), f"{path}.image_url")
        block = {"type": "image", "source": _source(a_text(image.get("url"), f"{path}.image_url.url"))}
    elif kind == "file":
        file = an_object(part.get("file"), f"{path}.file")
        if not isinstance(file.get("file_data"), str):
            raise untranslatable(f"{path}.file", "A file kept at the provider")
        block = {"type": "document", "source": _as_text(_source(file["file_data"]))}
        if file.get("filename"):
            block["title"] = file["filename"]
    else:
        raise untranslatable(path, f"The part {str(kind)[:40]!r}")
    return marked(block, mark_of(part))


def _source(url: str) -> dict[str, Any]:
    head, comma, data = url.partition(",")
    if url.startswith("data:") and comma and head.endswith(";base64"):
        media = head[5:-7].partition(";")[0]
        return {"type": "base64", "media_type": media, "data": data}
    return {"type": "url", "url": url}


def _as_text(source: dict[str, Any]) -> dict[str, Any]:
    """A document's source as Anthropic takes a plain text's: as it reads, not in Base64."""
    if source.get("media_type") != "text/plain":
        return source
    try:
        text = base64.b64decode(source["data"], validate=True).decode()
    except ValueError:
        return source
    return {"type": "text", "media_type": "text/plain", "data": text}


def _result(message: Mapping[str, Any], path: str) -> dict[str, Any]:
    """A tool's result, with the last of its marks on the whole of it."""
    name = a_text(message.get("tool_call_id"), f"{path}.tool_call_id")
    content, mark = message.get("content"), mark_of(message)
    if not isinstance(content, str):
        content = _blocks(message, path)
        marks = [part.pop(MARK) for part in content if MARK in part]
        mark = marks[-1] if mark is None and marks else mark
    return marked({"type": "tool_result", "tool_use_id": name, "content": content}, mark)


def _assistant(message: Mapping[str, Any], path: str) -> list[dict[str, Any]]:
    refuse(message, _SAID_ONLY, path)
    said = _said(message, path)
    blocks = [*_thoughts(message, f"{path}.thinking_blocks"), *said]
    if message.get("content") is None and message.get("refusal"):
        blocks.append({"type": "text", "text": a_text(message["refusal"], f"{path}.refusal")})
    for index, item in enumerate(a_list(message.get("tool_calls") or [], f"{path}.tool_calls")):
        at = f"{path}.tool_calls[{index}]"
        call = an_object(item, at)
        function = an_object(call.get("function"), f"{at}.function")
        block = {
            "type": "tool_use",
            "id": a_text(call.get("id"), f"{at}.id"),
            "name": a_text(function.get("name"), f"{at}.function.name"),
            "input": _arguments(a_text(function.get("arguments"), f"{at}.function.arguments"), at),
        }
        blocks.append(marked(block, mark_of(call)))
    if not said and blocks and blocks[-1]["type"] == "tool_use" and MARK not in blocks[-1]:
        blocks[-1] = marked(blocks[-1], mark_of(message))
    return blocks


def _thoughts(message: Mapping[str, Any], path: str) -> list[dict[str, Any]]:
    """What was thought, with its signatures, as an answer told it: in a stream each has its number."""
    kept = message.get("thinking_blocks")
    blocks = [an_object(block, f"{path}[{at}]") for at, block in enumerate(a_list(kept or [], path))]
    return [{name: value for name, value in block.items() if name != "index"} for block in blocks]


def _arguments(text: str, path: str) -> dict[str, Any]:
    if not text.strip():
        return {}
    try:
        value = read(text)
    except orjson.JSONDecodeError:
        value = None
    if not isinstance(value, dict):
        raise wrong(f"{path}.function.arguments", "a JSON object as a string")
    return value
