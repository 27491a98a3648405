"""Marks survive every translation: on what they stood on, in the words of whoever takes them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from promptcache_gateway.errors import ApiError
from promptcache_gateway.translate.chat_to_messages import chat_to_messages
from promptcache_gateway.translate.flavor import BY_BLOCKS, ENGINE, LENIENT, Flavor, flavor_of
from promptcache_gateway.translate.messages_to_chat import message_path, messages_to_chat
from promptcache_gateway.translate.responses_to_chat import response_path, responses_to_chat

MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}
BREAKPOINT = {"mode": "explicit"}
NEWEST = flavor_of("openai", "https://api.openai.com/v1", "gpt-5.6")
IMAGE = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def turns(*contents: Any, role: str = "user") -> dict[str, Any]:
    return {"messages": [{"role": role, "content": content} for content in contents]}


def chat(payload: dict[str, Any], flavor: Flavor = LENIENT) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = messages_to_chat(payload, "m", flavor)["messages"]
    return messages


def test_a_mark_on_a_call_goes_to_chat_and_back() -> None:
    use = {"type": "tool_use", "id": "c1", "name": "t", "input": {}, "cache_control": HOUR}
    told = messages_to_chat(turns([use], role="assistant"), "m", LENIENT)
    (call,) = told["messages"][0]["tool_calls"]
    assert call["cache_control"] == HOUR
    assert chat_to_messages(told, "m")["messages"][0]["content"] == [use]
    assert "cache_control" not in json.dumps(chat(turns([use], role="assistant"), ENGINE))


def test_a_mark_on_a_result_without_text_is_on_what_it_shows() -> None:
    result = {"type": "tool_result", "tool_use_id": "c1", "content": [IMAGE], "cache_control": MARK}
    tool, user = chat(turns([result, text("And?")]))
    assert (tool["content"], user["content"][0]["cache_control"]) == ("", MARK)
    assert "cache_control" not in user["content"][1]


def test_the_mark_on_the_whole_request_goes_where_it_is_known() -> None:
    asked = {**turns("Hi"), "cache_control": HOUR}
    assert messages_to_chat(asked, "m", LENIENT)["cache_control"] == HOUR
    assert chat_to_messages(messages_to_chat(asked, "m", LENIENT), "m")["cache_control"] == HOUR
    for flavor in (ENGINE, NEWEST, flavor_of("litellm", "", "m")):
        assert "cache_control" not in messages_to_chat(asked, "m", flavor)


@pytest.mark.parametrize(
    ("message", "content"),
    [
        ({"role": "tool", "tool_call_id": "c", "content": "r"},
         [{"type": "tool_result", "tool_use_id": "c", "content": "r", "cache_control": MARK}]),
        ({"role": "tool", "tool_call_id": "c", "content": []},
         [{"type": "tool_result", "tool_use_id": "c", "content": [], "cache_control": MARK}]),
        ({"role": "assistant", "content": "a"}, [text("a", cache_control=MARK)]),
        ({"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "t", "arguments": "{}"}}]},
         [{"type": "tool_use", "id": "c", "name": "t", "input": {}, "cache_control": MARK}]),
        ({"role": "user", "content": [text("a"), text("")]}, [text("a", cache_control=MARK)]),
    ],
)  # fmt: skip
def test_a_mark_on_a_whole_message_is_on_the_last_of_it(message: dict[str, Any], content: Any) -> None:
    translated = chat_to_messages({"messages": [{**message, "cache_control": MARK}]}, "m")
    assert translated["messages"][0]["content"] == content


def test_a_text_without_a_character_leaves_its_mark_on_what_is_before() -> None:
    parts = [text("a"), text("", cache_control=MARK), text("")]
    assert chat_to_messages(turns(parts), "m")["messages"] == [
        {"role": "user", "content": [text("a", cache_control=MARK)]}
    ]


POINTED: dict[str, Any] = {
    "tools": [{"name": "t", "input_schema": {"type": "object"}}, {"cachePoint": {"type": "default"}}],
    "system": [text("s"), {"cachePoint": {"type": "default", "ttl": "1h"}}],
    **turns(
        [text("a"), {"cachePoint": {"type": "default"}}, text("b", cache_control=HOUR), {"cachePoint": {}}]
    ),
}


def test_bedrock_s_point_is_a_mark_on_what_is_before_it() -> None:
    told = messages_to_chat(POINTED, "m", LENIENT)
    assert told["tools"][0]["cache_control"] == MARK
    assert told["messages"][0]["content"] == [text("s", cache_control=HOUR)]
    assert told["messages"][1]["content"] == [text("a", cache_control=MARK), text("b", cache_control=HOUR)]
    point = {"cachePoint": {"type": "default"}}
    tools = [{"type": "function", "function": {"name": "t"}}, point]
    spoken = chat_to_messages({"tools": tools, **turns([text("a"), point])}, "m")
    assert spoken["tools"][0]["cache_control"] == MARK
    assert spoken["messages"][0]["content"] == [text("a", cache_control=MARK)]
    item = {"role": "user", "content": [{"type": "input_text", "text": "a"}, point]}
    assert responses_to_chat({"input": [item]}, "m", LENIENT)["messages"][0]["content"] == [
        text("a", cache_control=MARK)
    ]


def test_a_point_is_none_of_the_parts_that_are_counted() -> None:
    point = {"cachePoint": {"type": "default"}}
    asked = turns([text("a"), point, text("b")])
    assert message_path("messages[0].content[1].text", asked, LENIENT) == "messages.0.content.2.text"
    parts = [{"type": "input_text", "text": "a"}, point, {"type": "input_text", "text": "b"}]
    item = {"input": [{"role": "user", "content": parts}]}
    assert response_path("messages[0].content[1].text", item, LENIENT) == "input[0].content[2].text"


@pytest.mark.parametrize("point", [{"cachePoint": {"type": "default"}}, {"cachePoint": 3}])
def test_a_point_with_nothing_before_it_is_refused(point: dict[str, Any]) -> None:
    with pytest.raises(ApiError, match=r"messages\[0\]\.content\[0\]"):
        messages_to_chat(turns([point, text("a")]), "m", LENIENT)


def test_openai_s_newer_models_get_breakpoints_of_their_own() -> None:
    assert not flavor_of("openai", "https://api.openai.com/v1", "gpt-4o").breaks
    marked = [text(str(number), cache_control=MARK) for number in range(3)]
    use = {"type": "tool_use", "id": "c1", "name": "t", "input": {}, "cache_control": MARK}
    asked = {
        "system": marked[:1],
        "tools": [{"name": "t", "input_schema": {}, "cache_control": MARK}],
        "messages": [
            {"role": "user", "content": [text("q"), marked[1]]},
            {"role": "assistant", "content": [text("a", cache_control=MARK), use]},
            {"role": "user", "content": [marked[2], text("last", cache_control=MARK)]},
        ],
    }
    told = messages_to_chat(asked, "m", NEWEST)
    assert "cache_control" not in json.dumps(told)
    breaks = [
        part["text"]
        for message in told["messages"]
        for part in message["content"]
        if part.get("prompt_cache_breakpoint") == BREAKPOINT
    ]
    assert breaks == ["0", "1", "2"], "the last is where OpenAI breaks by itself"
    assert json.dumps(told).count("prompt_cache_breakpoint") == 3


def test_a_tool_s_mark_goes_from_responses_to_whoever_takes_it() -> None:
    tool = {"type": "function", "name": "t", "parameters": {}, "cache_control": MARK}
    for flavor, kept in ((LENIENT, MARK), (BY_BLOCKS, MARK), (ENGINE, None), (NEWEST, None)):
        (made,) = responses_to_chat({"input": "x", "tools": [tool]}, "m", flavor)["tools"]
        assert (made.get("cache_control"), "cache_control" in made["function"]) == (kept, False)
