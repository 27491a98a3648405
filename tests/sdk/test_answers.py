"""What is kept of an answer can be sent back; what cannot is refused at once and leaves no trace."""

from __future__ import annotations

import json
from typing import Any

import pytest

from promptcache.conversation import Conversation
from promptcache.errors import ConversationError, ReplayError
from tests.sdk.answers import anthropic_message, openai_completion


def asked() -> Conversation:
    chat = Conversation("Be brief.")
    chat.user("Hi")
    return chat


def wrapped(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {
        "type": "chunk",
        "chunk": {"object": "chat.completion.chunk", "choices": [choice]},
        "snapshot": {},
    }


def test_events_of_openais_stream_helper_are_unwrapped() -> None:
    chat = asked()
    told = {"type": "content.delta", "delta": "Hello", "snapshot": "Hello"}
    done = {"type": "content.done", "content": "Hello", "parsed": None}
    chat.assistant([wrapped({"role": "assistant", "content": "Hello"}), told, wrapped({}, "stop"), done])
    assert chat.to_openai("m")["messages"][-1] == {"role": "assistant", "content": "Hello"}


@pytest.mark.parametrize(
    "answer",
    [
        [{"type": "error"}],
        [{"type": "text", "text": "x"}, {"type": "unheard_of"}],
        [{"type": "content.delta", "delta": "x"}],
        [{"type": "message_start"}, {"type": "error", "error": {}}],
        {"role": "assistant", "content": [{"type": "unheard_of"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "unheard_of"}]},
        {"output": [{"type": "unheard_of"}]},
    ],
)
def test_an_unknown_kind_is_refused(answer: Any) -> None:
    chat = asked()
    with pytest.raises(ReplayError) as caught:
        chat.assistant(answer)
    assert caught.value.remedy
    assert len(chat) == 1


def test_what_an_sdk_parsed_is_never_sent_back() -> None:
    function = {"name": "f", "arguments": '{"a":1}', "parsed_arguments": {"a": 1}}
    call = {"id": "c", "type": "function", "function": function}
    for message in (
        {"role": "assistant", "content": "{}", "parsed": {"a": 1}, "tool_calls": None},
        {"role": "assistant", "content": "{}", "parsed": {"a": 1}, "tool_calls": []},
        {"role": "assistant", "content": "{}", "parsed": {"a": 1}, "tool_calls": [call]},
    ):
        chat = asked()
        chat.assistant(message)
        written = json.loads(chat._state.entries[-1].payload)  # type: ignore[union-attr]
        assert "parsed" not in json.dumps(written)
        assert ("tool_calls" in written) == bool(message["tool_calls"])
    chat = asked()
    text = {"type": "output_text", "text": "{}", "parsed": {"a": 1}, "annotations": []}
    called = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}", "parsed_arguments": {}}
    chat.assistant({"output": [{"type": "message", "role": "assistant", "content": [text]}, called]})
    chat.tool_result("c", "ok")
    assert "parsed" not in json.dumps(chat.to_responses("m"))
    chat = asked()
    chat.assistant([{"type": "text", "text": "{}", "parsed_output": {"a": 1}}])
    assert "parsed" not in json.dumps(chat.to_anthropic("m"))


@pytest.mark.parametrize(
    ("answer", "place"),
    [
        ([{"type": "tool_use", "name": "f", "input": {}}], r"content\[0\].id"),
        ([{"type": "tool_use", "id": "t", "input": {}}], r"content\[0\].name"),
        ([{"type": "tool_use", "id": "t", "name": "f", "input": "{}"}], r"content\[0\].input"),
        ([{"type": "text", "text": 5}], r"content\[0\].text"),
        ({"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": ""}}]}, "id"),
        ({"role": "assistant", "tool_calls": [{"id": "c"}]}, r"tool_calls\[0\].function"),
        ({"role": "assistant", "tool_calls": [5]}, r"tool_calls\[0\]"),
        ({"role": "assistant", "content": "x", "tool_calls": 5}, "tool_calls is a int"),
        ({"role": "assistant", "content": 5}, "content is a int"),
        ({"role": "assistant", "content": ["x"]}, r"content\[0\]"),
        ({"type": "message", "role": "assistant", "content": 5}, "content is a int"),
        ({"type": "message", "role": "assistant", "content": [5]}, r"content\[0\]"),
        ({"type": "message", "role": "user", "content": [{"type": "text", "text": "x"}]}, "role is 'user'"),
        ({"output": 5}, "output is a int"),
        ({"output": [5]}, r"output\[0\]"),
        ({"output": [{"type": "function_call", "name": "f", "arguments": "{}"}]}, "call_id"),
        ({"output": [{"type": "message", "content": 5}]}, "content is a int"),
        ({"output": [{"type": "message", "role": "user", "content": "x"}]}, "role is 'user'"),
        ({"choices": 5}, "no message"),
        ({"choices": [5]}, "no message"),
        ({"choices": [{"message": {"role": "user", "content": "x"}}]}, "role is 'user'"),
        ({"candidates": 5}, "no candidate"),
        ({"candidates": [{"content": {"parts": [5]}}]}, r"parts\[0\]"),
        ({"candidates": [{"content": {"role": "user", "parts": [{"text": "x"}]}}]}, "role is 'user'"),
        ({"role": "model", "parts": [5]}, r"parts\[0\]"),
        ({"role": "model", "parts": 5}, "parts is a int"),
        ({"role": "model", "parts": [{"functionCall": {}}]}, "functionCall.name"),
    ],
)
def test_a_malformed_answer_is_refused_with_its_place(answer: Any, place: str) -> None:
    chat = asked()
    before = json.dumps(chat.to_openai("m"))
    with pytest.raises(ReplayError, match=place):
        chat.assistant(answer)
    assert json.dumps(chat.to_openai("m")) == before


@pytest.mark.parametrize(
    "answer",
    [
        "",
        " \n",
        None,
        {"output": []},
        {"output": [{"type": "reasoning", "id": "r", "summary": []}]},
        {"output": [{"type": "message", "content": [{"type": "output_text", "text": ""}]}]},
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": []},
        {"role": "assistant", "content": None},
        {"role": "assistant", "content": None, "tool_calls": []},
        openai_completion(""),
        openai_completion(None),
        anthropic_message(),
        anthropic_message({"type": "thinking", "thinking": "Hm", "signature": "s"}),
        {"candidates": [{"content": {"role": "model", "parts": []}}]},
        {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hm", "thought": True}]}}]},
    ],
)
def test_an_empty_answer_is_refused(answer: Any) -> None:
    chat = asked()
    with pytest.raises(ReplayError):
        chat.assistant(answer)
    assert len(chat) == 1


CUSTOM = {"id": "c", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}


@pytest.mark.parametrize(
    "answer",
    [
        {"role": "assistant", "content": None, "tool_calls": [CUSTOM]},
        {"output": [{"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": "select 1"}]},
    ],
)
def test_a_custom_tool_call_waits_for_its_result(answer: Any) -> None:
    chat = asked()
    chat.assistant(answer)
    with pytest.raises(ConversationError, match="without a result: c"):
        chat.to_responses("m")
    chat.tool_result("c", "1")
    assert chat.to_openai("m")["messages"][2:] == [
        {"role": "assistant", "content": None, "tool_calls": [CUSTOM]},
        {"role": "tool", "tool_call_id": "c", "content": "1"},
    ]
    assert chat.to_responses("m")["input"][1:] == [
        {"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": "select 1"},
        {"type": "custom_tool_call_output", "call_id": "c", "output": "1"},
    ]
    assert chat.to_anthropic("m")["messages"][1]["content"][0]["input"] == {"input": "select 1"}
    assert chat.to_gemini("m")["contents"][1]["parts"][0]["functionCall"]["args"] == {"input": "select 1"}


def test_a_stream_cut_inside_a_thought_is_refused() -> None:
    chat = asked()
    text = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hello"}}
    thought = {"type": "thinking", "thinking": "Hm", "signature": ""}
    begun = {"type": "content_block_start", "index": 1, "content_block": thought}
    with pytest.raises(ReplayError, match="inside a thought"):
        chat.assistant([{"type": "message_start"}, text, {"type": "content_block_stop", "index": 0}, begun])


def test_a_refusal_has_words_everywhere() -> None:
    chat = asked()
    chat.assistant({"role": "assistant", "content": None, "refusal": "I cannot."})
    assert chat.to_anthropic("m", mark=False)["messages"][-1]["content"] == [
        {"type": "text", "text": "I cannot."}
    ]
