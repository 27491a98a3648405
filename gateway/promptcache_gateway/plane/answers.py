"""The answer to a provider's own question about its cache, in whole bodies and in streams.

Where the gateway answers, the object is put into the body, or into the one event that carries it; where the
provider answered, it is read and left as it is, unless the gateway alone had asked: then the caller sees the
null that an unasked provider sends. No other byte changes. What the answer says is the observer's.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import orjson

from promptcache_gateway.upstreams.splice import set_member
from promptcache_gateway.upstreams.whole_bodies import json_object

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from promptcache.usage import Usage
    from promptcache_gateway.exchange import EngineFacts, Question
    from promptcache_gateway.upstreams.base import RawHeaders, StreamReply

    Ours = Callable[[Usage], dict[str, Any] | None]

_FIELDS = {"anthropic.messages": "diagnostics", "openai.responses": "prompt_cache_diagnostics"}
# The object an event carries, and the types of the events that carry it whole.
_CARRIED = {"anthropic.messages": "message", "openai.responses": "response"}
_CARRIERS = {
    "anthropic.messages": re.compile(rb'"type"\s*:\s*"message_start"'),
    "openai.responses": re.compile(rb'"type"\s*:\s*"response\.(?:completed|incomplete)"'),
}
_EVENT = re.compile(rb".+?(?:\r\n\r\n|\n\n|\r\r|\Z)", re.DOTALL)
_DATA = re.compile(rb"^data:[ ]?(\{.*\})[ \t]*$", re.MULTILINE)


class Answer:
    """One question on its way to an answer.

    Attributes:
        question: what was asked, and of whom.
        theirs: the provider's own object, once it was seen.
    """

    def __init__(self, question: Question, ours: Ours) -> None:
        """``ours`` makes the gateway's object from what is known of the usage."""
        self.question = question
        self.theirs: dict[str, Any] | None = None
        self._ours = ours
        self._field = _FIELDS[question.dialect]

    def whole(self, body: bytes, usage: Usage) -> bytes:
        """A whole answer's body with the object in it; one that is no JSON object stays as it is."""
        payload = json_object(body)
        return body if payload is None else self._put(body, payload, (), usage)

    def events(self, piece: bytes, usage: Callable[[], Usage]) -> bytes:
        """A run of whole events, the object put into the one that carries it."""
        carrier = _CARRIERS[self.question.dialect]
        if carrier.search(piece) is None:
            return piece
        return b"".join(
            [
                self._event(event, usage()) if carrier.search(event) else event
                for event in _EVENT.findall(piece)
            ]
        )

    def _event(self, event: bytes, usage: Usage) -> bytes:
        found = _DATA.search(event)
        payload = json_object(found[1]) if found is not None else None
        carried = _CARRIED[self.question.dialect]
        if found is None or payload is None or not isinstance(payload.get(carried), dict):
            return event
        data = self._put(found[1], payload[carried], (carried,), usage)
        return event[: found.start(1)] + data + event[found.end(1) :]

    def _put(self, body: bytes, held: dict[str, Any], path: tuple[str, ...], usage: Usage) -> bytes:
        if self.question.to_provider:
            said = held.get(self._field)
            self.theirs = said if isinstance(said, dict) else None
            if self.question.by_caller or said is None:
                return body
            return set_member(body, (*path, self._field), b"null")
        if not self.question.by_caller:
            return body
        return set_member(body, (*path, self._field), orjson.dumps(self._ours(usage)))


class AnsweredStream:
    """A `StreamReply` whose events carry the answer."""

    def __init__(self, inner: StreamReply, answer: Answer) -> None:
        self._inner = inner
        self._answer = answer
        self.status = inner.status
        self.headers: RawHeaders = inner.headers
        self.events = inner.events
        self.engine: EngineFacts | None = inner.engine

    @property
    def first_output_at(self) -> float | None:
        """When the upstream's first output came."""
        return self._inner.first_output_at

    @property
    def error(self) -> str | None:
        """The code of what ended it badly, or None."""
        return self._inner.error

    @property
    def response_id(self) -> str | None:
        """The upstream's id of the response."""
        return self._inner.response_id

    @property
    def usage(self) -> Usage:
        """The upstream's own numbers."""
        return self._inner.usage

    async def pieces(self) -> AsyncIterator[bytes]:
        """The stream's pieces, whole events at a time."""
        async for piece in self._inner.pieces():
            yield self._answer.events(piece, lambda: self._inner.usage) if self.events else piece

    async def close(self) -> None:
        """Give up what still runs upstream."""
        await self._inner.close()
