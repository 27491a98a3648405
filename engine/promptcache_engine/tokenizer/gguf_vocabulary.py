"""The vocabulary as a GGUF file states it: tokens, their kinds, and which of them have a role.

How text is cut into these tokens is decided by the implementation chosen in ``from_gguf``.
"""

from dataclasses import dataclass
from enum import IntEnum

from promptcache_engine.gguf import GGUFFile
from promptcache_engine.models.errors import ModelFileError

_ENDS_OF_TURN = frozenset(
    ("<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>", "<|eom_id|>", "<|end|>", "<end_of_turn>")
)
"""Control tokens with which chat models end an answer; files often name only one of them."""


class TokenKind(IntEnum):
    """The values of ``tokenizer.ggml.token_type``."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """All tokens of a file by id.

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


def read_vocabulary(file: GGUFFile, *, adds_bos: bool) -> Vocabulary:
    """Read the tokens of ``file``; raise ModelFileError naming the key that is missing or inconsistent.

    ``adds_bos`` is the habit of the tokenizer's kind, for files that do not say.
    """
    metadata = file.metadata
    tokens = metadata.texts("tokenizer.ggml.tokens")
    if len(set(tokens)) != len(tokens):
        raise ModelFileError(file.path, "a token is listed twice", where="key tokenizer.ggml.tokens")
    kinds = [int(TokenKind.NORMAL)] * len(tokens)
    if "tokenizer.ggml.token_type" in metadata:
        kinds = metadata.numbers("tokenizer.ggml.token_type").tolist()
    if len(kinds) != len(tokens):
        problem = f"{len(kinds)} token types for {len(tokens)} tokens"
        raise ModelFileError(file.path, problem, where="key tokenizer.ggml.token_type")
    bos = _token_id(file, "bos", len(tokens))
    return Vocabulary(
        path=file.path,
        tokens=tokens,
        kinds=kinds,
        bos_token_id=bos,
        eos_token_id=_token_id(file, "eos", len(tokens)),
        eos_token_ids=_eos_token_ids(file, tokens, kinds),
        adds_bos=bos is not None and metadata.flag("tokenizer.ggml.add_bos_token", adds_bos),
    )


def _eos_token_ids(file: GGUFFile, tokens: list[str], kinds: list[int]) -> tuple[int, ...]:
    named = {_token_id(file, role, len(tokens)) for role in ("eos", "eot", "eom")} - {None}
    ends = {
        index
        for index, kind in enumerate(kinds)
        if kind == TokenKind.CONTROL and tokens[index] in _ENDS_OF_TURN
    }
    return tuple(sorted(ends | {index for index in named if index is not None}))


def _token_id(file: GGUFFile, role: str, count: int) -> int | None:
    key = f"tokenizer.ggml.{role}_token_id"
    if key not in file.metadata:
        return None
    index = file.metadata.integer(key)
    if not 0 <= index < count:
        raise ModelFileError(file.path, f"token id {index} is outside the {count} tokens", where=f"key {key}")
    return index
