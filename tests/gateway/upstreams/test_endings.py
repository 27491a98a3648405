"""What says that a streamed answer is over, in each API, and what does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from promptcache_gateway.upstreams.endings import Ending
from tests.gateway.anthropic_wire import event
from tests.gateway.mock_upstream import DONE, chunk, sse

if TYPE_CHECKING:
    from promptcache_gateway.exchange import Dialect

LAST = b'data: {"choices":[{"finish_reason":"stop"}]}\n\n'


@pytest.mark.parametrize(
    ("dialect", "pieces", "ended"),
    [
        ("openai.chat", [b'data: {"choices":[{"finish_reason":null}]}\n\n'], False),
        ("openai.chat", [LAST, sse({"choices": [], "usage": {}}), *[b": ping\n\n"] * 9], True),
        ("openai.chat", [LAST + sse(chunk("x" * 5000)), *[sse(chunk("y"))] * 99], True),
        ("openai.chat", [sse(chunk("x" * 5000)), sse(chunk("y"))], False),
        ("openai.chat", [b"data:[DONE]\r\n\r\n"], True),
        ("openai.chat", [LAST, *[b": ping\n\n"] * 20], True),
        ("openai.chat", [*[b": ping\n\n"] * 20], False),
        ("openai.chat", [b": ping\n\n" + LAST, *[sse(chunk("y"))] * 15], True),
        ("openai.chat", [LAST, *[sse({"choices": [], "annotations": [n]}) for n in range(60)]], True),
        ("openai.chat", [*[sse(chunk("y"))] * 37, LAST, *[sse({"choices": []})] * 21], True),
        ("openai.chat", [*[sse(chunk("y"))] * 37, DONE, *[sse({"x": "data: "})] * 21], True),
        ("openai.chat", [*[sse(chunk("y"))] * 16], False),
        ("openai.chat", [sse(chunk("ends with `data: [DONE]` and"))], False),
        ("openai.chat", [sse(chunk("y")) + b"data: [DONE]"], True),
        ("openai.chat", [b'data: {"choices":[{"finish_reason":0}]}\n\n'], True),
        ("openai.chat", [], False),
        ("openai.completions", [b'data: {"text":"\\"finish_reason\\": \\"stop\\""}\n\n'], False),
        ("openai.completions", [sse({"choices": [{"text": "[DONE]"}]})], False),
        ("openai.completions", [DONE], True),
        ("anthropic.messages", [b'event: message_delta\ndata: {"delta":{"stop_reason":null}}\n\n'], False),
        ("anthropic.messages", [event("message_delta", delta={"stop_reason": "end_turn"})], True),
        ("anthropic.messages", [event("message_stop")], True),
        ("anthropic.messages", [event("message_stop"), *[event("ping")] * 20], True),
        ("anthropic.messages", [event("message_stop"), *[event("citations")] * 40], True),
        ("anthropic.messages", [event("content_block_delta", delta={"text": "message_stop"})], False),
        ("openai.responses", [event("response.output_text.delta", delta="completed")], False),
        ("openai.responses", [event("response.output_text.delta", delta="response.completed")], False),
        ("openai.responses", [DONE], True),
        ("openai.responses", [event("response.output_text.done", text="x")], False),
        ("openai.responses", [event("response.done", response={})], True),
        ("openai.responses", [event("response.incomplete", response={})], True),
        ("openai.responses", [event("response.completed", response={"text": "x" * 9000})], True),
        ("openai.embeddings", [], True),
    ],
)
def test_ends_of_streams(dialect: Dialect, pieces: list[bytes], ended: bool) -> None:
    ending = Ending(dialect)
    for piece in pieces:
        ending.note(piece)
    assert ending.came() is ended
