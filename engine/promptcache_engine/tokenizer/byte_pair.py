"""Byte-level byte-pair encoding (GPT-2's kind), rebuilt from a GGUF file's vocabulary and merges.

How text is cut into words before merging is what ``tokenizer.ggml.pre`` names.
"""

from collections.abc import Iterable
from functools import cache

import tokenizers
from tokenizers import models, normalizers

from promptcache_engine.models.errors import ModelFileError, UnsupportedModelError
from promptcache_engine.tokenizer.vocabulary import TokenKind, Vocabulary
from promptcache_engine.tokenizer.vocabulary_tokenizer import COMPOSING_SHRINKS, VocabularyTokenizer
from promptcache_engine.tokenizer.words import WORD_RULES, WordRule


class BytePairTokenizer(VocabularyTokenizer):
    """A byte-level BPE tokenizer.

    A byte that the vocabulary has no token for (SmolLM2 lacks a few control characters) is dropped from the
    text, as the model's own tokenizer drops it.

    Raises:
        ModelFileError: a merge or a token contradicts the vocabulary.
        UnsupportedModelError: ``pre`` is not one of ``WORD_RULES``.
    """

    def __init__(self, vocabulary: Vocabulary, merges: Iterable[str], *, pre: str) -> None:
        _check_alphabet(vocabulary)
        ids = {token: index for index, token in enumerate(vocabulary.tokens)}
        pairs = _pairs(vocabulary.path, merges, ids)
        rule = _rule(vocabulary.path, pre)
        inner = tokenizers.Tokenizer(models.BPE(ids, pairs, ignore_merges=rule.whole_words))
        inner.pre_tokenizer = rule.pre_tokenizer()
        if rule.composes:
            inner.normalizer = normalizers.NFC()
            self._shrinks = COMPOSING_SHRINKS
        super().__init__(vocabulary, inner)

    def _dropped_bytes(self) -> bytes:
        known = set(self._vocabulary.tokens)
        return bytes(byte for character, byte in byte_alphabet().items() if character not in known)

    def _bytes_of(self, text: str, kind: int) -> bytes:
        if kind == TokenKind.USER_DEFINED:
            return text.encode()
        alphabet = byte_alphabet()
        return bytes(alphabet[character] for character in text)


@cache
def byte_alphabet() -> dict[str, int]:
    """GPT-2's printable character for each byte: itself where printable, otherwise one from U+0100 on."""
    plain = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + at): byte for at, byte in enumerate(others)}


def _rule(path: str, pre: str) -> WordRule:
    rule = WORD_RULES.get(pre)
    if rule is None:
        problem = f"the way {pre!r} of cutting words is not supported; {', '.join(WORD_RULES)} are"
        raise UnsupportedModelError(path, problem, where="key tokenizer.ggml.pre")
    return rule


def _pairs(path: str, merges: Iterable[str], ids: dict[str, int]) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for index, merge in enumerate(merges):
        left, _, right = merge.partition(" ")
        if left not in ids or right not in ids or left + right not in ids:
            problem = f"merge {index} joins tokens that the vocabulary does not have"
            raise ModelFileError(path, problem, where="key tokenizer.ggml.merges")
        pairs.append((left, right))
    return pairs


def _check_alphabet(vocabulary: Vocabulary) -> None:
    not_text = (TokenKind.CONTROL, TokenKind.UNKNOWN, TokenKind.USER_DEFINED)
    written = {
        index: text
        for index, (text, kind) in enumerate(zip(vocabulary.tokens, vocabulary.kinds, strict=True))
        if kind not in not_text
    }
    foreign = set("".join(written.values())) - byte_alphabet().keys()
    if foreign:
        index = next(index for index, text in written.items() if not foreign.isdisjoint(text))
        problem = f"token {index} is not written in the byte alphabet"
        raise ModelFileError(vocabulary.path, problem, where="key tokenizer.ggml.tokens")
