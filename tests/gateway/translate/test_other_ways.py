"""Answers that came whole for who asked for a stream, and the other way round: the same answer either way."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from promptcache_gateway.translate.at_once import events_of
from promptcache_gateway.translate.chat_answers import CompletionChunks, to_completion
from promptcache_gateway.translate.gathered import CompletionParts, MessageParts
from promptcache_gateway.translate.message_answers import MessageEvents, to_message
from promptcache_gateway.translate.response_events import ResponseEvents
from promptcache_gateway.upstreams.json_weight import BYTE_COST
from tests.gateway.translate.test_answers import (
    CHUNKS,
    COMPLETION,
    MESSAGE,
    assembled,
    call,
    chunk,
    events_of_message,
    translated,
)

REFUSED = {"stop_reason": "refusal", "stop_details": {"type": "refusal", "explanation": "No."}}
SEALED = {**MESSAGE, "content": [{"type": "redacted_thinking", "data": "x"}, *MESSAGE["content"]], **REFUSED}


def gathered(parts: Any, events: Any, usage: dict[str, Any]) -> dict[str, Any]:
    for event in events:
        parts.take(event)
    return {**parts.whole(), "usage": usage}


def test_a_completion_is_told_as_a_stream_and_gathered_from_one() -> None:
    events = list(events_of(COMPLETION))
    whole = to_message(COMPLETION, "asked", "msg_x")
    assert assembled(translated(MessageEvents("asked", "msg_x", None), events)) == whole
    for told in (CHUNKS, events):
        parts = CompletionParts()
        assert to_message(gathered(parts, told, COMPLETION["usage"]), "asked", "msg_x") == whole
        assert parts.held > 0


@pytest.mark.parametrize("message", [MESSAGE, SEALED])
def test_a_message_is_told_as_a_stream_and_gathered_from_one(message: dict[str, Any]) -> None:
    events = list(events_of(message))
    parts = MessageParts()
    made = gathered(parts, events, message["usage"])
    assert made == message
    assert parts.held > 0
    chunks = translated(
        CompletionChunks("asked", "x", 5, include_usage=False), [*events, {"usage": made["usage"]}]
    )
    (choice,) = to_completion(message, "asked", "x", 5)["choices"]
    deltas = [one["choices"][0]["delta"] for one in chunks]
    told = choice["message"]
    for field in ("content", "reasoning_content", "refusal"):
        assert "".join(delta.get(field) or "" for delta in deltas) == (told[field] or "")
    thoughts = [block for delta in deltas for block in delta.get("thinking_blocks", ())]
    assert thoughts == [{"index": number, **block} for number, block in enumerate(told["thinking_blocks"])]
    assert chunks[-1]["choices"][0]["finish_reason"] == choice["finish_reason"]


def test_a_message_s_events_are_gathered_to_it() -> None:
    assert gathered(MessageParts(), events_of_message(), MESSAGE["usage"]) == MESSAGE


def test_calls_that_all_have_the_number_0_are_told_apart_by_their_ids() -> None:
    chunks = [
        call(0, '{"a":', id="c1", name="t"),
        call(0, "1}"),
        call(0, "{}", id="c2", name="u"),
        chunk("stop"),
    ]
    (choice,) = gathered(CompletionParts(), chunks, {})["choices"]
    told = [(one["id"], one["function"]["arguments"]) for one in choice["message"]["tool_calls"]]
    assert told == [("c1", '{"a":1}'), ("c2", "{}")]


@pytest.mark.parametrize("kind", ["chat", "message", "response", "thought", "waiting"])
def test_small_pieces_take_no_more_memory_than_they_are_reckoned_at(kind: str) -> None:
    frame = {"id": "resp_1", "model": "m", "output": [], "store": False}
    gatherers: dict[str, Any] = {
        "chat": CompletionParts(),
        "message": MessageParts(),
        "response": ResponseEvents(frame),
        "thought": CompletionChunks("m", "x", 5, include_usage=False),
        "waiting": MessageEvents("m", "x", None),
    }
    parts = gatherers[kind]
    thinks = {"type": "content_block_delta", "index": 0}
    if kind == "waiting":
        parts.take(call(0, '{"cut', id="c0", name="f"))
    tracemalloc.start()
    try:
        for number in range(5000):
            piece = f"{number:03}"
            if kind in {"message", "thought"}:
                parts.take({**thinks, "delta": {"type": "thinking_delta", "thinking": piece}})
            else:
                parts.take(chunk(content=piece))
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert parts.held >= 15_000
    assert taken < BYTE_COST * parts.held
