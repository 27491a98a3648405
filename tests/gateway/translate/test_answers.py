"""Answers from one API to another, whole and event by event, and that both say the same."""

from __future__ import annotations

import json
from typing import Any

import pytest

from promptcache.usage import Usage
from promptcache_gateway.errors import ApiError
from promptcache_gateway.exchange import EngineFacts
from promptcache_gateway.translate.chat_answers import CompletionChunks, to_completion
from promptcache_gateway.translate.events import read_events
from promptcache_gateway.translate.message_answers import MessageEvents, to_message

USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 7,
    "total_tokens": 107,
    "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10},
}
CALLS = [
    {"id": "c1", "type": "function", "function": {"name": "t", "arguments": '{"a": 1}'}},
    {"id": "c2", "type": "function", "function": {"name": "u", "arguments": ""}},
]
COMPLETION: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 5,
    "model": "m-1",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "Hi é",
                "reasoning_content": "hm",
                "tool_calls": CALLS,
            },
            "finish_reason": "tool_calls",
        }
    ],
    "usage": USAGE,
}
CONTENT = [
    {"type": "thinking", "thinking": "hm", "signature": ""},
    {"type": "text", "text": "Hi é"},
    {"type": "tool_use", "id": "c1", "name": "t", "input": {"a": 1}},
    {"type": "tool_use", "id": "c2", "name": "u", "input": {}},
]
MESSAGE_USAGE = {
    "input_tokens": 30,
    "cache_creation_input_tokens": 10,
    "cache_read_input_tokens": 60,
    "output_tokens": 7,
}


def test_a_completion_becomes_a_message() -> None:
    assert to_message(COMPLETION, "asked", "msg_x") == {
        "id": "chatcmpl-1",
        "type": "message",
        "role": "assistant",
        "model": "m-1",
        "content": CONTENT,
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": MESSAGE_USAGE,
    }


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ({"finish_reason": "stop"}, ("end_turn", None)),
        ({"finish_reason": "stop", "stop_reason": "END"}, ("stop_sequence", "END")),
        ({"finish_reason": "stop", "stop_reason": 128009}, ("end_turn", None)),
        ({"finish_reason": "length"}, ("max_tokens", None)),
        ({"finish_reason": "content_filter"}, ("refusal", None)),
        ({"finish_reason": "odd"}, ("end_turn", None)),
        ({"finish_reason": "stop", "message": {"content": None, "refusal": "No."}}, ("refusal", None)),
        ({"finish_reason": "length", "message": {"content": None, "refusal": "N"}}, ("max_tokens", None)),
        ({"finish_reason": "stop", "message": {"content": "x", "refusal": ""}}, ("end_turn", None)),
        ({"finish_reason": "stop", "message": {"tool_calls": CALLS[:1]}}, ("tool_use", None)),
        ({"finish_reason": None, "message": {"tool_calls": CALLS[:1]}}, ("tool_use", None)),
        ({"finish_reason": "length", "message": {"tool_calls": CALLS[:1]}}, ("max_tokens", None)),
        ({"finish_reason": "content_filter", "message": {"tool_calls": CALLS[:1]}}, ("refusal", None)),
    ],
)
def test_why_it_stopped(choice: dict[str, Any], expected: tuple[str, str | None]) -> None:
    choice = {"message": {"content": "x"}, **choice}
    made = to_message({"choices": [choice]}, "m", "i")
    assert (made["stop_reason"], made["stop_sequence"]) == expected
    said = choice["message"].get("refusal")
    details = {"type": "refusal", "category": None, "explanation": said}
    assert made.get("stop_details") == (details if expected[0] == "refusal" else None)
    chunks = [chunk(**choice["message"]), {"choices": [{**choice, "message": None, "delta": {}}]}]
    streamed = assembled(translated(MessageEvents("m", "i", None), chunks))
    assert {**streamed, "usage": None, "id": None} == {**made, "usage": None, "id": None, "model": "m-1"}


def test_unreported_reads_are_null_and_zero_is_zero() -> None:
    unknown = to_message({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 1}}, "m", "i")
    assert unknown["usage"]["cache_read_input_tokens"] is None
    assert unknown["usage"]["input_tokens"] == 9
    zero = {"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 0}}
    assert to_message({"choices": [], "usage": zero}, "m", "i")["usage"]["cache_read_input_tokens"] == 0


def test_arguments_that_are_cut_off_keep_what_is_complete() -> None:
    calls = [{"id": "c", "function": {"name": "t", "arguments": '{"a": 1, "b": "Pa'}}]
    made = to_message({"choices": [{"message": {"tool_calls": calls}, "finish_reason": "length"}]}, "m", "i")
    assert (made["content"][0]["input"], made["stop_reason"]) == ({"a": 1}, "max_tokens")


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "m-1", "choices": [choice]}


def call(index: int, arguments: str, **more: str) -> dict[str, Any]:
    name = {"name": more["name"]} if "name" in more else {}
    head = {"id": more["id"], "type": "function"} if "id" in more else {}
    return chunk(tool_calls=[{"index": index, **head, "function": {**name, "arguments": arguments}}])


CHUNKS = [
    chunk(role="assistant", content=""),
    chunk(reasoning_content="h"),
    chunk(reasoning_content="m"),
    chunk(content="Hi"),
    chunk(content=" é"),
    call(0, "", id="c1", name="t"),
    call(0, '{"a"'),
    call(1, "", id="c2", name="u"),
    call(0, ": 1}"),
    chunk("tool_calls"),
    {"id": "chatcmpl-1", "choices": [], "usage": USAGE},
]


def assembled(events: list[dict[str, Any]]) -> dict[str, Any]:
    """A message put together from its events, as Anthropic's client does it."""
    assert [event["type"] for event in events][:: len(events) - 1] == ["message_start", "message_stop"]
    message = events[0]["message"]
    blocks: list[dict[str, Any]] = []
    still_open: set[int] = set()
    for event in events[1:-1]:
        kind = event["type"]
        if kind == "content_block_start":
            assert event["index"] == len(blocks)
            blocks.append({**event["content_block"], "json": ""})
            still_open.add(event["index"])
        elif kind == "content_block_delta":
            assert event["index"] in still_open
            for field, text in event["delta"].items():
                name = {"partial_json": "json"}.get(field, field)
                if name != "type":
                    blocks[event["index"]][name] += text
        elif kind == "content_block_stop":
            still_open.remove(event["index"])
        else:
            assert kind == "message_delta"
            assert not still_open
            message = {**message, **event["delta"], "usage": {**message["usage"], **event["usage"]}}
    for block in blocks:
        text = block.pop("json")
        if block["type"] == "tool_use":
            block["input"] = json.loads(text or "{}")
        if block["type"] == "thinking":
            block.setdefault("signature", "")
    return {**message, "content": blocks}


def translated(translator: Any, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    out = b"".join(translator.take(event) for event in events) + translator.end(Usage.from_stream(events))
    return list(read_events(out))


def test_chunks_become_the_same_message() -> None:
    made = assembled(translated(MessageEvents("asked", "msg_x", None), CHUNKS))
    assert made == to_message(COMPLETION, "asked", "msg_x")


def test_the_engine_s_counts_are_in_the_first_event() -> None:
    facts = EngineFacts(100, 60, 60, 0, 0, 0, 0, 60)
    first = next(read_events(MessageEvents("m", "i", facts).take(CHUNKS[0])))
    assert first["message"]["usage"]["cache_read_input_tokens"] == 60
    assert first["message"]["usage"]["input_tokens"] == 40


def test_an_empty_stream_is_an_empty_message() -> None:
    made = assembled(translated(MessageEvents("asked", "msg_x", None), []))
    assert (made["id"], made["model"], made["content"]) == ("msg_x", "asked", [])


def test_other_choices_are_left_out() -> None:
    other = {**CHUNKS[3], "choices": [{**CHUNKS[3]["choices"][0], "index": 1}]}
    made = assembled(translated(MessageEvents("m", "i", None), [CHUNKS[0], other, CHUNKS[3]]))
    assert made["content"] == [{"type": "text", "text": "Hi"}]


# --- the other way ---

MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-x",
    "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, *CONTENT[1:]],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": MESSAGE_USAGE,
}


def test_a_message_becomes_a_completion() -> None:
    made = to_completion(MESSAGE, "asked", "chatcmpl-x", 5)
    assert made == {
        "id": "msg_1",
        "object": "chat.completion",
        "created": 5,
        "model": "claude-x",
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": "Hi é",
                    "refusal": None,
                    "reasoning_content": "hm",
                    "thinking_blocks": [MESSAGE["content"][0]],
                    "tool_calls": [
                        {**CALLS[0], "function": {"name": "t", "arguments": '{"a":1}'}},
                        {**CALLS[1], "function": {"name": "u", "arguments": "{}"}},
                    ],
                },
                "logprobs": None,
                "finish_reason": "tool_calls",
            }
        ],
        "usage": USAGE,
    }


def events_of_message() -> list[dict[str, Any]]:
    start = {**MESSAGE, "content": [], "usage": {**MESSAGE_USAGE, "output_tokens": 1}}
    deltas: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
        (
            {"type": "thinking", "thinking": "", "signature": ""},
            [{"type": "thinking_delta", "thinking": part} for part in "hm"]
            + [{"type": "signature_delta", "signature": "s"}],
        ),
        ({"type": "text", "text": ""}, [{"type": "text_delta", "text": part} for part in ("Hi", " é")]),
        (
            {"type": "tool_use", "id": "c1", "name": "t", "input": {}},
            [{"type": "input_json_delta", "partial_json": part} for part in ('{"a"', ": 1}")],
        ),
        ({"type": "tool_use", "id": "c2", "name": "u", "input": {}}, []),
    ]
    events: list[dict[str, Any]] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    for index, (block, pieces) in enumerate(deltas):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [{"type": "content_block_delta", "index": index, "delta": piece} for piece in pieces]
        events.append({"type": "content_block_stop", "index": index})
    end = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 7}}
    return [*events, end, {"type": "message_stop"}]


@pytest.mark.parametrize("include_usage", [False, True])
def test_events_become_chunks(include_usage: bool) -> None:
    translator = CompletionChunks("asked", "chatcmpl-x", 5, include_usage=include_usage)
    chunks = translated(translator, events_of_message())
    assert {(chunk["id"], chunk["model"], chunk["created"]) for chunk in chunks} == {("msg_1", "claude-x", 5)}
    assert translator.end(Usage.unreported()).count(b"data: ") == 2, "no usage is told that nobody reported"
    if include_usage:
        last = chunks.pop()
        assert (last["choices"], last["usage"]) == ([], USAGE)
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert "".join(delta.get("content") or "" for delta in deltas) == "Hi é"
    assert "".join(delta.get("reasoning_content", "") for delta in deltas) == "hm"
    arguments: dict[int, str] = {}
    for delta in deltas:
        for piece in delta.get("tool_calls", ()):
            arguments[piece["index"]] = arguments.get(piece["index"], "") + piece["function"]["arguments"]
    assert arguments == {0: '{"a": 1}', 1: "{}"}
    thoughts = [block for delta in deltas for block in delta.get("thinking_blocks", ())]
    assert thoughts == [{"index": 0, **MESSAGE["content"][0]}], (
        "whole, with its signature, as the next turn must have it"
    )
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks][-2:] == [None, "tool_calls"]


def test_errors_have_each_api_s_shape() -> None:
    error = ApiError(502, "no", kind="upstream_error", code="c")
    assert b"event: error" in MessageEvents("m", "i", None).fail(error)
    assert CompletionChunks("m", "i", 1, include_usage=False).fail(error).startswith(b'data: {"error"')


def test_a_sealed_thought_is_passed_on_too() -> None:
    sealed = {"type": "redacted_thinking", "data": "x"}
    events = [
        {"type": "content_block_start", "index": 0, "content_block": sealed},
        {"type": "content_block_stop", "index": 0},
    ]
    chunks = translated(CompletionChunks("m", "i", 1, include_usage=False), events)
    assert chunks[0]["choices"][0]["delta"] == {"thinking_blocks": [{"index": 0, **sealed}]}
