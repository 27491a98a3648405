"""The providers' routes as an OpenAPI description, as far as a translation reads them: for made-up requests.

The gateway's own description leaves them out, as they are the providers' to describe.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

_MODEL: Schema = {"$ref": "#/components/schemas/Model"}
_TEXT: Schema = {"enum": ["", "Hi", "Where is my order?", "\u00e9\u2028\U0001f600", "data: [DONE]"]}
_ID: Schema = {"enum": ["c1", "c2"]}
_LIMIT: Schema = {"type": "integer", "minimum": 1, "maximum": 6}
_MARK: Schema = {"enum": [{"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}, None]}
_URL: Schema = {"enum": ["https://h/x.png", "data:image/png;base64,aGk=", "data:text/plain;base64,aGk="]}
_PARAMETERS: Schema = {
    "enum": [{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}, {}]
}
_SAMPLING: Schema = {
    "temperature": {"type": "number", "minimum": 0, "maximum": 1},
    "top_p": {"type": "number", "minimum": 0.1, "maximum": 1},
    "stream": {"type": "boolean"},
}


def _object(required: str = "", **properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


def _list(item: Schema, least: int = 0) -> Schema:
    return {"type": "array", "items": item, "minItems": least, "maxItems": 3}


def _one(kind: str, required: str = "", **properties: Schema) -> Schema:
    """A part, a block or an item: an object with a ``type``."""
    return _object(f"type {required}", type={"const": kind}, **properties)


# --- OpenAI's chat ---

_CHAT_PART = {
    "oneOf": [
        _one("text", "text", text=_TEXT, cache_control=_MARK),
        _one("image_url", "image_url", image_url=_object("url", url=_URL, detail={"enum": ["low", "auto"]})),
        _one("file", "file", file=_object("", file_data=_URL, filename=_TEXT, file_id=_ID)),
        _one("refusal", "refusal", refusal=_TEXT),
    ]
}
_CHAT_CALL = _one(
    "function",
    "id function",
    id=_ID,
    function=_object("name arguments", name=_ID, arguments={"enum": ["{}", '{"a":1}', '{"a":', "[]", ""]}),
)
_CHAT_MESSAGE = {
    "oneOf": [
        _object(
            "role content",
            role={"enum": ["user", "system", "developer"]},
            content={"oneOf": [_TEXT, _list(_CHAT_PART)]},
            name=_ID,
        ),
        _object(
            "role",
            role={"const": "assistant"},
            content={"oneOf": [_TEXT, {"type": "null"}]},
            tool_calls=_list(_CHAT_CALL),
            reasoning_content=_TEXT,
            refusal={"oneOf": [_TEXT, {"type": "null"}]},
        ),
        _object("role tool_call_id content", role={"const": "tool"}, tool_call_id=_ID, content=_TEXT),
    ]
}
_CHAT_TOOL = _one("function", "function", function=_object("name", name=_ID, parameters=_PARAMETERS))
_CHOSEN = {"enum": ["auto", "none", "required", {"type": "function", "function": {"name": "c1"}}]}
_CHAT_BODY = _object(
    "model messages max_tokens",
    model=_MODEL,
    messages=_list(_CHAT_MESSAGE, 1),
    max_tokens=_LIMIT,
    tools=_list(_CHAT_TOOL),
    tool_choice=_CHOSEN,
    parallel_tool_calls={"type": "boolean"},
    stop={"enum": ["x", ["x", "y"], None]},
    reasoning_effort={"enum": ["none", "low", "high"]},
    response_format={"enum": [{"type": "text"}, {"type": "json_object"}, {"type": "json_schema"}]},
    n={"enum": [1, 2]},
    stream_options=_object("", include_usage={"type": "boolean"}),
    **_SAMPLING,
)

# --- Anthropic's messages ---

_SOURCE = {
    "oneOf": [
        _one("url", "url", url=_URL),
        _one("base64", "media_type data", media_type={"enum": ["image/png", "text/plain"]}, data=_ID),
        _one("text", "data", data=_TEXT),
    ]
}
_TEXT_BLOCK = _one("text", "text", text=_TEXT, cache_control=_MARK)
_BLOCK = {
    "oneOf": [
        _TEXT_BLOCK,
        _one("image", "source", source=_SOURCE),
        _one("document", "source", source=_SOURCE, title=_TEXT),
        _one("tool_use", "id name input", id=_ID, name=_ID, input={"enum": [{}, {"a": 1}]}),
        _one(
            "tool_result",
            "tool_use_id",
            tool_use_id=_ID,
            is_error={"type": "boolean"},
            content={"oneOf": [_TEXT, _list(_TEXT_BLOCK)]},
        ),
        _one("thinking", "thinking signature", thinking=_TEXT, signature=_TEXT),
        _one("redacted_thinking", "data", data=_ID),
        _one("search_result", "source title", source=_URL, title=_TEXT),
    ]
}
_MESSAGE = _object(
    "role content",
    role={"enum": ["user", "assistant", "system"]},
    content={"oneOf": [_TEXT, _list(_BLOCK)]},
)
_TOOL = _object("name input_schema", name=_ID, input_schema=_PARAMETERS, cache_control=_MARK)
_COUNT_BODY = _object(
    "model messages",
    model=_MODEL,
    messages=_list(_MESSAGE, 1),
    system={"oneOf": [_TEXT, _list(_TEXT_BLOCK)]},
    tools=_list(_TOOL),
    tool_choice={"enum": [{"type": "auto"}, {"type": "any"}, {"type": "tool", "name": "c1"}]},
)
_MESSAGES_BODY = _object(
    "model messages max_tokens",
    **_COUNT_BODY["properties"],
    max_tokens=_LIMIT,
    stop_sequences=_list(_ID),
    top_k={"enum": [1, 40]},
    thinking={"enum": [{"type": "disabled"}, {"type": "enabled", "budget_tokens": 1024}]},
    output_config={"enum": [{"effort": "low"}, {"format": {"type": "json_schema", "schema": {}}}]},
    **_SAMPLING,
)

# --- OpenAI's responses, completions, embeddings ---

_ITEM = {
    "oneOf": [
        _object(
            "role content",
            role={"enum": ["user", "system", "developer", "assistant"]},
            content={
                "oneOf": [
                    _TEXT,
                    _list(
                        {
                            "oneOf": [
                                _one("input_text", "text", text=_TEXT),
                                _one("output_text", "text", text=_TEXT),
                                _one("input_image", "image_url", image_url=_URL),
                            ]
                        }
                    ),
                ]
            },
        ),
        _one(
            "function_call", "call_id name arguments", call_id=_ID, name=_ID, arguments={"enum": ["{}", "["]}
        ),
        _one("function_call_output", "call_id output", call_id=_ID, output=_TEXT),
        _one("reasoning", "id summary", id=_ID, summary=_list(_one("summary_text", "text", text=_TEXT))),
    ]
}
_RESPONSES_BODY = _object(
    "model input max_output_tokens",
    model=_MODEL,
    input={"oneOf": [_TEXT, _list(_ITEM, 1)]},
    instructions=_TEXT,
    max_output_tokens=_LIMIT,
    tools=_list(_one("function", "name parameters", name=_ID, parameters=_PARAMETERS)),
    tool_choice={"enum": ["auto", "none", "required", {"type": "function", "name": "c1"}]},
    text={"enum": [{"format": {"type": "text"}}, {"verbosity": "low"}]},
    reasoning={"enum": [{"effort": "low"}, {"summary": "auto"}]},
    store={"type": "boolean"},
    previous_response_id=_ID,
    **_SAMPLING,
)
_COMPLETIONS_BODY = _object(
    "model prompt max_tokens", model=_MODEL, prompt=_TEXT, max_tokens=_LIMIT, **_SAMPLING
)
_EMBEDDINGS_BODY = _object(
    "model input",
    model=_MODEL,
    input={"oneOf": [_TEXT, _list(_TEXT), _list({"type": "integer"})]},
    encoding_format={"enum": ["float", "base64"]},
)


def _posted(body: Schema) -> Schema:
    content = {"application/json": {"schema": body}}
    return {"post": {"requestBody": {"required": True, "content": content}, "responses": {"200": _SAID}}}


_SAID = {"description": "what the upstream said"}
_NAMED = {"name": "model", "in": "path", "required": True, "schema": _MODEL}
_PATHS: Schema = {
    "/v1/chat/completions": _posted(_CHAT_BODY),
    "/v1/messages": _posted(_MESSAGES_BODY),
    "/v1/messages/count_tokens": _posted(_COUNT_BODY),
    "/v1/responses": _posted(_RESPONSES_BODY),
    "/v1/completions": _posted(_COMPLETIONS_BODY),
    "/v1/embeddings": _posted(_EMBEDDINGS_BODY),
    "/v1/models": {"get": {"responses": {"200": _SAID}}},
    "/v1/models/{model}": {"get": {"parameters": [_NAMED], "responses": {"200": _SAID}}},
}


def description(model: str) -> Schema:
    """The description, in which every request is to one model."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "the providers' routes", "version": "1"},
        "components": {"schemas": {"Model": {"const": model}}},
        "paths": _PATHS,
    }
