"""What an engine tells about a request while it runs, and what it answers in the end.

``Admitted`` comes once, then any number of ``TokenDelta``, then exactly one of ``Finished`` and ``Failed``.
A request that ends while it still waits has no ``Admitted``.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Self, TypeAlias

from promptcache_engine.cache import AdmissionReason
from promptcache_engine.errors import EngineError

FinishReason: TypeAlias = Literal["stop", "length", "cancelled"]


@dataclass(frozen=True, slots=True)
class Admitted:
    """The request got its pages and is being computed.

    Attributes:
        prompt_tokens: tokens of the prompt.
        cached_tokens: how many of them were taken from the cache instead of computed.
        reason: why not more.
    """

    prompt_tokens: int
    cached_tokens: int
    reason: AdmissionReason


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """How likely the model itself found a token, before penalties, constraints and temperature.

    Attributes:
        token_id: the token that was chosen.
        logprob: natural logarithm of its probability.
        top: the likeliest tokens at its place and their log-probabilities, as many as were asked for.
    """

    token_id: int
    logprob: float
    top: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, slots=True)
class TokenDelta:
    """A piece of the answer: whole characters, never part of a stop string.

    Attributes:
        text: the piece; empty only in a last delta that carries tokens without text.
        token_ids: the tokens sampled since the last delta.
        logprobs: one for each of them that belongs to the text, so none for the end token or for tokens that
            begin in a stop string or behind its begin; one that begins before it and reaches into it has
            its own. Empty where they were not asked for.
    """

    text: str
    token_ids: tuple[int, ...]
    logprobs: tuple[TokenLogprob, ...] = ()


@dataclass(frozen=True, slots=True)
class Finished:
    """The request ended in good order and holds no pages any more.

    Attributes:
        finish_reason: ``stop`` (end token or stop string), ``length``, or ``cancelled``.
        prompt_tokens: tokens of the prompt.
        cached_tokens: those taken from the cache at first admission; 0 if it was never admitted.
        output_tokens: tokens sampled, the end token included.
        stop: the stop string that ended the answer; None where something else did.
    """

    finish_reason: FinishReason
    prompt_tokens: int
    cached_tokens: int
    output_tokens: int
    stop: str | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """The request could not be served to its end and holds no pages any more."""

    error: EngineError


GenerationEvent: TypeAlias = Admitted | TokenDelta | Finished | Failed


@dataclass(frozen=True, slots=True)
class Completion:
    """A whole answer, as ``Engine.generate`` returns it.

    Attributes:
        text: the answer without stop strings and end token.
        token_ids: the tokens sampled, the end token included.
        prompt_tokens: tokens of the prompt.
        cached_tokens: those taken from the cache.
        finish_reason: see ``Finished``.
        logprobs: see ``TokenDelta``.
    """

    text: str
    token_ids: tuple[int, ...]
    prompt_tokens: int
    cached_tokens: int
    finish_reason: FinishReason
    logprobs: tuple[TokenLogprob, ...] = ()

    @classmethod
    def of(cls, events: Iterable[GenerationEvent]) -> Self:
        """Put the events of one request together, up to its end.

        Raises:
            EngineError: why the request failed.
        """
        text: list[str] = []
        token_ids: list[int] = []
        logprobs: list[TokenLogprob] = []
        for event in events:
            match event:
                case TokenDelta():
                    text.append(event.text)
                    token_ids.extend(event.token_ids)
                    logprobs.extend(event.logprobs)
                case Failed():
                    raise event.error
                case Finished():
                    finished = event
                case Admitted():
                    pass
        return cls(
            "".join(text),
            tuple(token_ids),
            finished.prompt_tokens,
            finished.cached_tokens,
            finished.finish_reason,
            tuple(logprobs),
        )
