"""Log-probabilities in the shapes of OpenAI's two APIs."""

from __future__ import annotations

import codecs
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


class TokenPlaces:
    """Where the tokens of one answer begin in its text, told in the order in which they come.

    Places count characters. A character that several tokens make counts with the last of them: all of them
    begin where it stands.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")  # as the text is decoded
        self._reached = 0

    def take(self, chances: Sequence[TokenChance]) -> list[int]:
        """The places of the next tokens."""
        places: list[int] = []
        for each in chances:
            places.append(self._reached)
            self._reached += len(self._decoder.decode(each.chosen.data)) if each.chosen.written else 0
        return places


def text_logprobs(chances: Sequence[TokenChance], places: TokenPlaces) -> dict[str, Any]:
    """``logprobs`` of a completion's choice: parallel lists, empty ones where there is no token.

    Args:
        chances: of the tokens that are told now.
        places: of the choice, as far as its tokens were told before.
    """
    return {
        "tokens": [each.chosen.text for each in chances],
        "token_logprobs": [each.chosen.logprob for each in chances],
        "top_logprobs": [_rivals(each) for each in chances],
        "text_offset": places.take(chances),
    }


def _entry(chance: Chance) -> dict[str, Any]:
    return {"token": chance.text, "logprob": chance.logprob, "bytes": list(chance.data)}


def _rivals(chance: TokenChance) -> dict[str, float]:
    """The likeliest tokens by their text; of two that read the same the likelier counts."""
    rivals: dict[str, float] = {}
    for other in (*chance.top, chance.chosen):
        rivals.setdefault(other.text, other.logprob)
    return rivals
