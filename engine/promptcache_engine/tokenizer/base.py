"""What the engine needs of a tokenizer; implementations are beside this module."""

from collections.abc import Iterable
from typing import Protocol


class Tokenizer(Protocol):
    """Maps text to token ids and token ids to bytes.

    ``decode(ids)`` is always the UTF-8 reading of ``token_bytes`` of its ids in order, so text that is
    streamed token by token ends equal to the text decoded at once. Control tokens (such as
    ``<|im_end|>``) have no bytes: they steer the model and are not part of its text.
    """

    @property
    def vocab_size(self) -> int:
        """Ids run from 0 to one below this."""

    @property
    def eos_token_ids(self) -> tuple[int, ...]:
        """Ids that end an answer."""

    @property
    def bos_token_id(self) -> int | None:
        """The id that begins a text, where the model has one."""

    @property
    def adds_bos(self) -> bool:
        """Whether a plain prompt (not one rendered by a chat template) should begin with ``bos_token_id``."""

    def encode(self, text: str) -> list[int]:
        """Return the ids of ``text``; control tokens written out in it are recognised, none is added."""

    def least_tokens(self, text: str) -> int:
        """Return a number that ``len(encode(text))`` is never below, from the length of ``text`` alone."""

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of ``ids``; bytes that are no UTF-8 become U+FFFD."""

    def token_bytes(self, token_id: int) -> bytes:
        """Return the bytes one token stands for; raise TokenizerError for an id outside the vocabulary."""

    def token_text(self, token_id: int) -> str:
        """Return how the vocabulary writes the token, control tokens included."""


def join_bytes(tokenizer: Tokenizer, ids: Iterable[int]) -> str:
    """Decode ``ids`` as the UTF-8 reading of their bytes."""
    return b"".join(map(tokenizer.token_bytes, ids)).decode("utf-8", errors="replace")
