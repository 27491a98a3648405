"""Read the prompt of a request for the built-in engine: messages, or a completion's prompt.

Each fault is answered with the path at which it stands. Turning messages into text is the chat
template's business, turning text into tokens the tokenizer's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from promptcache_gateway.errors import ApiError, invalid_request
from promptcache_gateway.exact_json import read

if TYPE_CHECKING:
    from collections.abc import Mapping

_ROLES = ("system", "developer", "user", "assistant", "tool")
_TEXT_PARTS = ("text", "input_text", "output_text", "refusal")


class Arguments(dict[str, Any]):
    """The arguments of a call in an earlier answer.

    Templates read it as an object. Written as JSON it is the caller's own text, so that a call that is sent
    back unchanged keeps its tokens.

    Attributes:
        json_text: that text.
    """

    def __init__(self, json_text: str, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self.json_text = json_text


def read_messages(payload: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The messages as ``{"role", "content"}``, content a string each, and the ``tool_calls`` there are.

    ``developer`` is OpenAI's newer word for ``system`` and becomes it. Text parts are joined by
    a newline.

    Raises:
        ApiError: 400 naming the path of what is missing, of the wrong type or not supported.
    """
    messages = payload.get("messages")
    if messages is None:
        raise invalid_request(
            "Missing required parameter: 'messages'.", "messages", "missing_required_parameter"
        )
    if not isinstance(messages, list):
        raise _wrong("messages", "a list of messages")
    if not messages:
        raise invalid_request("'messages' is empty: send at least one message.", "messages", "empty_array")
    made = [_message(message, f"messages[{index}]") for index, message in enumerate(messages)]
    _require_known_calls(made)
    return made


def read_prompt(payload: Mapping[str, Any]) -> str | list[int]:
    """The prompt of a completion: a text, or the token ids given instead of one.

    Raises:
        ApiError: 400 naming ``prompt``.
    """
    prompt = payload.get("prompt")
    if isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], str | list):
        prompt = prompt[0]
    if prompt is None:
        raise invalid_request("Missing required parameter: 'prompt'.", "prompt", "missing_required_parameter")
    if isinstance(prompt, str):
        if not prompt:
            raise invalid_request("'prompt' is empty.", "prompt", "empty_string")
        return prompt
    if not isinstance(prompt, list):
        raise _wrong("prompt", "a string or a list of token ids")
    if not prompt:
        raise invalid_request("'prompt' is empty.", "prompt", "empty_array")
    if all(isinstance(token, int) and not isinstance(token, bool) for token in prompt):
        return prompt
    raise ApiError(
        400,
        "The built-in engine takes one prompt a request: send several prompts as several requests.",
        param="prompt",
        code="unsupported_value",
    )


def _require_known_calls(messages: list[dict[str, Any]]) -> None:
    """Refuse a result of a call that no message before it makes, as OpenAI does.

    Calls without an id, and results that name none, are taken as they stand.
    """
    known: set[str | None] = set()
    for index, message in enumerate(messages):
        known.update(call.get("id") for call in message.get("tool_calls", ()))
        name = message.get("tool_call_id")
        if name is not None and name not in known and None not in known:
            path = f"messages[{index}].tool_call_id"
            raise invalid_request(
                f"Invalid value for '{path}': no tool call before it has the id {name[:80]!r}.",
                path,
                "invalid_value",
            )


def _message(message: object, path: str) -> dict[str, Any]:
    if not isinstance(message, dict):
        raise _wrong(path, "an object with 'role' and 'content'")
    role = message.get("role")
    if role not in _ROLES:
        raise _wrong(f"{path}.role", f"one of {', '.join(_ROLES)}")
    for field in ("function_call", "audio"):
        if message.get(field):
            raise _unsupported(f"{path}.{field}", f"does not take {field} in messages")
    calls = _tool_calls(message.get("tool_calls"), role, f"{path}.tool_calls")
    made: dict[str, Any] = {"role": "system" if role == "developer" else role}
    made["content"] = _content(message.get("content"), f"{path}.content", optional=bool(calls))
    if calls:
        made["tool_calls"] = calls
    for field in ("name", "tool_call_id"):
        value = message.get(field)
        if value is not None and not isinstance(value, str):
            raise _wrong(f"{path}.{field}", "a string")
        if value is not None and role == "tool":
            made[field] = value
    return made


def _content(content: object, path: str, *, optional: bool) -> str:
    if content is None and optional:
        return ""
    text = _joined(content, path) if isinstance(content, list) else content
    if not isinstance(text, str):
        raise _wrong(path, "a string or a list of text parts")
    return text


def _tool_calls(calls: object, role: str, path: str) -> list[dict[str, Any]]:
    if not calls:
        return []
    if not isinstance(calls, list):
        raise _wrong(path, "a list of calls")
    if role != "assistant":
        raise _unsupported(path, "takes tool calls of the assistant only")
    return [_tool_call(call, f"{path}[{index}]") for index, call in enumerate(calls)]


def _tool_call(call: object, path: str) -> dict[str, Any]:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(call, dict) or not isinstance(function, dict):
        raise _wrong(path, "an object with 'id', 'type' and 'function'")
    name, text, call_id = function.get("name"), function.get("arguments"), call.get("id")
    if not isinstance(name, str) or not name:
        raise _wrong(f"{path}.function.name", "a string")
    if call_id is not None and not isinstance(call_id, str):
        raise _wrong(f"{path}.id", "a string")
    made = {"type": "function", "function": {"name": name, "arguments": _arguments(text, path)}}
    return made if call_id is None else {"id": call_id, **made}


def _arguments(text: object, path: str) -> Arguments:
    """The arguments' text, which must be a JSON object; an empty one stands for none."""
    where = f"{path}.function.arguments"
    if text is None or text == "":
        return Arguments("{}", {})
    if not isinstance(text, str):
        raise _wrong(where, "a string that holds a JSON object")
    try:
        values = read(text)
    except orjson.JSONDecodeError:
        values = None
    if not isinstance(values, dict):
        raise _wrong(where, "a string that holds a JSON object")
    return Arguments(text, values)


def _joined(parts: list[Any], path: str) -> str:
    return "\n".join(_part_text(part, f"{path}[{index}]") for index, part in enumerate(parts))


def _part_text(part: object, path: str) -> str:
    if not isinstance(part, dict):
        raise _wrong(path, "an object with 'type' and 'text'")
    kind = part.get("type")
    if not isinstance(kind, str):
        raise _wrong(f"{path}.type", "a string")
    if kind not in _TEXT_PARTS:
        raise _unsupported(path, "takes text only, no images, sound or files")
    field = "refusal" if kind == "refusal" else "text"
    text = part.get(field)
    if not isinstance(text, str):
        raise _wrong(f"{path}.{field}", "a string")
    return text


def _wrong(path: str, expected: str) -> ApiError:
    return invalid_request(f"Invalid value for '{path}': expected {expected}.", path, "invalid_type")


def _unsupported(path: str, what: str) -> ApiError:
    return ApiError(400, f"'{path}': the built-in engine {what}.", param=path, code="unsupported_value")
