"""SentencePiece's Unigram tokenizer (T5's kind), rebuilt from a GGUF file's pieces and scores.

It cuts a text into the pieces whose scores sum up to the most. Before that, text is normalized as the model
was trained: by a map of characters that the file carries, and by dropping spaces that say nothing.
"""

import math
from collections.abc import Sequence

import tokenizers
from tokenizers import Regex, models, normalizers

from promptcache_engine.gguf import GGUFFile
from promptcache_engine.models.errors import ModelFileError
from promptcache_engine.tokenizer.sentence_piece import SPACE, has_byte_pieces
from promptcache_engine.tokenizer.vocabulary import TokenKind, Vocabulary
from promptcache_engine.tokenizer.vocabulary_tokenizer import VocabularyTokenizer


class UnigramTokenizer(VocabularyTokenizer):
    """A Unigram tokenizer.

    Args:
        vocabulary: the pieces.
        scores: the logarithm of each piece's probability.
        charsmap: SentencePiece's precompiled map of characters; empty: text is taken as it is.
        space_prefix: text begins with a space that was not there.
        squeezes: runs of spaces become one, and those at the ends go.

    Raises:
        ModelFileError: the scores do not fit the pieces, no piece stands for the unknown, or the map is
            damaged.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        scores: Sequence[float],
        *,
        charsmap: bytes = b"",
        space_prefix: bool = True,
        squeezes: bool = True,
    ) -> None:
        if len(scores) != len(vocabulary.tokens) or any(map(math.isnan, scores)):
            problem = f"{len(scores)} scores do not fit {len(vocabulary.tokens)} pieces"
            raise ModelFileError(vocabulary.path, problem, where="key tokenizer.ggml.scores")
        if TokenKind.UNKNOWN not in vocabulary.kinds:
            problem = "no piece stands for the unknown"
            raise ModelFileError(vocabulary.path, problem, where="key tokenizer.ggml.token_type")
        unknown = vocabulary.kinds.index(TokenKind.UNKNOWN)
        pieces = [
            (token, score if kind in (TokenKind.NORMAL, TokenKind.USER_DEFINED) else _NEVER)
            for token, kind, score in zip(vocabulary.tokens, vocabulary.kinds, scores, strict=True)
        ]
        model = models.Unigram(pieces, unk_id=unknown, byte_fallback=has_byte_pieces(vocabulary))
        inner = tokenizers.Tokenizer(model)
        steps: list[normalizers.Normalizer] = []
        if charsmap:
            steps.append(_charsmap(vocabulary.path, charsmap))
        if squeezes:
            steps += [
                normalizers.Replace(Regex(r"\A +| +\z"), ""),
                normalizers.Replace(Regex(" {2,}"), " "),
            ]
        steps += [normalizers.Prepend(SPACE)] if space_prefix else []
        inner.normalizer = normalizers.Sequence([*steps, normalizers.Replace(" ", SPACE)])
        super().__init__(vocabulary, inner)

    def _dropped_bytes(self) -> bytes | None:
        return None

    def _bytes_of(self, text: str, kind: int) -> bytes:
        if kind == TokenKind.BYTE:
            return bytes.fromhex(text[3:5])
        return text.replace(SPACE, " ").encode()


_NEVER = -1e9
"""The score of a piece that no text is cut into."""


def unigram_from_gguf(file: GGUFFile, vocabulary: Vocabulary) -> UnigramTokenizer:
    """Build the tokenizer of a file whose ``tokenizer.ggml.model`` is ``t5``; see ``UnigramTokenizer``."""
    metadata = file.metadata
    charsmap = b""
    if "tokenizer.ggml.precompiled_charsmap" in metadata:
        charsmap = metadata.numbers("tokenizer.ggml.precompiled_charsmap").astype("u1").tobytes()
    return UnigramTokenizer(
        vocabulary,
        metadata.numbers("tokenizer.ggml.scores").tolist(),
        charsmap=charsmap,
        space_prefix=metadata.flag("tokenizer.ggml.add_space_prefix", default=True),
        squeezes=metadata.flag("tokenizer.ggml.remove_extra_whitespaces", default=True),
    )


def _charsmap(path: str, charsmap: bytes) -> normalizers.Normalizer:
    try:
        return normalizers.Precompiled(charsmap)
    except Exception as error:
        problem = f"the map of characters is damaged ({error})"
        raise ModelFileError(path, problem, where="key tokenizer.ggml.precompiled_charsmap") from error
