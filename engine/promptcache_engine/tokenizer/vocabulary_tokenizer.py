"""What tokenizers built from a file's vocabulary share; how text is cut is left to their kind.

The cutting itself is done by the ``tokenizers`` library.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import cached_property

import tokenizers
from tokenizers import AddedToken

from promptcache_engine.models.errors import TokenizerError
from promptcache_engine.tokenizer.base import join_bytes
from promptcache_engine.tokenizer.vocabulary import TokenKind, Vocabulary

_LONG_TEXT = 4_096
"""Characters from which on a text is encoded as a batch: only that lets other threads run meanwhile."""

COMPOSING_SHRINKS = 3
"""How many times shorter Unicode's composed form (NFC) can be, in UTF-8: three Hangul letters are one."""


class VocabularyTokenizer(ABC):
    """A tokenizer over a ``Vocabulary``; see ``Tokenizer`` for what its methods promise."""

    _shrinks = 1
    """How many times shorter text can become before it is cut."""

    def __init__(
        self, vocabulary: Vocabulary, inner: tokenizers.Tokenizer, *, is_complete: bool = False
    ) -> None:
        """``is_complete``: ``inner`` knows control and user-defined tokens already."""
        self._vocabulary = vocabulary
        self._inner = inner
        if is_complete:
            return
        added = (TokenKind.CONTROL, TokenKind.USER_DEFINED)
        inner.add_tokens(  # all at once: each call builds the whole matcher anew
            [
                AddedToken(text, normalized=False, special=kind == TokenKind.CONTROL)
                for text, kind in zip(vocabulary.tokens, vocabulary.kinds, strict=True)
                if kind in added
            ]
        )

    @property
    def vocab_size(self) -> int:
        """Ids run from 0 to one below this."""
        return len(self._vocabulary.tokens)

    @property
    def eos_token_ids(self) -> tuple[int, ...]:
        """Ids that end an answer."""
        return self._vocabulary.eos_token_ids

    @property
    def bos_token_id(self) -> int | None:
        """The id that begins a text, where the file names one."""
        return self._vocabulary.bos_token_id

    @property
    def adds_bos(self) -> bool:
        """Whether a plain prompt begins with it."""
        return self._vocabulary.adds_bos

    def encode(self, text: str) -> list[int]:
        """Return the ids of ``text``; lone surrogates, which no UTF-8 has, are read as question marks."""
        clean = text.encode("utf-8", errors="replace").decode("utf-8")
        if len(clean) < _LONG_TEXT:
            return list(self._inner.encode(clean, add_special_tokens=False).ids)
        return list(self._inner.encode_batch_fast([clean], add_special_tokens=False)[0].ids)

    def least_tokens(self, text: str) -> int:
        """Return the bytes of ``text`` that no encoding drops, divided by those of the longest token."""
        dropped = self._dropped_bytes()
        if dropped is None:
            return 0
        kept = text.encode("utf-8", errors="replace").translate(None, dropped)
        return -(-len(kept) // (self._longest * self._shrinks))

    @cached_property
    def _longest(self) -> int:
        """Bytes of text that one token stands for at most; control tokens count as they are written."""
        kinds = self._vocabulary.kinds
        return max(
            len(text.encode())
            if kinds[token] in (TokenKind.CONTROL, TokenKind.USER_DEFINED)
            else self._covered(text, self.token_bytes(token))
            for token, text in enumerate(self._vocabulary.tokens)
        )

    def _covered(self, text: str, stands_for: bytes) -> int:  # noqa: ARG002 - other kinds look at it
        """Return how many bytes of text a token can have been made from."""
        return max(1, len(stands_for))

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of ``ids``."""
        return join_bytes(self, ids)

    def token_bytes(self, token_id: int) -> bytes:
        """Return the bytes of one token, none for a control token or the unknown token."""
        text, kind = self.token_text(token_id), self._vocabulary.kinds[token_id]
        return b"" if kind in (TokenKind.CONTROL, TokenKind.UNKNOWN) else self._bytes_of(text, kind)

    def token_text(self, token_id: int) -> str:
        """Return the token in the vocabulary's own writing, for example ``Ġthe``."""
        if not 0 <= token_id < self.vocab_size:
            raise TokenizerError(
                f"token id {token_id} is outside the vocabulary of {self.vocab_size}",
                "Use ids that this model's tokenizer made",
            )
        return self._vocabulary.tokens[token_id]

    @abstractmethod
    def _dropped_bytes(self) -> bytes | None:
        """Return the bytes that may have no token of their own; None where any text may become one token."""

    @abstractmethod
    def _bytes_of(self, text: str, kind: int) -> bytes:
        """Return what a token that is part of the text stands for."""
