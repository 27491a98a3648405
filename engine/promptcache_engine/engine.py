"""The engine as its users see it: load a model, submit token ids, receive events.

It checks requests and wires the parts; the work is the worker's.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Self

from promptcache_engine.cache import Hints
from promptcache_engine.config import EngineConfig, SamplingParams
from promptcache_engine.constraints import GrammarCompiler
from promptcache_engine.device.setup import prepare
from promptcache_engine.events import Completion, Failed, Finished, GenerationEvent
from promptcache_engine.generation import Generation, OnEvent
from promptcache_engine.grammars import Grammar
from promptcache_engine.info import EngineInfo, EngineStats
from promptcache_engine.intake import Intake
from promptcache_engine.models import LoadedModel
from promptcache_engine.prompts import PromptWriter
from promptcache_engine.setup import (
    Progress,
    load,
    make_pool,
    make_worker,
    read_chat_template,
    silent,
    use_threads,
)
from promptcache_engine.supervisor import Supervisor
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
        self._prompts = PromptWriter(self._loaded, read_chat_template(self._config, self._loaded))
        self._pool, info = make_pool(self._config, self._loaded)
        device, self._info = prepare(self._config, self._loaded, self._pool, info)
        whole = self._config, self._loaded, self._pool, self._info
        make = partial(make_worker, *whole, device=device)
        self._grammars = GrammarCompiler(self.tokenizer, self._info.vocab_size)
        self._intake = Intake(self._info, self.tokenizer, self._grammars)
        self._supervisor = Supervisor(make, max_restarts=self._config.max_restarts)

    @classmethod
    def from_loaded(cls, loaded: LoadedModel, config: EngineConfig | None = None) -> Self:
        """Make an engine of a model that is in memory already; ``config.model`` only names it."""
        return cls(config, loaded=loaded)

    def start(self) -> Self:
        """Start the worker, or in place of one that ended a new one with an empty cache."""
        self._supervisor.start()
        return self

    def close(self) -> None:
        """Stop after the current step; pending requests fail with EngineStoppedError. May be called again."""
        self._supervisor.close()

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
    def prompts(self) -> PromptWriter:
        """What writes prompts by the model's chat template and tokenizer."""
        return self._prompts

    @property
    def healthy(self) -> bool:
        """Whether requests are taken and computed."""
        return self._worker.healthy

    @property
    def stopped_because(self) -> str | None:
        """Why the worker ended, in words; None while it has not."""
        return self._worker.stopped_because

    @property
    def last_failure(self) -> str | None:
        """Why a worker died last, also when another has taken its place; None if none has."""
        return self._supervisor.last_failure

    def render_chat(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] | None = None
    ) -> str:
        """Write a conversation as a prompt; see ``PromptWriter``, also for what it raises."""
        return self._prompts.render_chat(messages, tools)

    def check_length(self, text: str) -> None:
        """Raise ContextLengthError for a text that is too long however it is tokenized; quick."""
        self._intake.check_text(text)

    def encode_prompt(self, text: str) -> list[int]:
        """Encode a plain prompt, with the token that begins a text where the model wants one."""
        return self._prompts.encode_prompt(text)

    def prepare_grammar(self, grammar: Grammar) -> None:
        """Compile a grammar, so that a later request that brings it need not wait; raise GrammarError."""
        self._grammars.prepare(grammar)

    def submit(
        self,
        tokens: Sequence[int],
        params: SamplingParams | None = None,
        *,
        namespace: str = "",
        use_cache: bool = True,
        priority: int = 0,
        timeout: float | None = None,
        hints: Hints | None = None,
        on_event: OnEvent,
    ) -> Generation:
        """Queue a request and return at once.

        Args:
            tokens: the prompt's token ids.
            params: how to choose the answer's tokens.
            namespace: only requests of one namespace share prefixes.
            use_cache: False neither reads the cache nor leaves anything in it.
            priority: lower ones come first and are preempted last, whatever else they need.
            timeout: seconds after which it fails with DeadlineError, waiting or running; None: never.
            hints: what the eviction policy may want to know; only advice.
            on_event: called from the worker's thread with each event of ``events``; it must not block.

        Raises:
            EmptyPromptError, InvalidTokenError: there is no token, or one outside the vocabulary.
            ContextLengthError: the prompt leaves no room for an answer.
            ConfigError: an argument is not of its type, or ``priority``, ``timeout`` or a token id in
                ``params`` has no sense.
            GrammarError: the answer cannot be constrained as ``params`` say.
            QueueFullError: ``max_running`` and ``max_waiting`` requests together have not ended yet.
            EngineStoppedError: the engine does not run.
        """
        (generation,) = self.submit_choices(
            tokens,
            params,
            choices=1,
            namespace=namespace,
            use_cache=use_cache,
            priority=priority,
            timeout=timeout,
            hints=hints,
            on_event=lambda _, event: on_event(event),
        )
        return generation

    def submit_choices(
        self,
        tokens: Sequence[int],
        params: SamplingParams | None = None,
        *,
        choices: int,
        namespace: str = "",
        use_cache: bool = True,
        priority: int = 0,
        timeout: float | None = None,
        hints: Hints | None = None,
        on_event: Callable[[int, GenerationEvent], None],
    ) -> tuple[Generation, ...]:
        """Queue several answers to one prompt, which is computed once; the pages of the prompt are shared.

        ``on_event`` gets a choice's number and what ``submit`` would tell; all report the prompt's tokens, so
        usage takes these once and sums up ``output_tokens``. A seed draws the first as if it stood alone.
        They count as one request, until the last has ended. Else as ``submit``.
        """
        generations = self._intake.make(
            tokens,
            params or SamplingParams(),
            on_event,
            choices=choices,
            namespace=namespace,
            use_cache=use_cache and self._config.enable_prefix_caching,
            priority=priority,
            timeout=timeout,
            hints=hints,
        )
        self._worker.submit(generations)
        return generations

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
        return Completion.of(self.stream(prompt, params, namespace=namespace, use_cache=use_cache))

    def generate_choices(
        self,
        prompt: str | Sequence[int],
        params: SamplingParams | None = None,
        *,
        choices: int,
        namespace: str = "",
        use_cache: bool = True,
    ) -> tuple[Completion, ...]:
        """Answer one prompt several times, computing it once, and wait for all ends.

        Raises:
            EngineError: what ``submit_choices`` raises, or why the first that failed did.
        """
        tokens = self.encode_prompt(prompt) if isinstance(prompt, str) else prompt
        events: SimpleQueue[tuple[int, GenerationEvent]] = SimpleQueue()
        self.submit_choices(
            tokens,
            params,
            choices=choices,
            namespace=namespace,
            use_cache=use_cache,
            on_event=lambda choice, event: events.put((choice, event)),
        )
        courses: list[list[GenerationEvent]] = [[] for _ in range(choices)]
        running = choices
        while running:
            choice, event = events.get()
            courses[choice].append(event)
            running -= isinstance(event, Finished | Failed)
        return tuple(Completion.of(course) for course in courses)

    def stats(self) -> EngineStats:
        """Counters and pool after the latest step."""
        return replace(self._worker.stats(), restarts=self._supervisor.restarts)

    def reset_cache(self) -> bool:
        """Forget all cached prefixes; False, and nothing changes, while a request runs.

        Raises:
            EngineStoppedError: the engine does not run.
        """
        return self._worker.reset_cache()

    def cached_prefixes(self, prompts: Sequence[tuple[Sequence[int], str]]) -> list[int]:
        """How many tokens of each prompt could be reused now; looking is no use of them.

        Args:
            prompts: token ids, and the namespace they were submitted in.

        Raises:
            ConfigError, InvalidTokenError: what is asked about are no prompts, or of other tokens.
            EngineStoppedError: the engine does not run.
        """
        return self._worker.cached_prefixes(self._intake.check_prefixes(prompts))

    @property
    def _worker(self) -> Worker:
        return self._supervisor.worker
