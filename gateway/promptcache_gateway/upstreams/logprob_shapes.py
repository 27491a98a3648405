"""Log-probabilities in the shapes of OpenAI's two APIs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache_gateway.upstreams.pieces import Chance, TokenChance


def chat_logprobs(chances: Sequence[TokenChance]) -> dict[str, Any]:
    """``logprobs`` of a chat's choice: text, bytes and log-probability of each token and of its rivals."""
    content = [
        {**_entry(each.chosen), "top_logprobs": [_entry(other) for other in each.top]} for each in chances
    ]
    return {"content": content, "refusal": None}


def text_logprobs(chances: Sequence[TokenChance], offset: int = 0) -> dict[str, Any]:
    """``logprobs`` of a completion's choice: parallel lists; ``offset`` is where the first token begins.

    Offsets count characters of the answer's text; a token that holds part of a character counts none.
    """
    offsets: list[int] = []
    for each in chances:
        offsets.append(offset)
        offset += text_length((each,))
    return {
        "tokens": [each.chosen.text for each in chances],
        "token_logprobs": [each.chosen.logprob for each in chances],
        "top_logprobs": [_rivals(each) for each in chances],
        "text_offset": offsets,
    }


def text_length(chances: Sequence[TokenChance]) -> int:
    """Characters of an answer's text that tokens stand for, one by one."""
    return sum(len(each.chosen.data.decode("utf-8", "ignore")) for each in chances)


def _entry(chance: Chance) -> dict[str, Any]:
    return {"token": chance.text, "logprob": chance.logprob, "bytes": list(chance.data)}


def _rivals(chance: TokenChance) -> dict[str, float]:
    """The likeliest tokens by their text; of two that read the same the likelier counts."""
    rivals: dict[str, float] = {}
    for other in (*chance.top, chance.chosen):
        rivals.setdefault(other.text, other.logprob)
    return rivals
