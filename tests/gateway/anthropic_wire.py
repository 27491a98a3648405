"""What a server of Anthropic's shape says, and the scripts that say it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import orjson

if TYPE_CHECKING:
    from tests.gateway.mock_upstream import Wire

USAGE = {
    "input_tokens": 12,
    "cache_creation_input_tokens": 100,
    "cache_read_input_tokens": 2000,
    "cache_creation": {"ephemeral_5m_input_tokens": 60, "ephemeral_1h_input_tokens": 40},
    "output_tokens": 5,
    "service_tier": "standard",
}
# Not what any encoder writes twice: odd spaces, escapes, an unknown field.
MESSAGE_BYTES = (
    b'{ "id":"msg_mock","type" : "message","role":"assistant","model":"claude-x","x_odd":1234567890123456,'
    b'"content":[{"type":"text","text":"caf\\u00e9  \\/ ok"}],"stop_reason":"end_turn","stop_sequence":null,'
    b'"usage":' + orjson.dumps(USAGE) + b"}\n"
)
COUNT_BYTES = b'{ "input_tokens" : 2112 }'
MODELS_BYTES = (
    b'{"data":[{"type":"model","id":"claude-x","display_name":"Claude X",'
    b'"created_at":"2026-01-01T00:00:00Z"}],"has_more":false,"first_id":"claude-x","last_id":"claude-x"}'
)


def event(name: str, **fields: object) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + orjson.dumps({"type": name, **fields}) + b"\n\n"


START = {
    "id": "msg_mock",
    "type": "message",
    "role": "assistant",
    "model": "claude-x",
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
    "usage": {**USAGE, "output_tokens": 1},
}
EVENTS = [
    event("message_start", message=START),
    event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
    event("ping"),
    event("content_block_delta", index=0, delta={"type": "text_delta", "text": "Hello"}),
    event("content_block_delta", index=0, delta={"type": "text_delta", "text": " there."}),
    event("content_block_stop", index=0),
    event(
        "message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None}, usage={"output_tokens": 5}
    ),
    event("message_stop"),
]


async def answer_messages(wire: Wire) -> None:
    """Answer as Anthropic does."""
    path = wire.seen.line.split(" ")[1].partition("?")[0]
    if path == "/v1/models":
        await wire.respond(MODELS_BYTES)
    elif path == "/v1/messages/count_tokens":
        await wire.respond(COUNT_BYTES, headers=("request-id: req_1",))
    elif json.loads(wire.seen.body).get("stream"):
        await wire.events(*EVENTS)
    else:
        await wire.respond(MESSAGE_BYTES, headers=("request-id: req_1", "anthropic-ratelimit-x: 1"))
