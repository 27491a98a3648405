"""The built-in engine as an upstream: the one place where the gateway knows the engine.

It turns a call into token ids and parameters, bridges the worker thread's events to the event
loop, and answers in OpenAI's shapes. The cache, the scheduling and the model are the engine's.
"""

from __future__ import annotations

import asyncio
import dataclasses
from typing import TYPE_CHECKING, Any

from promptcache_engine import (
    Admitted,
    ContextLengthError,
    DeadEndError,
    EngineConfig,
    EngineError,
    Failed,
    Finished,
    Grammar,
    GrammarError,
    Hints,
    SamplingParams,
    TokenDelta,
    check_model_name,
)
from promptcache_gateway.errors import ApiError, invalid_request, too_many_tokens, unknown_model
from promptcache_gateway.upstreams.answers import make_answer, models_body
from promptcache_gateway.upstreams.cache_hints import hints_of
from promptcache_gateway.upstreams.engine_answer import Calls, EngineStream, json_reply, whole_answer
from promptcache_gateway.upstreams.engine_news import chances_of, facts_of
from promptcache_gateway.upstreams.engine_prefixes import KnownPrompt, LatestPrompts
from promptcache_gateway.upstreams.engine_prompt import prompt_tokens, wishes_of
from promptcache_gateway.upstreams.engine_run import EngineRun
from promptcache_gateway.upstreams.engine_tokens import detokenized, tokenized
from promptcache_gateway.upstreams.engine_wording import api_error, cannot_start, check_room, sentence
from promptcache_gateway.upstreams.parameters import Parameters, namespace, parameters_of, prompt_field
from promptcache_gateway.upstreams.pieces import End, Piece
from promptcache_gateway.upstreams.tool_formats import format_of, grammar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from promptcache_engine import Engine, GenerationEvent
    from promptcache_gateway.exchange import Call, Dialect, EngineFacts
    from promptcache_gateway.settings import EngineSettings
    from promptcache_gateway.upstreams.base import Inbound, StreamReply, WholeReply
    from promptcache_gateway.upstreams.tool_formats import ToolFormat

_LONG_BODY = 16_384  # bytes from which rendering and tokenizing are worth a thread of their own


class LocalUpstream:
    """The built-in engine. ``engine`` may be given ready-made; else ``start`` loads the model."""

    name = "engine"
    kind = "engine"
    dialects: frozenset[Dialect] = frozenset({"openai.chat", "openai.completions"})
    granularity: int | None = 1  # the engine copies the matching part of a page: hits end at the token

    def __init__(
        self,
        settings: EngineSettings,
        engine: Engine | None = None,
        *,
        on_progress: Callable[[str], None] | None = None,
    ) -> None:
        self._settings = settings
        self._engine = engine
        self._on_progress = on_progress
        self.latest_prompts = LatestPrompts()

    @property
    def caching(self) -> bool:
        """Whether the engine reuses prefixes at all."""
        return self._settings.enable_prefix_caching

    async def start(self) -> None:
        """Load the model and start the engine's thread; raises `StartupError` saying what is missing."""
        if self._engine is None:
            self._engine = await asyncio.to_thread(_load, self._settings, self._on_progress)
        _check_room(self._engine, self._settings)
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
        parameters = parameters_of(call)
        tokens = await self._tokens(call, parameters)
        style = self._tool_style(parameters)
        params = await self._sampling(parameters, style)
        run = self._submit(call, tokens, parameters, params)
        wishes = wishes_of(self.engine.prompts, call, parameters, tokens)
        answer = make_answer(call, self.engine.info.model_name, wishes)
        whole, forced = bool(params.stop or params.stop_token_ids), parameters.tools.mode == "required"
        calls = None if style is None else Calls(style, forced=forced, whole=whole)
        try:
            facts = await run.admission()
            if call.stream:
                return EngineStream(answer, run, facts, calls)
            return await whole_answer(answer, run, facts, calls)
        except asyncio.CancelledError:
            run.cancel()
            raise

    async def models(self, inbound: Inbound, model: str | None) -> WholeReply:  # noqa: ARG002
        """The one model, in OpenAI's list or alone; 404 for another name."""
        info = self.engine.info
        if model is not None:
            self._check_model(model)
        return json_reply(models_body(info.model_name, info.context_length, alone=model is not None))

    async def count_prompt(self, call: Call, inbound: Inbound) -> WholeReply:  # noqa: ARG002
        """The tokens of a call's prompt as the model would get it; raises `ApiError`."""
        self._check_model(call.model)
        return json_reply({"input_tokens": len(await self._tokens(call, parameters_of(call)))})

    def count_tokens(self, text: str) -> int | None:
        """Tokens of ``text`` under the model's own tokenizer."""
        return len(self.engine.tokenizer.encode(text))

    async def tokens(self, path: str, payload: Mapping[str, Any]) -> WholeReply:
        """The answer to ``/tokenize`` or ``/detokenize``; raises `ApiError`."""
        if payload.get("model") is not None:
            self._check_model(payload["model"])
        writer, length = self.engine.prompts, self.engine.info.context_length
        try:
            if path == "/detokenize":
                return json_reply(detokenized(writer, payload))
            return json_reply(await asyncio.to_thread(tokenized, writer, payload, length))
        except EngineError as error:
            raise invalid_request(sentence(error), "messages", "chat_template_error") from error

    async def reset_cache(self) -> bool | None:
        """Empty the cache; False while sequences hold pages. Raises `ApiError` where the engine is dead."""
        try:
            return await asyncio.to_thread(self.engine.reset_cache)
        except EngineError as error:
            raise api_error(error, "messages") from error

    async def warm(self, call: Call) -> EngineFacts | None:
        """Compute the call's prompt and keep it, without generating anything; raises `ApiError`."""
        self._check_model(call.model)
        parameters = dataclasses.replace(parameters_of(call), max_tokens=0, wants_exactly=False, choices=1)
        tokens = await self._tokens(call, parameters)
        run = self._submit(call, tokens, parameters, SamplingParams(temperature=0, max_tokens=0))
        try:
            facts = await run.admission()
            while not isinstance(await run.next(), End):
                pass
        except asyncio.CancelledError:
            run.cancel()
            raise
        return facts

    async def cached_prompts(self) -> list[KnownPrompt]:
        """The latest prompts, newest first, with what of them is cached now."""
        try:
            return await asyncio.to_thread(self.latest_prompts.cached_in, self.engine)
        except EngineError as error:
            raise api_error(error, "messages") from error

    def health(self) -> Mapping[str, Any]:
        """Whether the worker thread lives, which model it serves, and its counters."""
        engine = self._engine
        if engine is None:
            return {"ok": False, "model": self._settings.model}
        told = {"ok": engine.healthy, "model": engine.info.model_name}
        return {**told, "stats": dataclasses.asdict(engine.stats()), **engine.info.for_health()}

    def _check_model(self, model: str) -> None:
        known = self.engine.info.model_name
        if not model:
            raise invalid_request(
                "Missing required parameter: 'model'.", "model", "missing_required_parameter"
            )
        if model not in {known, self._settings.model}:
            raise unknown_model(model, [known])

    async def _tokens(self, call: Call, parameters: Parameters) -> list[int]:
        """The prompt's token ids; raises `ApiError` where there is none to be read, or it is too long.

        A long one is rendered and encoded off the event loop; so is a warming call's, which has no body.
        """
        if 0 < len(call.body) < _LONG_BODY:
            return self._encoded(call, parameters)
        return await asyncio.to_thread(self._encoded, call, parameters)

    def _encoded(self, call: Call, parameters: Parameters) -> list[int]:
        field = prompt_field(call)
        try:
            return prompt_tokens(self.engine.prompts, call, parameters, self.engine.check_length)
        except ContextLengthError as error:
            raise api_error(error, field) from error
        except EngineError as error:
            raise invalid_request(sentence(error), field, "chat_template_error") from error

    def _tool_style(self, parameters: Parameters) -> ToolFormat | None:
        """How this model writes calls; None where the answer can hold none."""
        source = self.engine.prompts.template_source
        return format_of(source) if parameters.tools.may_call and source is not None else None

    async def _sampling(self, parameters: Parameters, style: ToolFormat | None) -> SamplingParams:
        """The engine's parameters, the grammar compiled off the event loop; raises `ApiError`."""
        if parameters.shape is None and style is None:
            return SamplingParams(**parameters.sampling)
        return await asyncio.to_thread(self._constrained, parameters, style)

    def _constrained(self, parameters: Parameters, style: ToolFormat | None) -> SamplingParams:
        shape, control = parameters.shape, self.engine.prompts.control_token
        # The engine's kinds of constraints are named as the shapes are.
        made: Grammar | None = None if shape is None else getattr(Grammar, shape.kind)(shape.value)
        if shape is not None and made is not None:
            self._prepare(made, shape.path)
        shown = None
        if style is not None:
            for tool in parameters.tools.callable:
                self._prepare(Grammar.json_schema(tool.schema), tool.path)
            answer = None if shape is None else shape.value
            made = Grammar.lark(grammar(style, parameters.tools, control, answer))
            self._prepare(made, "tools")
            shown = control(style.begin) if style.begin else None
        params = SamplingParams(**parameters.sampling)
        return dataclasses.replace(params, grammar=made, shown_tokens=() if shown is None else (shown,))

    def _prepare(self, made: Grammar, path: str) -> None:
        try:
            self.engine.prepare_grammar(made)
        except GrammarError as error:
            place = f"{path}{error.place.replace('/', '.')}"
            raise ApiError(400, sentence(error), param=place, code="invalid_schema") from error

    def _submit(
        self, call: Call, tokens: list[int], parameters: Parameters, params: SamplingParams
    ) -> EngineRun:
        field = prompt_field(call)
        shape = "tools" if parameters.shape is None else parameters.shape.path
        limit = self.engine.info.context_length
        if parameters.wants_exactly and len(tokens) + (parameters.max_tokens or 0) > limit:
            raise too_many_tokens(len(tokens), parameters.max_tokens or 0, limit, field)
        run, space = EngineRun(parameters.choices), namespace(call.tenant, parameters.cache_salt)
        try:
            run.generations = self.engine.submit_choices(
                tokens,
                params,
                choices=parameters.choices,
                priority=parameters.priority,
                namespace=space,
                use_cache=call.use_cache,
                hints=Hints(**hints_of(call)),
                on_event=lambda choice, event: run.put(_translated(event, choice, self.engine, field, shape)),
            )
        except EngineError as error:
            raise api_error(error, field) from error
        if call.use_cache:
            self.latest_prompts.add(call.id, call.tenant, space, tokens)
        return run


def _translated(
    event: GenerationEvent, choice: int, engine: Engine, field: str, shape: str
) -> EngineFacts | Piece | End | ApiError:
    """One of the engine's events in the gateway's words; ``field`` and ``shape`` may be at fault."""
    match event:
        case TokenDelta():
            return Piece(choice, event.text, event.token_ids, chances_of(engine.tokenizer, event.logprobs))
        case Admitted():
            return facts_of(event)
        case Finished():
            counts = (event.prompt_tokens, event.cached_tokens, event.output_tokens)
            return End(choice, event.finish_reason, *counts, stop=event.stop)
        case Failed():
            return api_error(event.error, shape if isinstance(event.error, DeadEndError) else field)


def check(settings: EngineSettings) -> None:
    """Judge what can be without loading the model; raises `StartupError` for what the engine refuses."""
    try:
        check_model_name(_engine_config(settings).model)
    except Exception as error:
        raise cannot_start(error, "model") from error


def _load(settings: EngineSettings, on_progress: Callable[[str], None] | None) -> Engine:
    """Load the model; every way in which that can fail becomes one clear `StartupError`."""
    try:
        from promptcache_engine import Engine  # noqa: PLC0415 - loads torch

        config = _engine_config(settings)
        return Engine(config) if on_progress is None else Engine(config, on_progress=on_progress)
    except Exception as error:
        raise cannot_start(error) from error


def _check_room(engine: Engine, settings: EngineSettings) -> None:
    try:
        least = len(engine.tokenizer.encode(engine.render_chat([{"role": "user", "content": "Hi"}]))) + 1
    except EngineError:  # a model without a chat template completes prompts
        least = 2
    check_room(engine.info.context_length, least, cache_sized=settings.kv_cache_tokens is not None)


def _engine_config(settings: EngineSettings) -> EngineConfig:
    fields = dataclasses.asdict(settings)
    template = settings.chat_template
    return EngineConfig(**{**fields, "chat_template": None if template is None else str(template)})
