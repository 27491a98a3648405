"""An answer that came whole, told as a stream: its caller asked for one, its upstream does not stream.

It is told as the upstream would have streamed it, every text and every call in one event, and translated from
there as any stream.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptcache_gateway.exact_json import dumps

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

    from promptcache.usage import Usage
    from promptcache_gateway.exchange import EngineFacts
    from promptcache_gateway.translate.events import Translator
    from promptcache_gateway.upstreams.base import RawHeaders, WholeReply

_TYPE = b"content-type"
_EVENTS = (_TYPE, b"text/event-stream; charset=utf-8")
# What of a block comes in deltas: the field, and the delta's type.
_DELTAS = {
    "text": (("text", "text_delta"),),
    "thinking": (("thinking", "thinking_delta"), ("signature", "signature_delta")),
}


class ToldAtOnce:
    """A `StreamReply` of one piece."""

    events = True

    def __init__(
        self, reply: WholeReply, translator: Translator, payload: Mapping[str, Any], usage: Usage
    ) -> None:
        """Tell ``payload``, the answer in ``reply``; raises what reading a malformed one does.

        ``usage`` is what the caller is told of what it used, the reply's own is what is recorded.
        """
        told = [translator.take(event) for event in events_of(payload)]
        self._told = b"".join([*told, translator.end(usage)])
        self._hold = reply.hold
        self.status = reply.status
        self.headers: RawHeaders = [*(one for one in reply.headers if one[0] != _TYPE), _EVENTS]
        self.engine: EngineFacts | None = reply.engine
        self.first_output_at = reply.first_output_at
        self.error = reply.error
        self.response_id = reply.response_id
        self.usage = reply.usage

    async def pieces(self) -> AsyncIterator[bytes]:
        """The whole stream."""
        yield self._told

    async def close(self) -> None:
        """Give back what the answer took of memory."""
        if self._hold is not None:
            self._hold.end()


def events_of(payload: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The events of a chat completion, or of a message of Anthropic's."""
    if "choices" in payload:
        yield {**payload, "choices": [_chunk_of(choice) for choice in payload["choices"]]}
    else:
        yield from _of_message(payload)


def _chunk_of(choice: Mapping[str, Any]) -> dict[str, Any]:
    message = choice.get("message") or {}
    calls = [{**call, "index": number} for number, call in enumerate(message.get("tool_calls") or ())]
    return {**choice, "delta": {**message, "tool_calls": calls}}


def _of_message(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"type": "message_start", "message": {**message, "content": []}}
    for index, block in enumerate(message["content"]):
        fields = _DELTAS.get(block.get("type"), ())
        deltas = [{"type": kind, field: block[field]} for field, kind in fields if block.get(field)]
        if block.get("type") == "tool_use":
            arguments = dumps(block.get("input") or {}).decode()
            deltas = [{"type": "input_json_delta", "partial_json": arguments}]
        start = {**block, **{field: "" for field, _ in fields}}
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {"type": "message_delta", "delta": message}
