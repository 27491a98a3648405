"""The events of a stream, appended, replay as the whole answer would."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache.conversation import Conversation
from promptcache.errors import ReplayError

CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "search", "arguments": ""}}


def chunk(delta: dict[str, Any], finish: str | None = None) -> Any:
    from openai.types.chat import ChatCompletionChunk

    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    body = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return ChatCompletionChunk.model_validate(body)


def openai_chunks() -> list[Any]:
    second = {**CALL, "index": 1, "id": "c2"}
    return [
        chunk({"role": "assistant", "content": "", "refusal": None}),
        chunk({"role": "assistant", "reasoning_content": "Let "}),
        chunk({"role": "assistant", "reasoning_content": "me"}),
        chunk({"content": "Right "}),
        chunk({"content": "away.\n"}),
        chunk({"tool_calls": [CALL]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"q": '}}]}),
        chunk({"tool_calls": [{"index": 0, "id": "c1", "function": {"arguments": "1.0}"}}]}),
        chunk({"tool_calls": [{**second, "function": {"name": "search", "arguments": "{}"}}]}),
        chunk({}, "tool_calls"),
        {
            "id": "x",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "m",
            "choices": [],
            "usage": {},
        },
    ]


WHOLE = {
    "role": "assistant",
    "content": "Right away.\n",
    "reasoning_content": "Let me",
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"q": 1.0}'}},
        {"id": "c2", "type": "function", "function": {"name": "search", "arguments": "{}"}},
    ],
}


def replayed(answer: Any, form: str = "to_openai") -> Any:
    chat = Conversation()
    chat.user("Hi")
    chat.assistant(answer)
    for call in chat._state.open_calls():
        chat.tool_result(call.id, "ok")
    return getattr(chat, form)("m")


@pytest.mark.parametrize("kind", [list, iter, tuple], ids=["list", "iterator", "tuple"])
def test_openai_chunks(kind: Any) -> None:
    assert replayed(kind(openai_chunks()))["messages"][1] == WHOLE


def test_openai_chunks_as_dicts() -> None:
    plain = [one if isinstance(one, dict) else one.model_dump(exclude_unset=True) for one in openai_chunks()]
    assert replayed(plain)["messages"][1] == WHOLE


@settings(max_examples=60)
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.integers(1, 5), st.text('{}: ,"1é'))
def test_however_it_was_cut(text: str, size: int, arguments: str) -> None:
    cut = [text[i : i + size] for i in range(0, len(text), size)]
    pieces = [arguments[i : i + size] for i in range(0, len(arguments), size)]
    chunks: list[dict[str, Any]] = [{"choices": [{"delta": {"content": piece}}]} for piece in cut]
    chunks += [{"choices": [{"delta": {"tool_calls": [CALL]}}]}]
    chunks += [
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}}]}
        for piece in pieces
    ]
    chunks += [{"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}]
    message = replayed(chunks)["messages"][1]
    assert message["content"] == text
    assert message["tool_calls"][0]["function"]["arguments"] == arguments


def anthropic_events() -> list[dict[str, Any]]:
    def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
        return [
            {"type": "content_block_start", "index": index, "content_block": start},
            *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
            {"type": "content_block_stop", "index": index},
        ]

    return [
        {"type": "message_start", "message": {"role": "assistant", "content": [], "usage": {}}},
        {"type": "ping"},
        *block(
            0,
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": "H"},
            {"type": "thinking_delta", "thinking": "m."},
            {"type": "signature_delta", "signature": "c2ln"},
        ),
        *block(
            1,
            {"type": "text", "text": "", "citations": None},
            {"type": "text_delta", "text": "Let me "},
            {"type": "text_delta", "text": "look.\n"},
        ),
        *block(
            2,
            {"type": "tool_use", "id": "t1", "name": "search", "input": {}},
            {"type": "input_json_delta", "partial_json": ""},
            {"type": "input_json_delta", "partial_json": '{"z": 1, '},
            {"type": "input_json_delta", "partial_json": '"a": 2}'},
        ),
        *block(3, {"type": "tool_use", "id": "t2", "name": "now", "input": {}}),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 3}},
        {"type": "message_stop"},
    ]


@pytest.mark.parametrize("as_objects", [False, True])
def test_anthropic_events(as_objects: bool) -> None:
    events: list[Any] = anthropic_events()
    if as_objects:
        from anthropic.types import RawMessageStreamEvent
        from pydantic import TypeAdapter

        adapter: Any = TypeAdapter(RawMessageStreamEvent)
        events[0]["message"] |= {"id": "m", "type": "message", "model": "m", "stop_reason": None}
        events[0]["message"] |= {"stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 0}}
        events = [adapter.validate_python(event) for event in events if event["type"] != "ping"]
    content = replayed(events, "to_anthropic")["messages"][1]["content"]
    assert content == [
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        {"type": "text", "text": "Let me look.\n"},
        {"type": "tool_use", "id": "t1", "name": "search", "input": {"z": 1, "a": 2}},
        {"type": "tool_use", "id": "t2", "name": "now", "input": {}},
    ]
    assert list(content[2]["input"]) == ["z", "a"]


ITEMS = [
    {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "abc"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello"}]},
]


def test_responses_events_whole_or_item_by_item() -> None:
    started = {"type": "response.created", "response": {"output": []}}
    done = [
        {"type": "response.output_item.done", "output_index": index, "item": item}
        for index, item in reversed(list(enumerate(ITEMS)))
    ]
    delta = {"type": "response.output_text.delta", "delta": "Hel"}
    completed = {"type": "response.completed", "response": {"output": ITEMS}}
    for events in ([started, delta, *done], [started, delta, *done, completed]):
        assert replayed(events, "to_responses")["input"][1:] == ITEMS


def test_gemini_chunks_join_their_texts_and_keep_signatures() -> None:
    parts = [
        [{"text": "Hm", "thought": True}],
        [{"text": "Let me "}],
        [
            {"text": "look."},
            {"functionCall": {"name": "f", "args": {"b": 1, "a": 2}}, "thoughtSignature": "s"},
        ],
        [{"functionCall": {"name": "f", "args": {}}}],
    ]
    chunks = [{"candidates": [{"content": {"role": "model", "parts": one}}]} for one in parts]
    request = replayed([*chunks, {"candidates": [], "usageMetadata": {}}], "to_gemini")
    assert request["contents"][1] == {
        "role": "model",
        "parts": [
            {"text": "Hm", "thought": True},
            {"text": "Let me look."},
            {"functionCall": {"name": "f", "args": {"b": 1, "a": 2}}, "thoughtSignature": "s"},
            {"functionCall": {"name": "f", "args": {}}},
        ],
    }
    assert request["contents"][2]["parts"] == [
        {"functionResponse": {"name": "f", "response": {"result": "ok"}}},
        {"functionResponse": {"name": "f", "response": {"result": "ok"}}},
    ]


@pytest.mark.parametrize(
    "events",
    [
        openai_chunks()[:-2],
        anthropic_events()[:13],
        anthropic_events()[:15],
        [chunk({"role": "assistant"})],
        [{"type": "response.created", "response": {"output": []}}],
        [{"type": "message_start"}],
        [{"type": "content_block_start", "index": 0}],
    ],
    ids=[
        "openai call cut off",
        "anthropic call begun",
        "anthropic call cut off",
        "empty",
        "no item",
        "no block",
        "no content",
    ],
)
def test_a_stream_that_tells_no_whole_answer_is_refused(events: list[Any]) -> None:
    chat = Conversation()
    chat.user("Hi")
    with pytest.raises(ReplayError) as caught:
        chat.assistant(events)
    assert caught.value.remedy
    assert len(chat) == 1


def test_a_text_that_was_cut_off_may_be_kept() -> None:
    assert replayed(openai_chunks()[:5])["messages"][1]["content"] == "Right away.\n"
    assert json.dumps(replayed([{"choices": [{"delta": {"content": "x"}}]}])["messages"][1]) == (
        '{"role": "assistant", "content": "x"}'
    )
