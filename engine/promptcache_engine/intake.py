"""From a request to generations: the prompt is checked, and each answer gets its sequence, text and draws.

Queueing them is the worker's business.
"""

import itertools
import operator
import time
from collections.abc import Callable, Sequence
from typing import Any

from promptcache_engine.cache import Hints
from promptcache_engine.config import SamplingParams
from promptcache_engine.constraints import GrammarCompiler
from promptcache_engine.detokenizer import TextStream
from promptcache_engine.errors import ConfigError, ContextLengthError, EmptyPromptError, InvalidTokenError
from promptcache_engine.events import GenerationEvent
from promptcache_engine.generation import Generation
from promptcache_engine.info import EngineInfo
from promptcache_engine.sampling import Draws
from promptcache_engine.scheduler import Sequence as TokenSequence
from promptcache_engine.shaping import Shaper
from promptcache_engine.tokenizer import Tokenizer

MAX_CHOICES = 128
"""Answers to one prompt at most."""

_FOREVER = 1e12
"""Seconds; a whole number of them may be larger than a float can hold."""


class Intake:
    """Makes generations for one engine; for any thread.

    Args:
        info: what the engine can hold.
        tokenizer: gives tokens their bytes.
        grammars: compiles what answers are constrained to.
        clock: the clock of deadlines.
    """

    def __init__(
        self,
        info: EngineInfo,
        tokenizer: Tokenizer,
        grammars: GrammarCompiler,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._info = info
        self._tokenizer = tokenizer
        self._grammars = grammars
        self._clock = clock
        self._ids = itertools.count(1)

    def check_text(self, text: str) -> None:
        """Refuse a text of which its length alone says that it does not fit, before the work of encoding it.

        Raises:
            ContextLengthError: with ``at_least``.
        """
        least, limit = self._tokenizer.least_tokens(text), self._info.context_length
        if least > limit:
            raise ContextLengthError(least, limit, at_least=True)

    def make(
        self,
        tokens: Sequence[int],
        params: SamplingParams,
        on_event: Callable[[int, GenerationEvent], None],
        *,
        choices: int,
        namespace: str,
        use_cache: bool,
        priority: int,
        timeout: float | None,
        hints: Hints | None,
    ) -> tuple[Generation, ...]:
        """Make the generations of one request; all but the first are forks of the first.

        Raises:
            EmptyPromptError, InvalidTokenError, ContextLengthError, GrammarError: see ``Engine.submit``.
            ConfigError: ``choices`` has no sense, or what ``Engine.submit`` says.
        """
        if not isinstance(params, SamplingParams):
            raise ConfigError("params", params, "Use SamplingParams, or None")
        prompt = self._check_prompt(tokens, params)
        _check_request(choices, priority, timeout)
        _check_namespace(namespace)
        if hints is not None and not isinstance(hints, Hints):
            raise ConfigError("hints", hints, "Use promptcache_engine.cache.Hints, or None")
        self._check_tokens(params)
        limit = self._info.context_length
        wanted = limit if params.max_tokens is None else len(prompt) + params.max_tokens
        number, parent = next(self._ids), None
        generations: list[Generation] = []
        for choice in range(choices):
            sequence = TokenSequence(
                id=f"seq-{number}" if choices == 1 else f"seq-{number}.{choice}",
                tokens=prompt.copy(),
                prompt_tokens=len(prompt),
                max_length=min(limit, wanted),
                namespace=namespace,
                use_cache=use_cache,
                hints=hints,
                priority=priority,
                deadline=None if timeout is None else self._clock() + min(timeout, _FOREVER),
                parent=parent,
            )
            parent = parent or sequence
            text = TextStream(self._token_bytes(params), params.stop)
            tell = _with_choice(on_event, choice)
            shaper = self._shaper(params, len(prompt))
            generations.append(Generation(sequence, params, text, Draws(params, choice), tell, shaper))
        return tuple(generations)

    def check_prefixes(self, prompts: Sequence[tuple[Sequence[int], str]]) -> list[tuple[Sequence[int], str]]:
        """Refuse prompts whose tokens or namespaces are none, before the worker's thread sees them.

        Raises:
            ConfigError, InvalidTokenError: as ``make`` raises them; an empty prompt is as good as another.
        """
        checked: list[tuple[Sequence[int], str]] = []
        for prompt in _listed("prompts", prompts, "Pass pairs of token ids and a namespace"):
            try:
                tokens, namespace = prompt
            except (TypeError, ValueError):
                remedy = "Pass pairs of token ids and a namespace"
                raise ConfigError("prompts", type(prompt).__name__, remedy) from None
            _check_namespace(namespace)
            checked.append((self._check_ids(tokens), namespace))
        return checked

    def _shaper(self, params: SamplingParams, prompt_tokens: int) -> Shaper | None:
        if not params.shapes:
            return None
        constraint = None if params.grammar is None else self._grammars.start(params.grammar)
        return Shaper(params, prompt_tokens, self._tokenizer.eos_token_ids, constraint)

    def _token_bytes(self, params: SamplingParams) -> Callable[[int], bytes]:
        """What tokens are in the text: nothing, for control tokens but the shown ones."""
        if not params.shown_tokens:
            return self._tokenizer.token_bytes
        shown = {token: self._tokenizer.token_text(token).encode() for token in params.shown_tokens}
        plain = self._tokenizer.token_bytes
        return lambda token: shown.get(token) or plain(token)

    def _check_tokens(self, params: SamplingParams) -> None:
        for field, tokens in (
            ("logit_bias", params.logit_bias),
            ("stop_token_ids", params.stop_token_ids),
            ("shown_tokens", params.shown_tokens),
        ):
            for token in tokens:
                if not 0 <= token < self._info.vocab_size:
                    remedy = f"Use token ids from 0 to {self._info.vocab_size - 1}"
                    raise ConfigError(field, token, remedy)

    def _check_prompt(self, tokens: Sequence[int], params: SamplingParams) -> list[int]:
        prompt = self._check_ids(tokens)
        if not prompt:
            raise EmptyPromptError
        least_answer = 0 if params.max_tokens == 0 else 1
        if len(prompt) + least_answer > self._info.context_length:
            raise ContextLengthError(len(prompt), self._info.context_length)
        return prompt

    def _check_ids(self, tokens: Sequence[int]) -> list[int]:
        """The token ids as whole numbers of the vocabulary."""
        values = _listed("tokens", tokens, "Pass token ids: whole numbers")
        try:
            ids = list(map(operator.index, values))
        except TypeError:
            # The type of the first that is none, and not its value: that may be somebody's text.
            wrong = next(value for value in values if not hasattr(value, "__index__"))
            raise ConfigError("tokens", type(wrong).__name__, "Pass token ids: whole numbers") from None
        vocab_size = self._info.vocab_size
        if ids and (min(ids) < 0 or max(ids) >= vocab_size):
            position, token = next((i, t) for i, t in enumerate(ids) if not 0 <= t < vocab_size)
            raise InvalidTokenError(token, position, vocab_size)
        return ids


def _listed(field: str, values: Any, remedy: str) -> list[Any]:
    """``values`` as a list; a text is none."""
    if not isinstance(values, str | bytes):
        try:
            return list(values)
        except TypeError:
            pass
    raise ConfigError(field, type(values).__name__, remedy)


def _check_request(choices: int, priority: int, timeout: float | None) -> None:
    if isinstance(choices, bool) or not isinstance(choices, int) or not 1 <= choices <= MAX_CHOICES:
        raise ConfigError("choices", choices, f"Use a whole number from 1 to {MAX_CHOICES}")
    if isinstance(priority, bool) or not isinstance(priority, int):
        raise ConfigError("priority", priority, "Use a whole number; lower ones come first")
    if timeout is None:
        return
    if not isinstance(timeout, int | float) or isinstance(timeout, bool) or not timeout > 0:
        raise ConfigError("timeout", timeout, "Use a number of seconds above 0, or None")


def _check_namespace(namespace: object) -> None:
    if not isinstance(namespace, str):
        raise ConfigError("namespace", type(namespace).__name__, "Use a text; empty is one, too")


def _with_choice(
    on_event: Callable[[int, GenerationEvent], None], choice: int
) -> Callable[[GenerationEvent], None]:
    return lambda event: on_event(choice, event)
