"""Byte-level byte-pair encoding (GPT-2's kind), rebuilt from a GGUF file's vocabulary and merges.

The merging itself is done by the ``tokenizers`` library; here its parts are chosen as the file's
``tokenizer.ggml.pre`` says.
"""

from collections.abc import Iterable
from functools import cache

import tokenizers
from tokenizers import AddedToken, models, pre_tokenizers

from promptcache_engine.models.errors import ModelFileError, TokenizerError, UnsupportedModelError
from promptcache_engine.tokenizer.base import join_bytes
from promptcache_engine.tokenizer.gguf_vocabulary import TokenKind, Vocabulary

PRE_TOKENIZERS = ("gpt-2", "smollm")
"""How text can be cut before merging: GPT-2's words, or the same with every digit alone."""


class BytePairTokenizer:
    """A byte-level BPE tokenizer; see ``Tokenizer`` for what its methods promise."""

    def __init__(self, vocabulary: Vocabulary, merges: Iterable[str], *, pre: str) -> None:
        self._vocabulary = vocabulary
        self._literal = frozenset(
            index for index, kind in enumerate(vocabulary.kinds) if kind == TokenKind.USER_DEFINED
        )
        self._control = frozenset(
            index
            for index, kind in enumerate(vocabulary.kinds)
            if kind in (TokenKind.CONTROL, TokenKind.UNKNOWN)
        )
        self._inner = self._build(merges, pre)

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
        """What the file says about plain prompts."""
        return self._vocabulary.adds_bos

    def encode(self, text: str) -> list[int]:
        """Return the ids of ``text``; lone surrogates, which no UTF-8 has, are read as question marks."""
        clean = text.encode("utf-8", errors="replace").decode("utf-8")
        return list(self._inner.encode(clean, add_special_tokens=False).ids)

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of ``ids``."""
        return join_bytes(self, ids)

    def token_bytes(self, token_id: int) -> bytes:
        """Return the bytes of one token, none for a control token."""
        text = self.token_text(token_id)
        if token_id in self._control:
            return b""
        if token_id in self._literal:
            return text.encode()
        alphabet = byte_alphabet()
        return bytes(alphabet[character] for character in text)

    def token_text(self, token_id: int) -> str:
        """Return the token in the vocabulary's own writing, for example ``Ġthe``."""
        if not 0 <= token_id < self.vocab_size:
            raise TokenizerError(
                f"token id {token_id} is outside the vocabulary of {self.vocab_size}",
                "Use ids that this model's tokenizer made",
            )
        return self._vocabulary.tokens[token_id]

    def _build(self, merges: Iterable[str], pre: str) -> tokenizers.Tokenizer:
        ids = {token: index for index, token in enumerate(self._vocabulary.tokens)}
        self._check_alphabet()
        inner = tokenizers.Tokenizer(models.BPE(ids, self._pairs(merges, ids)))
        inner.pre_tokenizer = self._pre_tokenizer(pre)
        for index in sorted(self._control | self._literal):
            token = AddedToken(
                self._vocabulary.tokens[index], normalized=False, special=index in self._control
            )
            inner.add_tokens([token])
        return inner

    def _pairs(self, merges: Iterable[str], ids: dict[str, int]) -> list[tuple[str, str]]:
        pairs: list[tuple[str, str]] = []
        for index, merge in enumerate(merges):
            left, _, right = merge.partition(" ")
            if left not in ids or right not in ids or left + right not in ids:
                raise ModelFileError(
                    self._vocabulary.path,
                    f"merge {index} joins tokens that the vocabulary does not have",
                    where="key tokenizer.ggml.merges",
                )
            pairs.append((left, right))
        return pairs

    def _check_alphabet(self) -> None:
        alphabet = byte_alphabet()
        for index, text in enumerate(self._vocabulary.tokens):
            plain = index not in self._control and index not in self._literal
            if plain and not alphabet.keys() >= set(text):
                raise ModelFileError(
                    self._vocabulary.path,
                    f"token {index} is not written in the byte alphabet",
                    where="key tokenizer.ggml.tokens",
                )

    def _pre_tokenizer(self, pre: str) -> pre_tokenizers.PreTokenizer:
        words = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
        if pre == "gpt-2":
            return words
        if pre == "smollm":
            return pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), words])
        raise UnsupportedModelError(
            self._vocabulary.path,
            f"pre-tokenizer {pre!r} is not supported; {' and '.join(PRE_TOKENIZERS)} are",
            where="key tokenizer.ggml.pre",
        )


@cache
def byte_alphabet() -> dict[str, int]:
    """GPT-2's printable character for each byte: itself where printable, otherwise one from U+0100 on."""
    plain = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + at): byte for at, byte in enumerate(others)}
