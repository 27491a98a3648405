"""What the engine tells of a prompt and of a token, in the gateway's words.

The engine's values are known by their fields alone, and its tokenizer by two verbs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from promptcache_gateway.exchange import EngineFacts
from promptcache_gateway.upstreams.pieces import Chance, TokenChance

if TYPE_CHECKING:
    from collections.abc import Sequence


class TokenNames(Protocol):
    """A tokenizer, as far as it is needed here."""

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes of a token; none for a control token."""
        ...

    def token_text(self, token_id: int) -> str:
        """How the vocabulary writes it."""
        ...


def facts_of(admitted: Any) -> EngineFacts:
    """The facts of an admission: its counts and the reasons for what was not cached."""
    reason = admitted.reason
    return EngineFacts(
        prompt_tokens=admitted.prompt_tokens,
        cached_tokens=admitted.cached_tokens,
        reused=reason.reused,
        evicted=reason.evicted,
        isolated=reason.isolated,
        granularity=reason.granularity,
        window=reason.window,
        diverged_at=reason.diverged_at,
    )


def chances_of(tokenizer: TokenNames, logprobs: Sequence[Any]) -> tuple[TokenChance, ...]:
    """Log-probabilities with the tokens' texts and bytes."""
    return tuple(
        TokenChance(
            _chance(tokenizer, each.token_id, each.logprob),
            tuple(_chance(tokenizer, token, logprob) for token, logprob in each.top),
        )
        for each in logprobs
    )


def _chance(tokenizer: TokenNames, token: int, logprob: float) -> Chance:
    """A control token, which has no bytes of its own, goes by its name."""
    own = tokenizer.token_bytes(token)
    data = own or tokenizer.token_text(token).encode()
    return Chance(data.decode("utf-8", "replace"), data, logprob, written=bool(own))
