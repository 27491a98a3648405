"""From an engine's run to an answer, streamed or whole.

It knows a run by two verbs, next and cancel, and nothing of the engine behind it.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import orjson

from promptcache.usage import Usage
from promptcache_gateway.errors import ApiError
from promptcache_gateway.upstreams.answers import DONE, Answer, Choice, event, usage_dict
from promptcache_gateway.upstreams.base import GivenUpError, RawHeaders, WholeReply
from promptcache_gateway.upstreams.pieces import End, Piece
from promptcache_gateway.upstreams.tool_calls import CallReader, Content, PlainReader, WholeCallReader

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from promptcache_gateway.exchange import EngineFacts
    from promptcache_gateway.upstreams.tool_calls import Part
    from promptcache_gateway.upstreams.tool_formats import ToolFormat


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


@dataclass(frozen=True, slots=True)
class Calls:
    """How tool calls are read out of an answer.

    Attributes:
        style: how the model writes them.
        forced: the answer is made of them alone.
        whole: each is passed on once it is complete, as the answer may end within one and then leaves it out.
    """

    style: ToolFormat
    forced: bool = False
    whole: bool = False

    def reader(self) -> CallReader | WholeCallReader:
        """A reader of one choice."""
        reader = CallReader(self.style, forced=self.forced)
        return WholeCallReader(reader) if self.whole else reader


class Progress:
    """What has come of a request's answers.

    Args:
        answer: the frame, which names tool calls.
        choices: answers wanted.
        facts: what is known of the prompt.
        calls: how tool calls are read; None where there are none.
    """

    def __init__(self, answer: Answer, choices: int, facts: EngineFacts, calls: Calls | None) -> None:
        self.choices = [Choice(index) for index in range(choices)]
        self.first_output_at: float | None = None
        self._readers = [PlainReader() if calls is None else calls.reader() for _ in range(choices)]
        self._call_prefix = f"call_{answer.id.rpartition('-')[2]}"
        self._facts = facts
        self._ends: list[End] = []

    @property
    def complete(self) -> bool:
        """Whether every choice has ended."""
        return len(self._ends) == len(self.choices)

    def take(self, piece: Piece) -> list[Part]:
        """What a piece adds to its choice."""
        self.first_output_at = self.first_output_at or time.perf_counter()
        choice = self.choices[piece.choice]
        choice.token_ids += piece.token_ids
        choice.chances += piece.chances
        return self._noted(choice, self._readers[piece.choice].push(piece.text))

    def end(self, end: End) -> list[Part]:
        """What was held back of a choice that ended, and why it did is noted.

        A call that a stop string or token ended is none, and what is held of it is left out.
        """
        self._ends.append(end)
        choice, reader = self.choices[end.choice], self._readers[end.choice]
        broken = end.finish_reason == "stop" and reader.in_call
        parts = [] if broken else self._noted(choice, reader.finish())
        called = end.finish_reason == "stop" and reader.calls > 0 and not broken
        choice.finish_reason = "tool_calls" if called else end.finish_reason
        choice.stop = end.stop
        return parts

    def usage(self) -> dict[str, Any]:
        """OpenAI's ``usage``: the prompt once and all that was sampled, also before the end."""
        ended = {end.choice: end for end in self._ends}
        output = sum(
            ended[choice.index].output_tokens if choice.index in ended else len(choice.token_ids)
            for choice in self.choices
        )
        first = ended.get(0, self._facts)
        return usage_dict(first.prompt_tokens, first.cached_tokens, output)

    def _noted(self, choice: Choice, parts: list[Part]) -> list[Part]:
        for part in parts:
            choice.add(part, f"{self._call_prefix}_{choice.index}_{len(choice.calls)}")
        return parts


async def whole_answer(
    answer: Answer, run: Run, facts: EngineFacts, calls: Calls | None = None
) -> WholeReply:
    """Wait for the end and answer at once.

    Raises:
        ApiError: the engine failed.
        GivenUpError: it was cancelled; with what it had cost by then.
    """
    progress = Progress(answer, run.choices, facts, calls)
    try:
        while not progress.complete:
            news = await run.next()
            if isinstance(news, End):
                progress.end(news)
            else:
                progress.take(news)
    except asyncio.CancelledError as error:
        raise GivenUpError(_so_far(answer, progress, facts)) from error
    body = answer.whole(progress.choices, progress.usage())
    return json_reply(
        body,
        usage=Usage.from_response(body),
        engine=facts,
        first_output_at=progress.first_output_at,
        response_id=answer.id,
    )


def _so_far(answer: Answer, progress: Progress, facts: EngineFacts) -> WholeReply:
    """What a record needs of an answer that nobody gets."""
    return WholeReply(
        status=200,
        headers=[],
        body=b"",
        usage=Usage.from_response({"usage": progress.usage()}),
        engine=facts,
        first_output_at=progress.first_output_at,
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

    def __init__(self, answer: Answer, run: Run, facts: EngineFacts, calls: Calls | None = None) -> None:
        self.headers: RawHeaders = [
            (b"content-type", b"text/event-stream; charset=utf-8"),
            (b"cache-control", b"no-store"),
            (b"x-accel-buffering", b"no"),
        ]
        self.engine: EngineFacts | None = facts
        self.error: str | None = None
        self.response_id: str | None = answer.id
        self.first_output_at: float | None = None
        self._answer = answer
        self._run = run
        self._progress = Progress(answer, run.choices, facts, calls)
        self._waiting: dict[int, Piece] = {}

    @property
    def usage(self) -> Usage:
        """The engine's counts, as far as it has come."""
        return Usage.from_response({"usage": self._progress.usage()})

    async def pieces(self) -> AsyncIterator[bytes]:
        """Openings, deltas, endings, usage where asked for, and ``[DONE]``; or an error event last."""
        for choice in self._progress.choices:
            opening = self._answer.opening(choice)
            if opening is not None:
                yield event(opening)
        tail = b""
        try:
            while not self._progress.complete:
                news = await self._run.next()
                tail = b"".join(self._ended(news) if isinstance(news, End) else self._written(news))
                if tail and not self._progress.complete:
                    yield tail
        except ApiError as error:
            self.error = error.code
            yield event(error.to_dict())
            return
        if self._answer.wishes.usage:
            tail += event(self._answer.last(self._progress.usage()))
        yield tail + DONE

    def _written(self, piece: Piece) -> Iterator[bytes]:
        """The chunks of a piece; its tokens go with the first, or wait for one."""
        parts = self._progress.take(piece)
        self.first_output_at = self._progress.first_output_at
        waiting = self._waiting.pop(piece.choice, None)
        if waiting is not None:
            piece = Piece(
                piece.choice, "", waiting.token_ids + piece.token_ids, waiting.chances + piece.chances
            )
        if not parts:
            self._waiting[piece.choice] = piece
        yield from self._chunks(piece, parts)

    def _ended(self, end: End) -> Iterator[bytes]:
        parts = self._progress.end(end)
        waiting = self._waiting.pop(end.choice, Piece(end.choice, ""))
        wanted = self._answer.wishes
        if not parts and (waiting.chances or (waiting.token_ids and wanted.prompt_token_ids is not None)):
            parts = [Content("")]
        yield from self._chunks(waiting, parts)
        yield event(self._answer.ending(self._progress.choices[end.choice]))

    def _chunks(self, piece: Piece, parts: list[Part]) -> Iterator[bytes]:
        choice = self._progress.choices[piece.choice]
        token_ids, chances = piece.token_ids, piece.chances
        for part in parts:
            yield event(self._answer.delta(choice, part, token_ids, chances))
            token_ids, chances = (), ()

    async def close(self) -> None:
        """Cancel what is still being generated."""
        self._run.cancel()
