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
    from collections.abc import AsyncIterator, Sequence

    from promptcache_gateway.exchange import EngineFacts


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of one choice's text."""

    choice: int
    text: str


@dataclass(frozen=True, slots=True)
class End:
    """How one choice ended in good order; counts are tokens, and the prompt's are those of the request."""

    choice: int
    finish_reason: str
    prompt_tokens: int
    cached_tokens: int
    output_tokens: int


class Run(Protocol):
    """One admitted request of an engine.

    Attributes:
        choices: answers it was asked for; each has an end.
    """

    choices: int

    async def next(self) -> Piece | End:
        """The next piece of text, or an end; raises `ApiError` when the engine fails."""
        ...

    def cancel(self) -> None:
        """Stop computing; harmless after the end."""
        ...


def usage_of(ends: Sequence[End]) -> dict[str, Any]:
    """OpenAI's ``usage`` of a request: its prompt once, the answers of all choices."""
    first = next(end for end in ends if end.choice == 0)
    return usage_dict(first.prompt_tokens, first.cached_tokens, sum(end.output_tokens for end in ends))


async def whole_answer(answer: Answer, run: Run, facts: EngineFacts) -> WholeReply:
    """Wait for the end and answer at once; raises `ApiError` when the engine fails."""
    texts: list[list[str]] = [[] for _ in range(run.choices)]
    ends: list[End] = []
    first_output_at: float | None = None
    while len(ends) < run.choices:
        piece = await run.next()
        if isinstance(piece, End):
            ends.append(piece)
        else:
            first_output_at = first_output_at or time.perf_counter()
            texts[piece.choice].append(piece.text)
    ends.sort(key=lambda end: end.choice)
    choices = [("".join(text), end.finish_reason) for text, end in zip(texts, ends, strict=True)]
    body = answer.whole(choices, usage_of(ends))
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
        """Openings, deltas, endings, usage where asked for, and ``[DONE]``; or an error event last."""
        for choice in range(self._run.choices):
            opening = self._answer.opening(choice)
            if opening is not None:
                yield event(opening)
        ends: list[End] = []
        try:
            while len(ends) < self._run.choices:
                piece = await self._run.next()
                if isinstance(piece, End):
                    ends.append(piece)
                    if len(ends) < self._run.choices:
                        yield self._ending(piece)
                    continue
                if self.first_output_at is None:
                    self.first_output_at = time.perf_counter()
                if piece.text:
                    yield event(self._answer.delta(piece.choice, piece.text))
        except ApiError as error:
            self.error = error.code
            yield event(error.to_dict())
            return
        usage = usage_of(ends)
        self._usage = Usage.from_response({"usage": usage})
        tail = self._ending(ends[-1])
        if self._answer.include_usage:
            tail += event(self._answer.last(usage))
        yield tail + DONE

    def _ending(self, end: End) -> bytes:
        return event(self._answer.ending(end.choice, end.finish_reason))

    async def close(self) -> None:
        """Cancel what is still being generated."""
        self._run.cancel()
