"""Whatever stands wherever in a request that is translated: it is translated, or refused with a 400."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from promptcache_gateway.errors import ApiError
from promptcache_gateway.translate.chat_to_messages import chat_to_messages
from promptcache_gateway.translate.flavor import BY_BLOCKS, LENIENT, STRICT
from promptcache_gateway.translate.messages_to_chat import messages_to_chat
from promptcache_gateway.translate.responses_to_chat import responses_to_chat
from promptcache_gateway.translate.seals import sealed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    1e308,
    "",
    "x",
    "\0",
    [],
    {},
    [[]],
    [None],
    [{}],
    {"type": None},
    {"type": []},
    {"cachePoint": {}},
]
PICTURE = "data:image/png;base64,AAAA"
FUNCTION = {"name": "f", "description": "d", "parameters": {"type": "object"}, "strict": True}
CALLED = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CHAT = {
    "max_tokens": 10,
    "n": 1,
    "stop": ["x"],
    "reasoning_effort": "low",
    "parallel_tool_calls": False,
    "response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": {}}},
    "tools": [{"type": "function", "function": FUNCTION}],
    "tool_choice": {"type": "function", "function": {"name": "f"}},
    "messages": [
        {
            "role": "system",
            "content": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
        },
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": PICTURE}}]},
        {
            "role": "assistant",
            "content": "ok",
            "tool_calls": [CALLED],
            "thinking_blocks": [{"type": "thinking", "thinking": "t", "signature": "s"}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "r"}]},
    ],
}
SOURCE = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
MESSAGES = {
    "max_tokens": 10,
    "stop_sequences": ["x"],
    "thinking": {"type": "enabled", "budget_tokens": 1024},
    "system": [{"type": "text", "text": "s"}],
    "tools": [{"name": "f", "input_schema": {"type": "object"}}],
    "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
    "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": {}}},
    "context_management": {"edits": [{"type": "clear_thinking_20251015"}]},
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "image", "source": SOURCE},
                {"type": "document", "source": SOURCE, "cache_control": {"type": "ephemeral"}},
                {"cachePoint": {"type": "default"}},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "t", "signature": ""},
                {"type": "tool_use", "id": "c1", "name": "f", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text"}]}],
        },
    ],
}
RESPONSES = {
    "instructions": "s",
    "reasoning": {"effort": "low"},
    "text": {"format": {"type": "json_schema", "name": "s", "schema": {}}},
    "tools": [{"type": "function", **FUNCTION}],
    "tool_choice": {"type": "function", "name": "f"},
    "input": [
        {"role": "user", "content": [{"type": "input_image", "image_url": PICTURE, "detail": "low"}]},
        {
            "type": "reasoning",
            "id": "r",
            "summary": [{"type": "summary_text", "text": "t"}],
            "content": [{"type": "reasoning_text", "text": "t"}],
            "encrypted_content": sealed([{"type": "thinking", "thinking": "t", "signature": "s"}]),
        },
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ok"}]},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "r"}]},
    ],
}
NEWEST = replace(STRICT, breaks=True)
TRANSLATORS: dict[str, tuple[dict[str, Any], Callable[[dict[str, Any]], Any]]] = {
    "chat": (CHAT, lambda payload: chat_to_messages(payload, "m")),
    "messages": (MESSAGES, lambda payload: messages_to_chat(payload, "m", LENIENT)),
    "messages to OpenAI": (MESSAGES, lambda payload: messages_to_chat(payload, "m", NEWEST)),
    "responses": (RESPONSES, lambda payload: responses_to_chat(payload, "m", LENIENT)),
    "responses to messages": (
        RESPONSES,
        lambda payload: chat_to_messages(responses_to_chat(payload, "m", BY_BLOCKS), "m"),
    ),
}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in inside:
        yield from places(inner, (*path, step))


@pytest.mark.parametrize("name", TRANSLATORS)
def test_every_value_in_every_place(name: str) -> None:
    request, translate = TRANSLATORS[name]
    refused, statuses = 0, set[int]()
    for *outer, last in places(request):
        for odd in ODD:
            changed = copy.deepcopy(request)
            at: Any = changed
            for step in outer:
                at = at[step]
            at[last] = odd
            before = copy.deepcopy(changed)
            try:
                orjson.dumps(translate(changed))
            except ApiError as error:
                refused += error.status == 400
                statuses.add(error.status)
            assert changed == before
    assert refused > 100
    assert statuses == {400}
