"""Streamed equals whole: the same answer, told in any pieces or at once, is the same answer to the caller.

What a stream tells is put together by the accumulators of the real clients, as their users get it.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from anthropic.lib.streaming._messages import accumulate_event
from anthropic.types import Message, RawMessageStreamEvent
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletionChunk
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

from promptcache.usage import Usage
from promptcache_gateway.translate.chat_answers import CompletionChunks, to_completion
from promptcache_gateway.translate.chat_to_messages import chat_to_messages
from promptcache_gateway.translate.events import Chained, Translator, read_events
from promptcache_gateway.translate.flavor import BY_BLOCKS
from promptcache_gateway.translate.gathered import CompletionParts, MessageParts
from promptcache_gateway.translate.message_answers import MessageEvents, to_message
from promptcache_gateway.translate.response_answers import to_response
from promptcache_gateway.translate.response_events import ResponseEvents
from promptcache_gateway.translate.responses_to_chat import responses_to_chat

MESSAGE_EVENT: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)
RESPONSE_EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
FRAME = {
    "id": "resp_1", "object": "response", "created_at": 5, "model": "m", "output": [], "store": False,
    "status": "in_progress", "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
}  # fmt: skip

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 2**40) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
ARGUMENTS = st.dictionaries(TEXT, VALUES, max_size=3)
COUNT = st.integers(0, 3000)


@st.composite
def cut(draw: st.DrawFn, text: str) -> list[str]:
    """A text in pieces, some of them empty."""
    at = sorted(draw(st.lists(st.integers(0, len(text)), max_size=4)))
    return [text[start:end] for start, end in zip([0, *at], [*at, len(text)], strict=True)]


@st.composite
def chats(draw: st.DrawFn) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A chat completion, and chunks that tell it: pieces of calls come in any order between calls."""
    thought, text, refusal = draw(TEXT), draw(TEXT), draw(st.just("") | TEXT)
    compact = draw(st.booleans())
    arguments = [
        "" if draw(st.integers(0, 4)) == 0 else json.dumps(one, separators=(",", ":") if compact else None)
        for one in draw(st.lists(ARGUMENTS, max_size=3))
    ]
    finish = draw(st.sampled_from(["stop", "length", "tool_calls", "content_filter"]))
    cached, fresh, output = draw(COUNT), draw(COUNT), draw(COUNT)
    usage: dict[str, Any] = {
        "prompt_tokens": cached + fresh,
        "completion_tokens": output,
        "total_tokens": cached + fresh + output,
    }
    if draw(st.booleans()):
        usage["prompt_tokens_details"] = {"cached_tokens": cached}
    message: dict[str, Any] = {"role": "assistant", "content": text or None, "refusal": refusal or None}
    if thought:
        message["reasoning_content"] = thought
    calls = [
        {"id": f"c{number}", "type": "function", "function": {"name": "t", "arguments": one}}
        for number, one in enumerate(arguments)
    ]
    if calls:
        message["tool_calls"] = calls
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 5, "model": "m-1"}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    for name, said in (("reasoning_content", thought), ("content", text), ("refusal", refusal)):
        deltas += [{name: piece} for piece in draw(cut(said))]
    deltas += [{"tool_calls": [piece]} for piece in draw(pieces_of(calls))]
    chunks = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    chunks.append({"index": 0, "delta": {}, "finish_reason": finish})
    told = [{**head, "object": "chat.completion.chunk", "choices": [one]} for one in chunks]
    told.append({**head, "object": "chat.completion.chunk", "choices": [], "usage": usage})
    return {**head, "choices": [choice], "usage": usage}, told


@st.composite
def pieces_of(draw: st.DrawFn, calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    waiting = []
    for number, call in enumerate(calls):
        first, *rest = draw(cut(call["function"]["arguments"]))
        named = {**call, "index": number, "function": {"name": "t", "arguments": first}}
        waiting.append([named, *({"index": number, "function": {"arguments": piece}} for piece in rest)])
    out: list[dict[str, Any]] = []
    begun = 0
    while any(waiting):
        ready = [at for at, left in enumerate(waiting) if left and at <= begun]
        at = draw(st.sampled_from(ready))
        begun = max(begun, at + 1)
        out.append(waiting[at].pop(0))
    return out


@st.composite
def messages(draw: st.DrawFn) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A message of Anthropic's, and events that tell it, one block after another."""
    content: list[dict[str, Any]] = []
    if draw(st.booleans()):
        content.append({"type": "thinking", "thinking": draw(TEXT), "signature": draw(TEXT)})
    if draw(st.booleans()):
        content.append({"type": "redacted_thinking", "data": "x"})
    content.extend({"type": "text", "text": text} for text in draw(st.lists(TEXT, max_size=2)))
    for number, arguments in enumerate(draw(st.lists(ARGUMENTS, max_size=3))):
        content.append({"type": "tool_use", "id": f"c{number}", "name": "t", "input": arguments})
    reason = draw(
        st.sampled_from(
            ["end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal",
             "model_context_window_exceeded"]
        )
    )  # fmt: skip
    usage = {
        "input_tokens": draw(COUNT),
        "cache_creation_input_tokens": draw(COUNT),
        "cache_read_input_tokens": draw(COUNT),
    }
    output = draw(COUNT)
    end: dict[str, Any] = {"stop_reason": reason, "stop_sequence": None}
    if reason == "refusal" and draw(st.booleans()):
        end["stop_details"] = {"type": "refusal", "category": None, "explanation": "No."}
        content = [block for block in content if block["type"] != "tool_use"]
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude"}
    started = {**head, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": started}]
    for index, block in enumerate(content):
        events += draw(events_of_block(index, block))
    events.append({"type": "message_delta", "delta": end, "usage": {"output_tokens": output}})
    events.append({"type": "message_stop"})
    return {**head, "content": content, **end, "usage": {**usage, "output_tokens": output}}, events


@st.composite
def events_of_block(draw: st.DrawFn, index: int, block: dict[str, Any]) -> list[dict[str, Any]]:
    empty: dict[str, Any] = {"text": "", "thinking": "", "signature": ""}
    start = {**block, **{name: empty[name] for name in block if name in empty}}
    deltas: list[dict[str, Any]] = []
    if block["type"] == "tool_use":
        at_once = draw(st.booleans())  # some servers tell the input where the block starts
        start["input"] = block["input"] if at_once else {}
        text = "" if at_once or not block["input"] else json.dumps(block["input"])
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in draw(cut(text))]
    for name in ("text", "thinking"):
        if block["type"] == name:
            deltas = [{"type": f"{name}_delta", name: piece} for piece in draw(cut(block[name]))]
    if block["type"] == "thinking":
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
    ping = [{"type": "ping"}] if draw(st.booleans()) else []
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *ping,
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def told(translator: Translator, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    out = b"".join([translator.take(event) for event in events]) + translator.end(Usage.from_stream(events))
    return list(read_events(out))


def as_message(events: list[dict[str, Any]]) -> dict[str, Any]:
    message, json_bufs = None, dict[int, bytes]()
    for event in events:
        message = accumulate_event(
            event=MESSAGE_EVENT.validate_python(event), current_snapshot=message, json_bufs=json_bufs
        )
    return _as_message(message)


def _as_message(message: Any) -> dict[str, Any]:
    made: dict[str, Any] = message.to_dict(exclude_unset=False)
    details = made.get("stop_details")
    return {
        "content": [
            {name: block[name] for name in block if name != "citations"} for block in made["content"]
        ],
        "why": (made["stop_reason"], made["stop_sequence"], details and details["explanation"]),
        "usage": {name: count for name, count in made["usage"].items() if count is not None},
        "names": (made["id"], made["model"], made["role"]),
    }


def as_response(events: list[dict[str, Any]]) -> dict[str, Any]:
    for event in events[:-1]:  # the last lacks what the upstream did not report of the cache
        RESPONSE_EVENT.validate_python(event)
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert sorted(map(str, done)) == sorted(map(str, events[-1]["response"]["output"]))
    return _as_response(events[-1]["response"])


def _as_response(response: dict[str, Any]) -> dict[str, Any]:
    return {**response, "output": [{**item, "id": ""} for item in response["output"]]}


def as_completion(events: list[dict[str, Any]]) -> dict[str, Any]:
    state = ChatCompletionStreamState()
    for event in events:
        state.handle_chunk(ChatCompletionChunk.model_validate(event))
    return _as_completion(state.current_completion_snapshot.to_dict())


def _as_completion(completion: Any) -> dict[str, Any]:
    (choice,) = completion["choices"]
    said = choice["message"]
    return {
        "texts": [said.get(name) or "" for name in ("content", "refusal", "reasoning_content")],
        "thoughts": [
            {name: block[name] for name in block if name != "index"}
            for block in said.get("thinking_blocks", ())
        ],
        "calls": [
            (call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))
            for call in said.get("tool_calls") or ()
        ],
        "finish": choice["finish_reason"],
        "usage": completion["usage"],
        "names": (completion["id"], completion["model"]),
    }


def without(block: dict[str, Any], field: str) -> dict[str, Any]:
    return {name: value for name, value in block.items() if name != field}


def put_together(parts: Any, events: list[dict[str, Any]], usage: Any) -> dict[str, Any]:
    for event in events:
        parts.take(event)
    return {**parts.whole(), "usage": usage}


@settings(max_examples=60, deadline=None)
@given(chats())
def test_a_chat_is_one_message_streamed_and_whole(chat: tuple[dict[str, Any], list[dict[str, Any]]]) -> None:
    whole, chunks = chat
    expected = _as_message(Message.model_validate(to_message(whole, "asked", "msg_x")))
    assert as_message(told(MessageEvents("asked", "msg_x", None), chunks)) == expected
    again = to_message(put_together(CompletionParts(), chunks, whole["usage"]), "asked", "msg_x")
    assert _as_message(Message.model_validate(again)) == expected


@settings(max_examples=60, deadline=None)
@given(chats())
def test_a_chat_is_one_response_streamed_and_whole(chat: tuple[dict[str, Any], list[dict[str, Any]]]) -> None:
    whole, chunks = chat
    expected = _as_response(to_response(whole, FRAME))
    assert as_response(told(ResponseEvents(FRAME), chunks)) == expected
    again = to_response(put_together(CompletionParts(), chunks, whole["usage"]), FRAME)
    assert _as_response(again) == expected


@settings(max_examples=60, deadline=None)
@given(messages())
def test_a_message_is_one_chat_streamed_and_whole(
    message: tuple[dict[str, Any], list[dict[str, Any]]],
) -> None:
    whole, events = message
    expected = _as_completion(to_completion(whole, "asked", "x", 5))
    streamed = told(CompletionChunks("asked", "x", 5, include_usage=True), events)
    assert as_completion(streamed) == expected
    assert put_together(MessageParts(), events, whole["usage"])["content"] == whole["content"]


@settings(max_examples=60, deadline=None)
@given(messages())
def test_a_message_is_one_response_streamed_and_whole(
    message: tuple[dict[str, Any], list[dict[str, Any]]],
) -> None:
    whole, events = message
    expected = _as_response(to_response(to_completion(whole, "asked", "x", 5), FRAME, signed=True))
    chunks = CompletionChunks("asked", "x", 5, include_usage=False)
    through = Chained(chunks, ResponseEvents(FRAME, signed=True))
    streamed = as_response(told(through, events))
    thoughts = [block for block in whole["content"] if "thinking" in block["type"]]
    assert thoughts_again(expected) == thoughts_again(streamed) == thoughts
    for response in (expected, streamed):
        for item in response["output"]:
            if item["type"] == "function_call":
                item["arguments"] = json.loads(item["arguments"])  # as the model wrote them, or compact
    assert streamed == expected


def test_a_tool_that_is_named_after_its_call_is_named_in_all_of_them() -> None:
    pieces: list[dict[str, Any]] = [
        {"index": 0, "id": "c1", "type": "function", "function": {"name": None, "arguments": ""}},
        {"index": 0, "function": {"name": "t", "arguments": "{}"}},
    ]
    chunks = [{"choices": [{"index": 0, "delta": {"tool_calls": [piece]}}]} for piece in pieces]
    (block,) = as_message(told(MessageEvents("m", "msg_x", None), chunks))["content"]
    (item,) = as_response(told(ResponseEvents(FRAME), chunks))["output"]
    (call,) = put_together(CompletionParts(), chunks, {})["choices"][0]["message"]["tool_calls"]
    assert [block["name"], item["name"], call["function"]["name"]] == ["t", "t", "t"]


@pytest.mark.parametrize(("finish", "arguments"), [("tool_calls", ["{}", "{}"]), ("length", ["{}", ""])])
def test_a_response_s_call_without_arguments_has_those_of_an_empty_object(
    finish: str, arguments: list[str]
) -> None:
    """Callers read them as JSON. One that was cut off says so instead."""
    calls = [{"id": f"c{at}", "function": {"name": "t", "arguments": ""}, "index": at} for at in (0, 1)]
    choice = {"index": 0, "finish_reason": finish}
    whole = to_response({"choices": [{**choice, "message": {"tool_calls": calls}}]}, FRAME)
    chunks = [{"choices": [{**choice, "delta": {"tool_calls": calls}}]}]
    for made in (whole, as_response(told(ResponseEvents(FRAME), chunks))):
        assert [item["arguments"] for item in made["output"]] == arguments


def thoughts_again(response: dict[str, Any]) -> list[Any]:
    """What was thought, as the next turn has it for Anthropic."""
    asked = responses_to_chat({"input": response["output"]}, "m", BY_BLOCKS)
    turns = chat_to_messages(asked, "m")["messages"]
    return [block for turn in turns for block in turn["content"] if "thinking" in block["type"]]
