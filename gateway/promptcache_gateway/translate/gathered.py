"""An answer that came as a stream, put together: its caller asked for it whole, its upstream always streams.

What is gathered is the object that the upstream would have sent, of its own API; the caller's is made from it
as from any. A stream that breaks off is no answer.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Protocol

from promptcache_gateway.error_shapes import error_body
from promptcache_gateway.errors import ApiError
from promptcache_gateway.exact_json import dumps
from promptcache_gateway.translate.chat_forms import begins_another, plain
from promptcache_gateway.translate.cut_json import arguments_object
from promptcache_gateway.translate.events import TranslatedStream
from promptcache_gateway.translate.joined import Joined
from promptcache_gateway.translate.message_answers import refusal_of, thought_of
from promptcache_gateway.upstreams.base import GivenUpError, NotGivenError, WholeReply

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from promptcache.usage import Usage
    from promptcache_gateway.exchange import Call
    from promptcache_gateway.under_way import Hold
    from promptcache_gateway.upstreams.base import StreamReply

    Answer = Callable[[dict[str, Any], Usage], dict[str, Any]]

_ITEM = 200
_TYPE = b"content-type"
_JSON = (_TYPE, b"application/json")
_GROWS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


class Parts(Protocol):
    """What of an answer has come.

    Attributes:
        held: characters that were gathered, each item some more.
    """

    held: int

    def take(self, event: Mapping[str, Any]) -> None:
        """One event."""
        ...

    def whole(self) -> dict[str, Any]:
        """The answer."""
        ...


async def gathered(
    reply: StreamReply, parts: Parts, answer: Answer, hold: Hold | None, meant: Callable[[Usage], Usage]
) -> WholeReply:
    """The whole answer that a stream tells.

    Args:
        reply: the stream.
        parts: gathers what it tells.
        answer: makes the caller's object of the upstream's and of what it used.
        hold: takes of the memory for answers what is gathered.
        meant: the usage as the upstream means it.

    Raises:
        NotGivenError: the stream failed, or holds what its API does not have.
        GivenUpError: it was cancelled.
    """
    gatherer = _Gatherer(parts, answer)
    stream = TranslatedStream(reply, gatherer, hold, meant)
    try:
        body = b"".join([piece async for piece in stream.pieces()])
    except asyncio.CancelledError:
        await stream.close()
        known = WholeReply(reply.status, [], b"", reply.usage, response_id=reply.response_id)
        raise GivenUpError(known) from None
    if gatherer.failure is not None:
        await stream.close()
        raise NotGivenError(gatherer.failure, reply)
    await reply.close()
    return WholeReply(
        reply.status,
        [*(header for header in reply.headers if header[0] != _TYPE), _JSON],
        body,
        reply.usage,
        reply.engine,
        reply.first_output_at,
        response_id=reply.response_id,
        hold=hold,
    )


def refused(call: Call, reply: StreamReply, error: ApiError) -> WholeReply:
    """The refusal that a stream with an error's status told."""
    said = ApiError(reply.status, error.message, kind=error.kind, code=error.code)
    headers = [*(one for one in reply.headers if one[0] != _TYPE), _JSON]
    body = error_body(said, call.dialect, call.id)
    return WholeReply(reply.status, headers, body, reply.usage, error=error.code)


class _Gatherer:
    """A `Translator` whose only event is the answer's body, at the end."""

    def __init__(self, parts: Parts, answer: Answer) -> None:
        self._parts = parts
        self._answer = answer
        self.failure: ApiError | None = None

    @property
    def held(self) -> int:
        """Characters that were gathered."""
        return self._parts.held

    def take(self, event: dict[str, Any]) -> bytes:
        """Nothing yet."""
        self._parts.take(event)
        return b""

    def end(self, usage: Usage) -> bytes:
        """The body, with the usage as the upstream told it."""
        return dumps(self._answer({**self._parts.whole(), "usage": usage.raw}, usage))

    def fail(self, error: ApiError) -> bytes:
        """Nothing: there is no answer."""
        self.failure = error
        return b""


class CompletionParts:
    """A chat completion of its chunks; see `Parts`."""

    def __init__(self) -> None:
        self.held = 0
        self._head: dict[str, Any] = {}
        self._choice: dict[str, Any] = {}
        self._texts: defaultdict[str, Joined] = defaultdict(Joined)
        self._calls: list[tuple[dict[str, Any], Joined]] = []
        self._numbered: dict[int, int] = {}

    def take(self, event: Mapping[str, Any]) -> None:
        """One chunk."""
        for name in ("id", "model"):
            if event.get(name):
                self._head[name] = event[name]
        for choice in event.get("choices") or ():
            if choice.get("index", 0) != 0:
                continue
            delta = plain(choice.get("delta") or {})
            told = {"content": delta.get("content"), "refusal": refusal_of(delta)}
            for name, text in {**told, "reasoning_content": thought_of(delta)}.items():
                if isinstance(text, str) and text:
                    self._texts[name].add(text)
                    self.held += len(text)
            for call in delta.get("tool_calls") or ():
                self._call(call)
            for name in ("finish_reason", "stop_reason"):
                if choice.get(name) is not None:
                    self._choice[name] = choice[name]

    def whole(self) -> dict[str, Any]:
        """The completion."""
        message: dict[str, Any] = {name: text.text() for name, text in self._texts.items()}
        if self._calls:
            message["tool_calls"] = [
                {**call, "function": {**call["function"], "arguments": arguments.text()}}
                for call, arguments in self._calls
            ]
        return {**self._head, "choices": [{"index": 0, **self._choice, "message": message}]}

    def _call(self, call: Mapping[str, Any]) -> None:
        number, name = call.get("index", 0), call.get("id")
        function = call.get("function") or {}
        at = self._numbered.get(number)
        if at is None or begins_another(name, function.get("name"), self._calls[at][0]["id"]):
            at = self._numbered[number] = len(self._calls)
            made = {"id": name, "type": "function", "function": {"name": function.get("name")}}
            self._calls.append((made, Joined()))
            self.held += _ITEM
        named = self._calls[at][0]["function"]
        named["name"] = named["name"] or function.get("name")
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            self._calls[at][1].add(arguments)
            self.held += len(arguments)


class MessageParts:
    """Anthropic's message of its events; see `Parts`."""

    def __init__(self) -> None:
        self.held = 0
        self._message: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._pieces: dict[int, defaultdict[str, Joined]] = {}

    def take(self, event: Mapping[str, Any]) -> None:
        """One event."""
        kind = event.get("type")
        if kind == "message_start":
            self._message = dict(event["message"])
        elif kind == "content_block_start":
            self._blocks[event["index"]] = event["content_block"]
            self.held += _ITEM
        elif kind == "content_block_delta":
            self._delta(self._pieces.setdefault(event["index"], defaultdict(Joined)), event["delta"])
        elif kind == "message_delta":
            self._message |= event["delta"]

    def whole(self) -> dict[str, Any]:
        """The message."""
        content = [
            self._block(block, self._pieces.get(index, {})) for index, block in sorted(self._blocks.items())
        ]
        return {**self._message, "content": content}

    def _delta(self, pieces: defaultdict[str, Joined], delta: Mapping[str, Any]) -> None:
        field = "partial_json" if delta["type"] == "input_json_delta" else _GROWS.get(delta["type"])
        if field is not None:
            pieces[field].add(delta[field])
            self.held += len(delta[field])

    def _block(self, block: dict[str, Any], pieces: Mapping[str, Joined]) -> dict[str, Any]:
        grown: dict[str, Any] = {name: (block.get(name) or "") + text.text() for name, text in pieces.items()}
        arguments = grown.pop("partial_json", "")
        if arguments:
            grown["input"] = arguments_object(arguments)
        return {**block, **grown}
