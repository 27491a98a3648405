"""What an engine tells of one answer while it runs, in the gateway's words; plain frozen values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Chance:
    """One token and the natural logarithm of its probability.

    Attributes:
        text: the token, or the name of one that stands for no text.
        data: its bytes, or its name's.
        logprob: the logarithm.
        written: whether it stands for text.
    """

    text: str
    data: bytes
    logprob: float
    written: bool = True


@dataclass(frozen=True, slots=True)
class TokenChance:
    """A token of the answer's text, beside the likeliest ones at its place."""

    chosen: Chance
    top: tuple[Chance, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of one choice's text.

    Attributes:
        choice: the choice's number.
        text: the piece, possibly empty.
        token_ids: the tokens sampled since the last piece.
        chances: of those that belong to the text, where they were asked for.
    """

    choice: int
    text: str
    token_ids: tuple[int, ...] = ()
    chances: tuple[TokenChance, ...] = ()


@dataclass(frozen=True, slots=True)
class End:
    """How one choice ended in good order; counts are tokens, and the prompt's are those of the request.

    ``stop`` is the stop string that ended it, where one did.
    """

    choice: int
    finish_reason: str
    prompt_tokens: int
    cached_tokens: int
    output_tokens: int
    stop: str | None = None


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a caller wants to see beside the text.

    Attributes:
        usage: chunks carry ``"usage": null`` and a last one the numbers.
        logprobs: log-probabilities.
        prompt_token_ids: the prompt's ids, where ids were asked for; those of the answer come with them.
        echo: the prompt's text, where it is to stand before the answer's.
    """

    usage: bool = False
    logprobs: bool = False
    prompt_token_ids: tuple[int, ...] | None = None
    echo: str = ""
