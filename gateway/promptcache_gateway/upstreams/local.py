"""The built-in engine as an upstream: the one place where the gateway knows the engine.

It turns a call into token ids and parameters, bridges the worker thread's events to the event
loop, and answers in OpenAI's shapes. The cache, the scheduling and the model are the engine's.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from typing import TYPE_CHECKING, Any, TypeAlias

from promptcache_engine import (
    Admitted,
    ContextLengthError,
    DeadlineError,
    EmptyPromptError,
    EngineConfig,
    EngineError,
    EngineStoppedError,
    Failed,
    Finished,
    InvalidTokenError,
    QueueFullError,
    SamplingParams,
    TokenDelta,
)
from promptcache_gateway.errors import ApiError, StartupError, invalid_request, unknown_model
from promptcache_gateway.exchange import EngineFacts
from promptcache_gateway.upstreams.answers import make_answer
from promptcache_gateway.upstreams.engine_answer import End, EngineStream, Piece, json_reply, whole_answer
from promptcache_gateway.upstreams.parameters import (
    COMPLETIONS_DEFAULT_MAX_TOKENS,
    Parameters,
    namespace,
    read_parameters,
)
from promptcache_gateway.upstreams.prompts import read_messages, read_prompt

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from promptcache_engine import Engine, Generation, GenerationEvent
    from promptcache_gateway.exchange import Call
    from promptcache_gateway.settings import EngineSettings
    from promptcache_gateway.upstreams.base import Inbound, StreamReply, WholeReply

Progress: TypeAlias = "Callable[[str], None]"

_LONG_PROMPT = 16_384  # characters from which tokenizing is worth a thread of its own


class LocalUpstream:
    """The built-in engine. ``engine`` may be given ready-made; else ``start`` loads the model."""

    name = "engine"
    kind = "engine"
    granularity: int | None = 1  # the engine copies the matching part of a page: hits end at the token

    def __init__(
        self, settings: EngineSettings, engine: Engine | None = None, *, on_progress: Progress | None = None
    ) -> None:
        self._settings = settings
        self._engine = engine
        self._on_progress = on_progress

    @property
    def caching(self) -> bool:
        """Whether the engine reuses prefixes at all."""
        return self._settings.enable_prefix_caching

    async def start(self) -> None:
        """Load the model and start the engine's thread; raises `StartupError` saying what is missing."""
        if self._engine is None:
            self._engine = await asyncio.to_thread(_load, self._settings, self._on_progress)
        if not self._engine.healthy:
            self._engine.start()

    async def close(self) -> None:
        """Stop the engine; what is still being computed ends as failed."""
        if self._engine is not None:
            await asyncio.to_thread(self._engine.close)

    @property
    def engine(self) -> Engine:
        """The running engine."""
        assert self._engine is not None, "start() comes first"
        return self._engine

    async def send(self, call: Call, inbound: Inbound) -> WholeReply | StreamReply:  # noqa: ARG002
        """Complete the call; raises `ApiError` before anything is generated."""
        self._check_model(call.model)
        parameters = _parameters(call)
        tokens = await self._tokens(call)
        run = self._submit(call, tokens, parameters)
        answer = make_answer(call, self.engine.info.model_name, include_usage=parameters.include_usage)
        try:
            facts = await run.admission()
            if call.stream:
                return EngineStream(answer, run, facts)
            return await whole_answer(answer, run, facts)
        except asyncio.CancelledError:
            run.cancel()
            raise

    async def models(self, inbound: Inbound, model: str | None) -> WholeReply:  # noqa: ARG002
        """The one model, in OpenAI's list or alone; 404 for another name."""
        info = self.engine.info
        entry = {
            "id": info.model_name,
            "object": "model",
            "created": 0,
            "owned_by": "promptcache",
            "max_model_len": info.context_length,
        }
        if model is not None:
            self._check_model(model)
            return json_reply(entry)
        return json_reply({"object": "list", "data": [entry]})

    def count_tokens(self, text: str) -> int | None:
        """Tokens of ``text`` under the model's own tokenizer."""
        return len(self.engine.tokenizer.encode(text))

    async def reset_cache(self) -> bool | None:
        """Empty the cache; False while sequences hold pages. Raises `ApiError` where the engine is dead."""
        try:
            return await asyncio.to_thread(self.engine.reset_cache)
        except EngineError as error:
            raise api_error(error, "messages") from error

    async def warm(self, call: Call) -> EngineFacts | None:
        """Compute the call's prompt and keep it, without generating anything; raises `ApiError`."""
        self._check_model(call.model)
        parameters = dataclasses.replace(_parameters(call), max_tokens=0, choices=1)
        run = self._submit(call, await self._tokens(call), parameters)
        try:
            facts = await run.admission()
            while not isinstance(await run.next(), End):
                pass
        except asyncio.CancelledError:
            run.cancel()
            raise
        return facts

    def health(self) -> Mapping[str, Any]:
        """Whether the worker thread lives, which model it serves, and its counters."""
        engine = self._engine
        if engine is None:
            return {"ok": False, "model": self._settings.model}
        return {
            "ok": engine.healthy,
            "model": engine.info.model_name,
            "stats": dataclasses.asdict(engine.stats()),
        }

    def _check_model(self, model: str) -> None:
        known = self.engine.info.model_name
        if not model:
            raise invalid_request(
                "Missing required parameter: 'model'.", "model", "missing_required_parameter"
            )
        if model not in {known, self._settings.model}:
            raise unknown_model(model, [known])

    async def _tokens(self, call: Call) -> list[int]:
        """The prompt's token ids; raises `ApiError` where there is no prompt to be read."""
        if call.dialect == "openai.completions":
            prompt = read_prompt(call.payload)
            return prompt if isinstance(prompt, list) else await _encode(self.engine.encode_prompt, prompt)
        messages = read_messages(call.payload)
        try:
            text = self.engine.render_chat(messages)
        except EngineError as error:
            raise invalid_request(_sentence(error), "messages", "chat_template_error") from error
        return await _encode(self.engine.tokenizer.encode, text)

    def _submit(self, call: Call, tokens: list[int], parameters: Parameters) -> EngineRun:
        run = EngineRun(call, parameters.choices)
        try:
            run.generations = self.engine.submit_choices(
                tokens,
                SamplingParams(**parameters.sampling()),
                choices=parameters.choices,
                priority=parameters.priority,
                namespace=namespace(call.tenant, parameters.cache_salt),
                use_cache=call.use_cache,
                on_event=run.receive,
            )
        except EngineError as error:
            raise api_error(error, run.field) from error
        return run


class EngineRun:
    """One submitted call: its events, carried from the engine's worker thread to the event loop."""

    def __init__(self, call: Call, choices: int) -> None:
        self.field = "prompt" if call.dialect == "openai.completions" else "messages"
        self.choices = choices
        self.generations: tuple[Generation, ...] = ()
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[tuple[int, GenerationEvent]] = asyncio.Queue()

    def receive(self, choice: int, event: GenerationEvent) -> None:
        """Take an event; called from the worker thread."""
        # The loop may be closed already when the gateway stops; then nobody waits for the event.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._queue.put_nowait, (choice, event))

    def cancel(self) -> None:
        """Stop computing; harmless after the end."""
        for generation in self.generations:
            generation.cancel()

    async def admission(self) -> EngineFacts:
        """What the engine knows at admission; raises `ApiError` where the call ends before that."""
        _, event = await self._queue.get()
        if isinstance(event, Failed):
            raise self._failure(event)
        if not isinstance(event, Admitted):
            raise api_error(EngineStoppedError("the request was given up before it began"), self.field)
        return _facts(event)

    async def next(self) -> Piece | End:
        """The next piece of text, or a choice's end; raises `ApiError` where the engine failed."""
        while True:
            choice, event = await self._queue.get()
            match event:
                case TokenDelta():
                    return Piece(choice, event.text)
                case Finished():
                    return End(
                        choice,
                        event.finish_reason,
                        event.prompt_tokens,
                        event.cached_tokens,
                        event.output_tokens,
                    )
                case Failed():
                    raise self._failure(event)
                case Admitted():  # a further choice's
                    pass

    def _failure(self, event: Failed) -> ApiError:
        """The answer to a choice that failed; the others are of no use without it."""
        self.cancel()
        return api_error(event.error, self.field)


async def _encode(encode: Callable[[str], list[int]], text: str) -> list[int]:
    """Token ids of a text; a long one is encoded off the event loop."""
    return encode(text) if len(text) < _LONG_PROMPT else await asyncio.to_thread(encode, text)


def _facts(event: Admitted) -> EngineFacts:
    reason = event.reason
    return EngineFacts(
        prompt_tokens=event.prompt_tokens,
        cached_tokens=event.cached_tokens,
        reused=reason.reused,
        evicted=reason.evicted,
        isolated=reason.isolated,
        granularity=reason.granularity,
        window=reason.window,
        diverged_at=reason.diverged_at,
    )


def api_error(error: EngineError, field: str) -> ApiError:
    """The API's answer to one of the engine's errors; ``field`` is where the prompt was."""
    text = _sentence(error)
    if isinstance(error, ContextLengthError):
        return invalid_request(text, field, "context_length_exceeded")
    if isinstance(error, EmptyPromptError | InvalidTokenError):
        return invalid_request(text, field, "invalid_value")
    if isinstance(error, QueueFullError):
        return ApiError(429, text, kind="rate_limit_error", code="queue_full", retry_after=1)
    if isinstance(error, DeadlineError):
        return ApiError(504, text, kind="server_error", code="deadline_exceeded")
    if isinstance(error, EngineStoppedError):
        return ApiError(503, text, kind="server_error", code="engine_unavailable")
    return ApiError(500, text, kind="server_error", code="engine_error")


def _sentence(error: EngineError) -> str:
    text = f"{_ended(error.problem)} {_ended(error.remedy)}".strip()
    return text[:1].upper() + text[1:]


def _ended(sentence: str) -> str:
    """The sentence with its full stop."""
    return sentence if not sentence or sentence.endswith((".", "?", "!")) else f"{sentence}."


def _load(settings: EngineSettings, on_progress: Progress | None) -> Engine:
    """Load the model; every way in which that can fail becomes one clear `StartupError`."""
    try:
        from promptcache_engine import Engine  # noqa: PLC0415 - loads torch

        config = _engine_config(settings)
        return Engine(config) if on_progress is None else Engine(config, on_progress=on_progress)
    except ImportError as error:
        raise StartupError(
            f"The built-in engine needs packages that are not installed ({error.name}).",
            remedy="pip install 'promptcache[engine]', or name a server with --upstream URL.",
        ) from error
    except Exception as error:
        remedy = getattr(error, "remedy", "")
        problem = (
            getattr(error, "problem", None) or str(error).removesuffix(f" {remedy}") or type(error).__name__
        )
        raise StartupError(
            _ended(f"The built-in engine cannot start: {problem}"), remedy=_ended(remedy)
        ) from error


def _engine_config(settings: EngineSettings) -> EngineConfig:
    fields = dataclasses.asdict(settings)
    template = settings.chat_template
    return EngineConfig(**{**fields, "chat_template": None if template is None else str(template)})


def _parameters(call: Call) -> Parameters:
    if call.dialect == "openai.completions":
        return read_parameters(
            call.payload, prompt_field="prompt", default_max=COMPLETIONS_DEFAULT_MAX_TOKENS
        )
    return read_parameters(call.payload, prompt_field="messages", default_max=None)
