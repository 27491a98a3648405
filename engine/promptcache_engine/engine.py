"""The engine as its users see it: load a model, submit token ids, receive events.

It checks requests and wires the parts; the work is the worker's.
"""

import itertools
import operator
import threading
from collections.abc import Iterator, Mapping, Sequence
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Self

from promptcache_engine.cache import PrefixCache
from promptcache_engine.config import EngineConfig, SamplingParams
from promptcache_engine.core import EngineCore
from promptcache_engine.detokenizer import TextStream
from promptcache_engine.errors import (
    ContextLengthError,
    EmptyPromptError,
    InvalidTokenError,
)
from promptcache_engine.events import Admitted, Completion, Failed, Finished, GenerationEvent, TokenDelta
from promptcache_engine.generation import Generation, OnEvent
from promptcache_engine.info import EngineInfo, EngineStats
from promptcache_engine.models import LoadedModel
from promptcache_engine.runner import ModelRunner
from promptcache_engine.sampling import Draws
from promptcache_engine.scheduler import Scheduler
from promptcache_engine.scheduler import Sequence as TokenSequence
from promptcache_engine.setup import Progress, load, make_pool, read_chat_template, silent, use_threads
from promptcache_engine.tokenizer import Tokenizer
from promptcache_engine.worker import Worker


class Engine:
    """One model, one pool of KV, one worker thread; requests may come from any thread.

    Args:
        config: how to run.
        loaded: a model that is in memory already; without it ``config.model`` is found and loaded.
        on_progress: called with one line before each long step of loading.

    Raises:
        ConfigError: the configuration does not fit the model or this machine.
        ModelUnavailableError: the hub cannot provide the model's file.
        ModelError: the file cannot be served.
    """

    def __init__(
        self,
        config: EngineConfig | None = None,
        *,
        loaded: LoadedModel | None = None,
        on_progress: Progress = silent,
    ) -> None:
        self._config = config or EngineConfig()
        use_threads(self._config)
        self._loaded = loaded or load(self._config, on_progress)
        self._template = read_chat_template(self._config, self._loaded)
        self._pool, self._info = make_pool(self._config, self._loaded)
        self._ids = itertools.count(1)
        self._lifecycle = threading.Lock()
        self._worker = self._make_worker()

    @classmethod
    def from_loaded(cls, loaded: LoadedModel, config: EngineConfig | None = None) -> Self:
        """Make an engine of a model that is in memory already; ``config.model`` only names it."""
        return cls(config, loaded=loaded)

    def start(self) -> Self:
        """Start the worker; after ``close`` or a failure a new one, with an empty cache.

        Without effect while it runs.
        """
        with self._lifecycle:
            if not self._worker.healthy:
                if self._worker.started:
                    self._worker.close()
                    self._worker = self._make_worker()
                self._worker.start()
        return self

    def close(self) -> None:
        """Stop after the current step; pending requests fail with EngineStoppedError. May be called again."""
        with self._lifecycle:
            self._worker.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def info(self) -> EngineInfo:
        """The model and the room it has."""
        return self._info

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's tokenizer."""
        return self._loaded.tokenizer

    @property
    def healthy(self) -> bool:
        """Whether requests are taken and computed."""
        return self._worker.healthy

    @property
    def stopped_because(self) -> str | None:
        """Why the worker ended, in words; None while it has not."""
        return self._worker.stopped_because

    def render_chat(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] | None = None
    ) -> str:
        """Write a conversation as the prompt the model was trained on, up to the start of its answer.

        Raises:
            ChatTemplateError: the model has no template, or the template refuses the messages.
        """
        template = self._template or self._loaded.require_chat_template()
        return template.render(messages, tools)

    def encode_prompt(self, text: str) -> list[int]:
        """Encode a plain prompt, with the token that begins a text where the model wants one."""
        tokens = self.tokenizer.encode(text)
        bos = self.tokenizer.bos_token_id
        if self.tokenizer.adds_bos and bos is not None and tokens[:1] != [bos]:
            tokens.insert(0, bos)
        return tokens

    def submit(
        self,
        tokens: Sequence[int],
        params: SamplingParams | None = None,
        *,
        namespace: str = "",
        use_cache: bool = True,
        on_event: OnEvent,
    ) -> Generation:
        """Queue a request and return at once.

        Args:
            tokens: the prompt's token ids.
            params: how to choose the answer's tokens.
            namespace: only requests of one namespace share prefixes.
            use_cache: False neither reads the cache nor leaves anything in it.
            on_event: called from the worker's thread with each event of ``events``; it must not block.

        Raises:
            EmptyPromptError: there is no token.
            InvalidTokenError: a token id is outside the vocabulary.
            ContextLengthError: the prompt leaves no room for an answer.
            QueueFullError: too many requests wait.
            EngineStoppedError: the engine does not run.
        """
        params = params or SamplingParams()
        prompt = self._check_prompt(tokens, params)
        limit = self._info.context_length
        wanted = limit if params.max_tokens is None else len(prompt) + params.max_tokens
        sequence = TokenSequence(
            id=f"seq-{next(self._ids)}",
            tokens=prompt,
            prompt_tokens=len(prompt),
            max_length=min(limit, wanted),
            namespace=namespace,
            use_cache=use_cache and self._config.enable_prefix_caching,
        )
        text = TextStream(self.tokenizer.token_bytes, params.stop)
        generation = Generation(sequence, params, text, Draws(params), on_event)
        self._worker.submit(generation)
        return generation

    def stream(
        self,
        prompt: str | Sequence[int],
        params: SamplingParams | None = None,
        *,
        namespace: str = "",
        use_cache: bool = True,
    ) -> Iterator[GenerationEvent]:
        """Yield a request's events as they come; leaving the loop early cancels it.

        Raises:
            EngineError: what ``submit`` raises, at the first step of the loop.
        """
        tokens = self.encode_prompt(prompt) if isinstance(prompt, str) else prompt
        events: SimpleQueue[GenerationEvent] = SimpleQueue()
        generation = self.submit(
            tokens, params, namespace=namespace, use_cache=use_cache, on_event=events.put
        )
        try:
            while True:
                event = events.get()
                yield event
                if isinstance(event, Finished | Failed):
                    return
        finally:
            generation.cancel()

    def generate(
        self,
        prompt: str | Sequence[int],
        params: SamplingParams | None = None,
        *,
        namespace: str = "",
        use_cache: bool = True,
    ) -> Completion:
        """Answer one prompt and wait for the end.

        Raises:
            EngineError: what ``submit`` raises, or why the generation failed.
        """
        text: list[str] = []
        token_ids: list[int] = []
        for event in self.stream(prompt, params, namespace=namespace, use_cache=use_cache):
            match event:
                case TokenDelta():
                    text.append(event.text)
                    token_ids.extend(event.token_ids)
                case Failed():
                    raise event.error
                case Finished():
                    finished = event
                case Admitted():
                    pass
        return Completion(
            "".join(text),
            tuple(token_ids),
            finished.prompt_tokens,
            finished.cached_tokens,
            finished.finish_reason,
        )

    def stats(self) -> EngineStats:
        """Counters and pool after the latest step."""
        return self._worker.stats()

    def reset_cache(self) -> bool:
        """Forget all cached prefixes; False, and nothing changes, while a request runs.

        Raises:
            EngineStoppedError: the engine does not run.
        """
        return self._worker.reset_cache()

    def _check_prompt(self, tokens: Sequence[int], params: SamplingParams) -> list[int]:
        prompt = list(map(operator.index, tokens))
        if not prompt:
            raise EmptyPromptError
        vocab_size = self._info.vocab_size
        if min(prompt) < 0 or max(prompt) >= vocab_size:
            position, token = next((i, t) for i, t in enumerate(prompt) if not 0 <= t < vocab_size)
            raise InvalidTokenError(token, position, vocab_size)
        least_answer = 0 if params.max_tokens == 0 else 1
        if len(prompt) + least_answer > self._info.context_length:
            raise ContextLengthError(len(prompt), self._info.context_length)
        return prompt

    def _make_worker(self) -> Worker:
        config, info = self._config, self._info
        # Nobody reads the cache's event log yet; kept, it would only grow.
        cache = PrefixCache(
            info.num_pages,
            info.page_size,
            policy=config.eviction_policy,
            share_on_admission=False,
            event_limit=0,
        )
        scheduler = Scheduler(cache, max_batch_tokens=config.max_batch_tokens, max_running=config.max_running)
        model = self._loaded.model
        runner = ModelRunner(model, self._pool, page_size=info.page_size, max_length=info.context_length)
        core = EngineCore(scheduler, runner, eos_token_ids=self.tokenizer.eos_token_ids)
        return Worker(core, max_waiting=config.max_waiting)
