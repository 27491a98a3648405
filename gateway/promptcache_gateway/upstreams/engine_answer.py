"""From an engine's run to an answer, streamed or whole.

It knows a run by two verbs, next and cancel, and nothing of the engine behind it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import orjson

from promptcache.usage import Usage
from promptcache_gateway.errors import ApiError
from promptcache_gateway.upstreams.answers import DONE, Answer, event, usage_dict
from promptcache_gateway.upstreams.base import RawHeaders, WholeReply

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from promptcache_gateway.exchange import EngineFacts


@dataclass(frozen=True, slots=True)
class End:
    """How a run ended in good order; counts are tokens."""

    finish_reason: str
    prompt_tokens: int
    cached_tokens: int
    output_tokens: int

    @property
    def usage(self) -> dict[str, Any]:
        """OpenAI's ``usage`` object."""
        return usage_dict(self.prompt_tokens, self.cached_tokens, self.output_tokens)


class Run(Protocol):
    """One admitted request of an engine."""

    async def next(self) -> str | End:
        """The next piece of text, or the end; raises `ApiError` when the engine fails."""
        ...

    def cancel(self) -> None:
        """Stop computing; harmless after the end."""
        ...


async def whole_answer(answer: Answer, run: Run, facts: EngineFacts) -> WholeReply:
    """Wait for the end and answer at once; raises `ApiError` when the engine fails."""
    texts: list[str] = []
    first_output_at: float | None = None
    while not isinstance(piece := await run.next(), End):
        first_output_at = first_output_at or time.perf_counter()
        texts.append(piece)
    body = answer.whole("".join(texts), piece.finish_reason, piece.usage)
    return json_reply(
        body,
        usage=Usage.from_response(body),
        engine=facts,
        first_output_at=first_output_at,
        response_id=answer.id,
    )


def json_reply(
    payload: dict[str, Any],
    *,
    usage: Usage | None = None,
    engine: EngineFacts | None = None,
    first_output_at: float | None = None,
    response_id: str | None = None,
) -> WholeReply:
    """A 200 with a JSON body."""
    return WholeReply(
        status=200,
        headers=[(b"content-type", b"application/json")],
        body=orjson.dumps(payload),
        usage=Usage.unreported() if usage is None else usage,
        engine=engine,
        first_output_at=first_output_at,
        response_id=response_id,
    )


class EngineStream:
    """A `StreamReply` that writes events as the engine generates."""

    status = 200
    events = True

    def __init__(self, answer: Answer, run: Run, facts: EngineFacts) -> None:
        self.headers: RawHeaders = [
            (b"content-type", b"text/event-stream; charset=utf-8"),
            (b"cache-control", b"no-store"),
            (b"x-accel-buffering", b"no"),
        ]
        self.engine: EngineFacts | None = facts
        self.first_output_at: float | None = None
        self.error: str | None = None
        self.response_id: str | None = answer.id
        self._answer = answer
        self._run = run
        self._usage = Usage.unreported()

    @property
    def usage(self) -> Usage:
        """The engine's counts once it has ended."""
        return self._usage

    async def pieces(self) -> AsyncIterator[bytes]:
        """Opening, deltas, ending, usage where asked for, and ``[DONE]``; or an error event last."""
        opening = self._answer.opening()
        if opening is not None:
            yield event(opening)
        try:
            while not isinstance(piece := await self._run.next(), End):
                if self.first_output_at is None:
                    self.first_output_at = time.perf_counter()
                if piece:
                    yield event(self._answer.delta(piece))
        except ApiError as error:
            self.error = error.code
            yield event(error.to_dict())
            return
        self._usage = Usage.from_response({"usage": piece.usage})
        tail = event(self._answer.ending(piece.finish_reason))
        if self._answer.include_usage:
            tail += event(self._answer.last(piece.usage))
        yield tail + DONE

    async def close(self) -> None:
        """Cancel what is still being generated."""
        self._run.cancel()
