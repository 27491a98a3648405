"""Server-sent events taken apart and written, and a stream of them translated on its way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import orjson

from promptcache_gateway.errors import ApiError
from promptcache_gateway.exact_json import read
from promptcache_gateway.upstreams.endings import TORN
from promptcache_gateway.upstreams.json_weight import BYTE_COST, FREE
from promptcache_gateway.upstreams.told_errors import told_error
from promptcache_gateway.upstreams.whole_bodies import MAX_WHOLE_BODY, too_large

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping

    from promptcache.usage import Usage
    from promptcache_gateway.exchange import EngineFacts
    from promptcache_gateway.under_way import Hold
    from promptcache_gateway.upstreams.base import RawHeaders, StreamReply

DONE = b"data: [DONE]\n\n"
_LAST = b"[DONE]"
UNREADABLE = "upstream_unreadable"
_NO_REASON = (None, "")
_OF_A_MESSAGE = frozenset({"message_start", "content_block_start", "content_block_delta", "message_delta"})
_STEP = 64 * 1024
MALFORMED = (TypeError, AttributeError, KeyError, ValueError, IndexError)
"""What reading an answer of another shape than the API's own raises; nobody's prompt is in it."""


def named_event(payload: dict[str, Any]) -> bytes:
    """An event whose name is its ``type``, as Anthropic's and OpenAI's responses have them."""
    name: str = payload["type"]
    return b"event: " + name.encode() + b"\ndata: " + orjson.dumps(payload) + b"\n\n"


def data_event(payload: dict[str, Any]) -> bytes:
    """An event without a name, as chat completions have them."""
    return b"data: " + orjson.dumps(payload) + b"\n\n"


def read_events(piece: bytes) -> Iterator[dict[str, Any]]:
    """The JSON objects in a run of whole events; comments, ``[DONE]`` and what is no object are left out.

    Raises:
        orjson.JSONDecodeError: an object is cut off or malformed, so that a part of the answer is lost.
    """
    for data in _data_in(piece):
        try:
            payload = read(data)
        except orjson.JSONDecodeError:
            if data.lstrip().startswith(b"{"):
                raise
            continue
        if isinstance(payload, dict):
            yield payload


def _data_in(piece: bytes) -> Iterator[bytes]:
    """The data of each event that has any."""
    for event in piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n\n"):
        lines = [line[5:] for line in event.split(b"\n") if line.startswith(b"data:")]
        if lines:
            yield b"\n".join(lines)


def says_done(piece: bytes) -> bool:
    """Whether the data of one of the events is ``[DONE]``; that a text holds the word says nothing."""
    return _LAST in piece and any(data.strip() == _LAST for data in _data_in(piece))


class Translator(Protocol):
    """Turns one API's events into another's."""

    @property
    def held(self) -> int:
        """Characters that were gathered so far for later events."""
        ...

    def take(self, event: dict[str, Any]) -> bytes:
        """The caller's events for one of the upstream's; may be none."""
        ...

    def end(self, usage: Usage) -> bytes:
        """The last events, once the upstream has ended in good order."""
        ...

    def fail(self, error: ApiError) -> bytes:
        """The last event of a stream that went wrong."""
        ...


class Chained:
    """Two translations one after the other, over an API between."""

    def __init__(self, first: Translator, second: Translator) -> None:
        self._first = first
        self._second = second

    @property
    def held(self) -> int:
        """Characters that both have gathered."""
        return self._first.held + self._second.held

    def take(self, event: dict[str, Any]) -> bytes:
        """The caller's events for one of the upstream's."""
        return self._pass(self._first.take(event))

    def end(self, usage: Usage) -> bytes:
        """The last events of both."""
        return self._pass(self._first.end(usage)) + self._second.end(usage)

    def fail(self, error: ApiError) -> bytes:
        """The caller's error event."""
        return self._second.fail(error)

    def _pass(self, piece: bytes) -> bytes:
        return b"".join([self._second.take(event) for event in read_events(piece)])


class TranslatedStream:
    """A `StreamReply` whose events are another API's than its upstream's."""

    events = True

    def __init__(
        self,
        inner: StreamReply,
        translator: Translator,
        hold: Hold | None = None,
        meant: Callable[[Usage], Usage] = lambda usage: usage,
    ) -> None:
        """``hold`` takes of the memory for answers what is gathered, ``meant`` is how the usage is read."""
        self._meant = meant
        self._hold = hold
        self._next_look = FREE
        self._inner = inner
        self._translator = translator
        self._error: str | None = None
        # The built-in engine's always come to their end.
        self._begun = self._over = inner.engine is not None
        self.status = inner.status
        self.headers: RawHeaders = inner.headers
        self.engine: EngineFacts | None = inner.engine

    @property
    def first_output_at(self) -> float | None:
        """When the upstream's first output came."""
        return self._inner.first_output_at

    @property
    def error(self) -> str | None:
        """The code of what ended it, as the upstream's stream has it."""
        return self._error or self._inner.error

    @property
    def response_id(self) -> str | None:
        """The upstream's id of the response."""
        return self._inner.response_id

    @property
    def usage(self) -> Usage:
        """The upstream's own numbers."""
        return self._inner.usage

    async def pieces(self) -> AsyncIterator[bytes]:
        """The translated events, whole ones at a time; an error event ends them."""
        try:
            async for piece in self._inner.pieces():
                out: list[bytes] = []
                for event in read_events(piece):
                    error = told_error(event)
                    if error is not None:
                        failure = _said(error, self._inner.error)
                        self._error = failure.code
                        yield b"".join(out) + self._translator.fail(failure)
                        return
                    out.append(self._translator.take(event))
                    self._begun = self._begun or _is_of_an_answer(event)
                    self._over = self._over or _is_last(event)
                if self._translator.held > self._next_look:
                    self._look(self._translator.held)
                translated = b"".join(out)
                if translated:
                    yield translated
                self._over = self._over or says_done(piece)
            if not (self._begun and self._over):
                raise _cut_short()
            yield self._translator.end(self._meant(self._inner.usage))
        except MALFORMED:
            self._error = UNREADABLE
            yield self._translator.fail(_unreadable())
        except ApiError as error:
            self._error = error.code
            yield self._translator.fail(error)

    async def close(self) -> None:
        """Give up what still runs upstream."""
        await self._inner.close()
        if self._hold is not None:
            self._hold.end()

    def _look(self, held: int) -> None:
        """Raise `ApiError` where too much is gathered, of this answer or of all."""
        if held > MAX_WHOLE_BODY:
            raise too_large()
        if self._hold is not None:
            self._hold.take(BYTE_COST * held - self._hold.size)
        self._next_look = held + _STEP


def _is_of_an_answer(event: dict[str, Any]) -> bool:
    """Whether an event belongs to an answer: it has a choice, or is one of Anthropic's but the last."""
    return bool(event.get("choices")) or event.get("type") in _OF_A_MESSAGE


def _is_last(event: dict[str, Any]) -> bool:
    """Whether an event says that the answer ended, or why: a choice's, or Anthropic's message's."""
    choices, delta = event.get("choices"), event.get("delta")
    return bool(
        event.get("type") == "message_stop"
        or (
            isinstance(choices, list)
            and any(choice.get("finish_reason") not in _NO_REASON for choice in choices)
        )
        or (isinstance(delta, dict) and delta.get("stop_reason"))
    )


def _cut_short() -> ApiError:
    message = "The upstream ended its stream before its answer was complete."
    return ApiError(502, message, kind="upstream_error", code=TORN)


def _unreadable() -> ApiError:
    message = "The upstream sent an event that its API does not have."
    return ApiError(502, message, kind="upstream_error", code=UNREADABLE)


def _said(error: Mapping[str, Any], code: str | None) -> ApiError:
    status = 504 if code == "upstream_timeout" else 502
    message = error.get("message")
    kind = error.get("type")
    return ApiError(
        status,
        message if isinstance(message, str) else "The upstream failed.",
        kind=kind if isinstance(kind, str) else "upstream_error",
        code=code or str(error.get("code") or error.get("type") or "upstream_error"),
    )
