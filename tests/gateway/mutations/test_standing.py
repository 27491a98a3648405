"""What a translation leaves out is named."""

from __future__ import annotations

import json
from typing import Any

from tests.gateway.mutations.stage import Stage


def results(*failed: Any) -> dict[str, Any]:
    calls = [{"type": "tool_use", "id": f"t{at}", "name": "f", "input": {}} for at in range(len(failed))]
    told = [
        {"type": "tool_result", "tool_use_id": f"t{at}", "content": "no such order", "is_error": error}
        for at, error in enumerate(failed)
    ]
    turns = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": calls},
        {"role": "user", "content": told},
    ]
    return {"model": "m", "max_tokens": 5, "messages": turns}


def test_a_tools_failure_that_is_dropped_is_named_by_its_place() -> None:
    sent = Stage().send(results(False, True, True))
    assert sent.names == ["translation"]
    assert [path for path, _ in sent.change("translation").skipped] == [
        "messages[2].content[1].is_error",
        "messages[2].content[2].is_error",
    ]
    assert "dropped" in sent.change("translation").skipped[0][1]


def test_nothing_is_named_where_nothing_is_dropped() -> None:
    assert Stage().send(results(False, False)).change("translation").skipped == ()
    assert Stage(kind="anthropic").send(results(True)).names == []


def test_there_are_never_more_than_twenty_and_odd_shapes_are_passed_over() -> None:
    assert len(Stage().send(results(*[True] * 30)).change("translation").skipped) == 20
    for odd in (None, "x", [None, {"content": [3, {"type": "tool_result"}]}]):
        body = json.dumps({"model": "m", "max_tokens": 5, "messages": odd}).encode()
        assert Stage().send(body).change("translation").skipped == ()


def skipped(sent: Any) -> list[str]:
    return [path for path, _ in sent.change("translation").skipped]


def test_thoughts_that_only_their_own_provider_can_read_are_named() -> None:
    said = [
        {"type": "thinking", "thinking": "hm", "signature": "sealed"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "thinking", "thinking": "ours", "signature": ""},
        {"type": "text", "text": "Hello."},
    ]
    turns = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": said}]
    asked = {
        "model": "m",
        "max_tokens": 5,
        "thinking": {"type": "enabled", "budget_tokens": 9},
        "messages": turns,
    }
    sent = Stage().send(asked)
    assert skipped(sent) == ["thinking", "messages[1].content[0]", "messages[1].content[1]"]
    assert sent.json["messages"], "the call as it is before it is translated"


def test_fields_and_marks_that_are_dropped_on_the_way_to_a_chat_are_named() -> None:
    mark = {"type": "ephemeral"}
    text = {"type": "text", "text": "x", "cache_control": mark}
    tool = {"name": "f", "input_schema": {}, "strict": True, "cache_control": mark}
    asked = {
        "model": "m",
        "max_tokens": 5,
        "metadata": {"user_id": "u"},
        "top_k": 5,
        "output_config": {"effort": "low"},
        "tools": [tool],
        "system": [text],
        "messages": [{"role": "user", "content": [{**text, "citations": {"enabled": True}}]}],
    }
    assert skipped(Stage().send(asked)) == ["metadata", "messages[0].content[0].citations"]
    strict = skipped(Stage(url="https://api.openai.com/v1", apis=("chat",)).send(asked))
    assert strict == [
        *("metadata", "top_k", "tools[0].cache_control", "system[0].cache_control"),
        *("messages[0].content[0].citations", "messages[0].content[0].cache_control"),
    ]


def test_marks_that_openai_s_newer_models_take_no_more_of_are_named() -> None:
    text = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
    use = {"type": "tool_use", "id": "c", "name": "f", "input": {}, "cache_control": {"type": "ephemeral"}}
    result = {
        "type": "tool_result",
        "tool_use_id": "c",
        "content": "r",
        "cache_control": {"type": "ephemeral"},
    }
    asked = {
        "model": "gpt-5.6",
        "max_tokens": 5,
        "cache_control": {"type": "ephemeral"},
        "system": [text, text],
        "messages": [
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [result, text, text]},
        ],
    }
    assert skipped(Stage(url="https://api.openai.com/v1", apis=("chat",)).send(asked)) == [
        *("cache_control", "messages[0].content[0].cache_control", "messages[1].content[0].cache_control"),
        "messages[1].content[2].cache_control",
    ]


def test_what_a_message_cannot_say_of_a_chat_is_named() -> None:
    image = {"type": "image_url", "image_url": {"url": "https://h/x.png", "detail": "low"}}
    asked = {
        "model": "m",
        "seed": 5,
        "store": False,
        "metadata": {},
        "prompt_cache_key": "k",
        "tools": [
            {"type": "function", "function": {"name": "f", "strict": True}},
            {"type": "function", "function": {"name": "g"}},
        ],
        "messages": [
            {"role": "user", "name": "ana", "content": [image]},
            {"role": "assistant", "content": "x", "reasoning_content": "hm"},
            {"role": "assistant", "content": "x", "reasoning_content": "hm", "thinking_blocks": []},
            {"role": "assistant", "content": "x", "refusal": "no"},
            {"role": "assistant", "content": None, "refusal": "said as the answer"},
        ],
    }
    assert skipped(Stage(kind="anthropic").send(asked, dialect="openai.chat")) == [
        *("seed", "store", "prompt_cache_key", "messages[0].name"),
        *("messages[0].content[0].image_url.detail", "messages[1].reasoning_content"),
        *("messages[2].reasoning_content", "messages[3].refusal"),
    ]


def test_what_responses_say_beyond_chats_and_messages_is_named() -> None:
    picture = {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "low"}
    asked = {
        "model": "m",
        "include": ["reasoning.encrypted_content"],
        "truncation": "auto",
        "text": {"verbosity": "low"},
        "reasoning": {"summary": "auto"},
        "tools": [{"type": "function", "name": "f", "strict": True}],
        "input": [{"role": "user", "content": [picture]}, {"type": "reasoning", "id": "rs_1", "summary": []}],
    }
    named = ["include", "truncation", "reasoning.summary", "input[1]"]
    assert skipped(Stage(apis=("chat",)).send(asked, dialect="openai.responses")) == named
    messages = Stage(kind="anthropic").send(asked, dialect="openai.responses")
    named.insert(2, "text.verbosity")
    assert skipped(messages) == [*named, "input[0].content[0].detail"]
