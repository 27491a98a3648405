"""Integers of more than 64 bits in tool calls and schemas come through every translation as they were."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.gateway.anthropic_wire import EVENTS, MESSAGE_BYTES, START, event
from tests.gateway.mock_upstream import CHAT, DONE, USAGE_CHUNK, Wire, chunk, mock_upstream, sse
from tests.gateway.serving import Served, serve_both

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.gateway.mock_upstream import MockUpstream

NUMBER = 340282366920938463463374607431768211457
INPUT = {"id": NUMBER, "low": -(2**63) - 1, "list": [2**64, 0.5]}
ARGUMENTS = json.dumps(INPUT)
CALL = {"id": "c1", "type": "function", "function": {"name": "t", "arguments": ARGUMENTS}}
USE = {"type": "tool_use", "id": "c1", "name": "t", "input": INPUT}
SCHEMA = {"type": "object", "properties": {"id": {"type": "integer", "maximum": NUMBER}}}
FUNCTION = {"name": "t", "description": "d", "parameters": SCHEMA}
TOOLS = {
    "/v1/messages": {"name": "t", "description": "d", "input_schema": SCHEMA},
    "/v1/chat/completions": {"type": "function", "function": FUNCTION},
    "/v1/responses": {"type": "function", **FUNCTION},
}


async def call_a_tool(wire: Wire) -> None:
    """Whole, or a stream whose call has its input where it starts."""
    streams = json.loads(wire.seen.body).get("stream")
    if wire.seen.line.startswith("POST /v1/messages"):
        if streams:
            begun = {"type": "content_block_start", "index": 0, "content_block": USE}
            start = b"event: content_block_start\ndata: " + json.dumps(begun).encode() + b"\n\n"
            stop = event("content_block_stop", index=0)
            ended = event("message_delta", delta={"stop_reason": "tool_use"}, usage={"output_tokens": 5})
            await wire.events(event("message_start", message=START), start, stop, ended, EVENTS[-1])
        else:
            told = {**json.loads(MESSAGE_BYTES), "content": [USE], "stop_reason": "tool_use"}
            await wire.respond(json.dumps(told).encode())
    elif streams:  # arguments as the object itself, as some servers have them
        function = {"name": "t", "arguments": INPUT}
        delta = {"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]}
        choices = [{"index": 0, "delta": delta, "finish_reason": "tool_calls"}]
        made = b"data: " + json.dumps({**chunk(""), "choices": choices}).encode() + b"\n\n"
        await wire.events(made, sse(USAGE_CHUNK), DONE)
    else:
        said = {"role": "assistant", "content": None, "tool_calls": [CALL]}
        choice = {"index": 0, "message": said, "finish_reason": "tool_calls"}
        await wire.respond(json.dumps({**CHAT, "choices": [choice]}).encode())


@pytest.fixture
def upstream() -> Iterator[MockUpstream]:
    with mock_upstream(call_a_tool) as server:
        yield server


@pytest.fixture
def served(upstream: MockUpstream, tmp_path: Path) -> Iterator[Served]:
    with serve_both(upstream.url, upstream.url, tmp_path) as running:
        yield running


def asked(path: str, model: str, turns: list[dict[str, Any]], *, stream: bool = False) -> dict[str, Any]:
    said = "input" if path == "/v1/responses" else "messages"
    more = {"max_tokens": 9} if path == "/v1/messages" else {}
    return {"model": model, said: turns, "tools": [TOOLS[path]], "stream": stream, **more}


def whole_arguments(path: str, answer: dict[str, Any]) -> Any:
    """What the tool gets."""
    if path == "/v1/messages":
        return answer["content"][0]["input"]
    if path == "/v1/responses":
        return json.loads(answer["output"][0]["arguments"])
    return json.loads(answer["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"])


def streamed_arguments(text: str) -> Any:
    """The same, of the pieces in any API's events."""
    pieces = []
    for line in text.splitlines():
        if not line.startswith("data: {"):
            continue
        told = json.loads(line[6:])
        if told.get("type") == "content_block_delta":
            pieces.append(told["delta"]["partial_json"])
        elif told.get("type") == "response.function_call_arguments.delta":
            pieces.append(told["delta"])
        for choice in told.get("choices") or ():
            pieces += [call["function"]["arguments"] for call in choice["delta"].get("tool_calls") or ()]
    return json.loads("".join(pieces))


WAYS = [
    ("/v1/messages", "m"),
    ("/v1/responses", "m"),
    ("/v1/chat/completions", "claude-x"),
    ("/v1/responses", "claude-x"),
]


@pytest.mark.parametrize(("path", "model"), WAYS)
def test_what_the_model_calls_with(served: Served, path: str, model: str) -> None:
    turn = {"role": "user", "content": "Hi"}
    answer = served.post(asked(path, model, [turn]), path=path)
    assert whole_arguments(path, json.loads(answer.text)) == INPUT
    answer = served.post(asked(path, model, [turn], stream=True), path=path)
    assert streamed_arguments(answer.text) == INPUT


@pytest.mark.parametrize(("path", "model"), WAYS)
def test_what_the_caller_sends_back(served: Served, upstream: MockUpstream, path: str, model: str) -> None:
    turns: list[dict[str, Any]] = [{"role": "user", "content": "Hi"}]
    if path == "/v1/messages":
        result = {"type": "tool_result", "tool_use_id": "c1", "content": "done"}
        turns += [{"role": "assistant", "content": [USE]}, {"role": "user", "content": [result]}]
    elif path == "/v1/responses":
        turns.append({"type": "function_call", "call_id": "c1", "name": "t", "arguments": ARGUMENTS})
        turns.append({"type": "function_call_output", "call_id": "c1", "output": "done"})
    else:
        turns.append({"role": "assistant", "content": None, "tool_calls": [CALL]})
        turns.append({"role": "tool", "tool_call_id": "c1", "content": "done"})
    served.post(asked(path, model, turns), path=path)
    sent = json.loads(upstream.last.body)
    called = sent["messages"][1]
    if "tool_calls" in called:
        assert json.loads(called["tool_calls"][0]["function"]["arguments"]) == INPUT
        assert sent["tools"][0]["function"]["parameters"] == SCHEMA
    else:
        assert called["content"][0]["input"] == INPUT
        assert sent["tools"][0]["input_schema"] == SCHEMA


@pytest.mark.parametrize("model", ["m", "claude-x"])
def test_a_response_that_goes_on_from_another(served: Served, upstream: MockUpstream, model: str) -> None:
    first = served.post(
        asked("/v1/responses", model, [{"role": "user", "content": "Hi"}]), path="/v1/responses"
    ).json()
    result = {"type": "function_call_output", "call_id": "c1", "output": "done"}
    going_on = {**asked("/v1/responses", model, [result]), "previous_response_id": first["id"]}
    assert served.post(going_on, path="/v1/responses").status_code == 200
    sent = json.loads(upstream.last.body)
    assert str(NUMBER) in json.dumps(sent["tools"])
    assert str(NUMBER) in json.dumps(sent["messages"])
