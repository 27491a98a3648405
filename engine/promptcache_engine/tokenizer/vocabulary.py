"""A vocabulary, whatever file it came from: tokens, their kinds, and which of them have a role."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

_ENDS_OF_TURN = frozenset(
    ("<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>", "<|eom_id|>", "<|end|>", "<end_of_turn>")
)
"""Control tokens with which chat models end an answer; files often name only one of them."""


class TokenKind(IntEnum):
    """What a token is; the numbers are those of GGUF's ``tokenizer.ggml.token_type``."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """All tokens of a model by id.

    Attributes:
        path: the file, for errors.
        tokens: as the vocabulary writes them.
        kinds: one for each token; values of ``TokenKind``.
        bos_token_id: the token that begins a text, where there is one.
        eos_token_id: the token that the file says ends an answer, where it says so.
        eos_token_ids: all tokens that end an answer.
        adds_bos: whether a plain prompt begins with ``bos_token_id``.
    """

    path: str
    tokens: list[str]
    kinds: list[int]
    bos_token_id: int | None
    eos_token_id: int | None
    eos_token_ids: tuple[int, ...]
    adds_bos: bool

    def special_tokens(self) -> dict[str, str]:
        """Return the texts that chat templates know by name; a token the file does not name is left out."""
        roles = {"bos_token": self.bos_token_id, "eos_token": self.eos_token_id}
        return {name: self.tokens[index] for name, index in roles.items() if index is not None}


def answer_ends(tokens: list[str], kinds: list[int], named: Iterable[int | None]) -> tuple[int, ...]:
    """Return the ids that end an answer: those the file names, and control tokens known to mean that."""
    ends = {
        index
        for index, kind in enumerate(kinds)
        if kind == TokenKind.CONTROL and tokens[index] in _ENDS_OF_TURN
    }
    return tuple(sorted(ends | {index for index in named if index is not None}))
