"""Answers in which half of a surrogate pair stands, an emoji that was cut: nothing else of them is lost."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.gateway.anthropic_wire import EVENTS, MESSAGE_BYTES, START, event
from tests.gateway.mock_upstream import CHAT, DONE, USAGE, Wire, chunk, mock_upstream, sse
from tests.gateway.serving import Served, serve_both

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.gateway.mock_upstream import MockUpstream

TEXT = "cut \ud83d"
ARGUMENTS = r'{"x":"cut \ud83d","b":1}'
INPUT = {"x": "cut \ufffd", "b": 1}
CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "t", "arguments": ARGUMENTS}}


def said(payload: object) -> bytes:
    """An event of Python's own encoder, which writes what orjson does not."""
    return b"data: " + json.dumps(payload).encode() + b"\n\n"


async def answer(wire: Wire) -> None:
    streams = json.loads(wire.seen.body).get("stream")
    if wire.seen.line.startswith("POST /v1/messages"):
        use = {"type": "tool_use", "id": "c1", "name": "t"}
        if not streams:
            content = [{"type": "text", "text": TEXT}, {**use, "input": {"x": TEXT, "b": 1}}]
            told = {**json.loads(MESSAGE_BYTES), "content": content, "stop_reason": "tool_use"}
            await wire.respond(json.dumps(told).encode())
            return
        delta = {"type": "text_delta", "text": TEXT}
        await wire.events(
            event("message_start", message=START),
            EVENTS[1],
            b"event: content_block_delta\n"
            + said({"type": "content_block_delta", "index": 0, "delta": delta}),
            event("content_block_stop", index=0),
            event("content_block_start", index=1, content_block={**use, "input": {}}),
            event(
                "content_block_delta", index=1, delta={"type": "input_json_delta", "partial_json": ARGUMENTS}
            ),
            event("content_block_stop", index=1),
            event("message_delta", delta={"stop_reason": "tool_use"}, usage={"output_tokens": 5}),
            EVENTS[-1],
        )
        return
    if streams:
        called = {"index": 0, "delta": {"tool_calls": [CALL]}, "finish_reason": "tool_calls"}
        await wire.events(
            sse({**chunk(""), "choices": [called]}), said({**chunk(TEXT), "usage": USAGE}), DONE
        )
    else:
        message = {"role": "assistant", "content": TEXT, "tool_calls": [CALL]}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
        await wire.respond(json.dumps({**CHAT, "choices": [choice]}).encode())


@pytest.fixture
def upstream() -> Iterator[MockUpstream]:
    with mock_upstream(answer) as server:
        yield server


@pytest.fixture
def served(upstream: MockUpstream, tmp_path: Path) -> Iterator[Served]:
    with serve_both(upstream.url, upstream.url, tmp_path) as running:
        yield running


def asked(path: str, model: str, *, stream: bool) -> dict[str, Any]:
    turns = [{"role": "user", "content": "Hi"}]
    more = {"input": turns} if path == "/v1/responses" else {"messages": turns, "max_tokens": 9}
    return {"model": model, "stream": stream, **more}


WAYS = [
    ("/v1/messages", "m"),
    ("/v1/responses", "m"),
    ("/v1/chat/completions", "claude-x"),
    ("/v1/responses", "claude-x"),
]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("path", "model"), WAYS)
def test_it_is_translated(served: Served, path: str, model: str, stream: bool) -> None:
    answer = served.post(asked(path, model, stream=stream), path=path)
    assert answer.status_code == 200
    assert "cut \ufffd" in answer.text
    assert "error" not in answer.text.replace('"error":null', "")
    assert served.record(answer)["usage"]["reported"]


def test_a_call_keeps_its_arguments(served: Served) -> None:
    answer = served.post(asked("/v1/messages", "m", stream=False), path="/v1/messages").json()
    assert [block["input"] for block in answer["content"] if block["type"] == "tool_use"] == [INPUT]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("path", "model"), [("/v1/chat/completions", "m"), ("/v1/messages", "claude-x")])
def test_what_it_cost_is_read(served: Served, path: str, model: str, stream: bool) -> None:
    answer = served.post(asked(path, model, stream=stream), path=path)
    assert r"cut \ud83d" in answer.text, "byte for byte"
    assert served.record(answer)["usage"]["reported"]


def test_a_call_may_be_sent_back(served: Served, upstream: MockUpstream) -> None:
    asking = asked("/v1/chat/completions", "claude-x", stream=False)
    asking["messages"] += [
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "done"},
    ]
    assert served.post(asking).status_code == 200
    assert json.loads(upstream.last.body)["messages"][1]["content"][0]["input"] == INPUT
