"""SentencePiece's byte-pair encoding (Llama 2's kind), rebuilt from a GGUF file's pieces and scores.

SentencePiece joins, again and again, the neighbours whose union has the best score. The ``tokenizers``
library wants a list of merges, so it is made here: each way to split a piece in two pieces, best piece first.
"""

import math
import re
from collections.abc import Sequence
from itertools import groupby

import tokenizers
from tokenizers import models, normalizers

from promptcache_engine.models.errors import ModelFileError
from promptcache_engine.tokenizer.vocabulary import TokenKind, Vocabulary
from promptcache_engine.tokenizer.vocabulary_tokenizer import VocabularyTokenizer

SPACE = "\u2581"
"""How pieces write a space."""

_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
_TEXT = (TokenKind.NORMAL, TokenKind.USER_DEFINED)


class SentencePieceTokenizer(VocabularyTokenizer):
    """A SentencePiece BPE tokenizer with bytes as the last resort.

    With ``space_prefix`` every stretch of text begins with a space that was not there, and ``decode`` shows
    it: a piece does not know whether its space was written or added.

    Raises:
        ModelFileError: the scores do not fit the pieces, or a byte piece is not written as one.
    """

    def __init__(self, vocabulary: Vocabulary, scores: Sequence[float], *, space_prefix: bool) -> None:
        if len(scores) != len(vocabulary.tokens) or any(map(math.isnan, scores)):
            problem = f"{len(scores)} scores do not fit {len(vocabulary.tokens)} pieces"
            raise ModelFileError(vocabulary.path, problem, where="key tokenizer.ggml.scores")
        ids = {token: index for index, token in enumerate(vocabulary.tokens)}
        unknown = next(
            (ids[t] for t, k in zip(ids, vocabulary.kinds, strict=True) if k == TokenKind.UNKNOWN), None
        )
        inner = tokenizers.Tokenizer(
            models.BPE(
                ids,
                _merges(vocabulary, scores),
                unk_token=None if unknown is None else vocabulary.tokens[unknown],
                fuse_unk=True,
                byte_fallback=has_byte_pieces(vocabulary),
            )
        )
        spaces = normalizers.Replace(" ", SPACE)
        inner.normalizer = (
            normalizers.Sequence([normalizers.Prepend(SPACE), spaces]) if space_prefix else spaces
        )
        super().__init__(vocabulary, inner)

    def _covered(self, text: str, stands_for: bytes) -> int:
        """A text may write ``SPACE`` out, which is three bytes."""
        return max(len(text.encode()), len(stands_for))

    def _dropped_bytes(self) -> bytes | None:
        return b"" if has_byte_pieces(self._vocabulary) else None

    def _bytes_of(self, text: str, kind: int) -> bytes:
        if kind == TokenKind.BYTE:
            return bytes.fromhex(text[3:5])
        return text.replace(SPACE, " ").encode()


def is_byte_piece(text: str) -> bool:
    """Whether a piece is written as one that stands for a byte: ``<0x0A>``."""
    return _BYTE.fullmatch(text) is not None


def has_byte_pieces(vocabulary: Vocabulary) -> bool:
    """Whether every byte has a piece; raises ModelFileError for one that is not written as ``<0x0A>``."""
    written = [
        text for text, kind in zip(vocabulary.tokens, vocabulary.kinds, strict=True) if kind == TokenKind.BYTE
    ]
    for text in written:
        if not is_byte_piece(text):
            problem = f"the byte piece {text!r} is not written as <0x00>"
            raise ModelFileError(vocabulary.path, problem, where="key tokenizer.ggml.tokens")
    return len(written) == 256


def _merges(vocabulary: Vocabulary, scores: Sequence[float]) -> list[tuple[str, str]]:
    """Ordered by the piece's score, then the longer left part, then that part's text."""
    tokens, texts = vocabulary.tokens, [i for i, kind in enumerate(vocabulary.kinds) if kind in _TEXT]
    texts.sort(key=scores.__getitem__, reverse=True)
    known = {tokens[index] for index in texts}
    merges: list[tuple[str, str]] = []
    for _, equal in groupby(texts, key=scores.__getitem__):
        pieces = [tokens[index] for index in equal]
        found = [
            (left, right)
            for piece in pieces
            for at in range(len(piece) - 1, 0, -1)
            if (left := piece[:at]) in known and (right := piece[at:]) in known
        ]
        if len(pieces) > 1:
            found.sort(key=lambda pair: (-len(pair[0]), pair[0], pair[1]))
        merges += found
    return merges
