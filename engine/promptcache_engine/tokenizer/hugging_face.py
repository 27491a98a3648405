"""The tokenizer of a Hugging Face folder: its ``tokenizer.json``, as the ``tokenizers`` library reads it.

What is added is what the engine needs beside ids: which bytes a token stands for, which tokens are control
tokens, and how many tokens a text has at least.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import tokenizers

from promptcache_engine.models.errors import ModelFileError, UnsupportedModelError
from promptcache_engine.tokenizer.byte_pair import byte_alphabet
from promptcache_engine.tokenizer.sentence_piece import SPACE, is_byte_piece
from promptcache_engine.tokenizer.vocabulary import TokenKind, Vocabulary, answer_ends
from promptcache_engine.tokenizer.vocabulary_tokenizer import COMPOSING_SHRINKS, VocabularyTokenizer

_MODELS = ("BPE", "Unigram")
_PADDING = 1_000_000
"""Ids at most that only the model has; a vocabulary is padded by some hundreds."""
_KEEPING = {"ByteLevel", "Digits", "Metaspace", "Split"}
"""Steps of cutting that drop nothing (a Split may; see ``_keeps_all``)."""


class HuggingFaceTokenizer(VocabularyTokenizer):
    """A tokenizer read from the text of a ``tokenizer.json``.

    Args:
        path: the file, for errors.
        text: its content.
        vocab_size: tokens the model knows; ids that only the model has are named ``[PAD7]``, added tokens
            that only the tokenizer has are dropped.
        roles: the texts of ``bos_token`` and ``eos_token``, where the folder names them.
        eos_token_ids: ids that the folder says end an answer.
        adds_bos: whether a plain prompt begins with the first token; None: as the tokenizer itself does.

    Raises:
        ModelFileError: the file is damaged, or has more tokens than the model.
        UnsupportedModelError: a tokenizer that is neither BPE nor Unigram, or whose tokens are not bytes.
    """

    def __init__(
        self,
        path: str,
        text: str,
        *,
        vocab_size: int,
        roles: Mapping[str, str],
        eos_token_ids: tuple[int, ...] = (),
        adds_bos: bool | None = None,
    ) -> None:
        spec = _parse(path, text)
        inner = _build(path, text, spec, vocab_size)
        self._byte_level = _is_byte_level(path, spec)
        tokens, kinds = _tokens(path, spec, inner, vocab_size, has_byte_pieces=not self._byte_level)
        bos, eos = (inner.token_to_id(roles[name]) if name in roles else None for name in _ROLES)
        if adds_bos is None:
            adds_bos = inner.encode("").ids[:1] == [bos]
        vocabulary = Vocabulary(
            path=path,
            tokens=tokens,
            kinds=kinds,
            bos_token_id=bos,
            eos_token_id=eos,
            eos_token_ids=answer_ends(tokens, kinds, (*eos_token_ids, eos)),
            adds_bos=adds_bos and bos is not None,
        )
        self._keeps = _keeps_all(spec, byte_level=self._byte_level)
        self._shrinks = COMPOSING_SHRINKS if "NFC" in _types(spec.get("normalizer")) else 1
        super().__init__(vocabulary, inner, is_complete=True)

    def _covered(self, text: str, stands_for: bytes) -> int:
        return len(stands_for) if self._byte_level else max(len(text.encode()), len(stands_for))

    def _dropped_bytes(self) -> bytes | None:
        if not self._keeps:
            return None
        if not self._byte_level:
            return b"" if self._vocabulary.kinds.count(TokenKind.BYTE) == 256 else None
        known = set(self._vocabulary.tokens)
        return bytes(byte for character, byte in byte_alphabet().items() if character not in known)

    def _bytes_of(self, text: str, kind: int) -> bytes:
        if kind == TokenKind.BYTE:
            return bytes.fromhex(text[3:5])
        if kind in (TokenKind.USER_DEFINED, TokenKind.UNUSED):
            return b"" if kind == TokenKind.UNUSED else text.encode()
        if not self._byte_level:
            return text.replace(SPACE, " ").encode()
        alphabet = byte_alphabet()
        return b"".join(bytes((alphabet[char],)) if char in alphabet else char.encode() for char in text)


def _parse(path: str, text: str) -> dict[str, Any]:
    try:
        spec = json.loads(text)
        kind = spec["model"].get("type", "BPE")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ModelFileError(path, "is not a tokenizer.json", where="key model") from error
    if kind not in _MODELS:
        problem = f"tokenizers of type {kind!r} are not supported; {', '.join(_MODELS)} are"
        raise UnsupportedModelError(path, problem, where="key model.type")
    return dict(spec)


def _build(path: str, text: str, spec: Mapping[str, Any], vocab_size: int) -> tokenizers.Tokenizer:
    inner = _from_text(path, text)
    added = spec.get("added_tokens") or []
    kept = [token for token in added if token["id"] < vocab_size]
    if len(kept) < len(added):
        inner = _from_text(path, json.dumps({**spec, "added_tokens": kept}))
    inner.no_truncation()
    inner.no_padding()
    return inner


def _from_text(path: str, text: str) -> tokenizers.Tokenizer:
    try:
        return tokenizers.Tokenizer.from_str(text)
    except Exception as error:
        raise ModelFileError(path, f"the tokenizer cannot be built ({error})") from error


def _tokens(
    path: str,
    spec: Mapping[str, Any],
    inner: tokenizers.Tokenizer,
    vocab_size: int,
    *,
    has_byte_pieces: bool,
) -> tuple[list[str], list[int]]:
    """All tokens by id, and their kinds."""
    known = inner.get_vocab_size(with_added_tokens=True)
    if vocab_size > known + _PADDING:  # before anything of that size is made
        problem = f"has {known} tokens, and config.json says that the model knows {vocab_size}"
        raise ModelFileError(path, problem, where="key vocab_size")
    tokens = [f"[PAD{index}]" for index in range(vocab_size)]
    kinds = [int(TokenKind.UNUSED)] * vocab_size
    for token, index in inner.get_vocab(with_added_tokens=True).items():
        if index >= vocab_size:
            problem = f"token id {index} is not one of the {vocab_size} the model knows"
            raise ModelFileError(path, problem, where="key model.vocab")
        is_byte = has_byte_pieces and is_byte_piece(token)
        tokens[index], kinds[index] = token, TokenKind.BYTE if is_byte else TokenKind.NORMAL
    for index, added in inner.get_added_tokens_decoder().items():
        kinds[index] = TokenKind.CONTROL if added.special else TokenKind.USER_DEFINED
    index_of_unknown = spec["model"].get("unk_id")
    if index_of_unknown is None and (unknown := spec["model"].get("unk_token")) is not None:
        index_of_unknown = inner.token_to_id(unknown)
    if index_of_unknown is not None and kinds[index_of_unknown] != TokenKind.CONTROL:
        kinds[index_of_unknown] = TokenKind.UNKNOWN
    return tokens, kinds


_ROLES = ("bos_token", "eos_token")


def _is_byte_level(path: str, spec: Mapping[str, Any]) -> bool:
    found = _types(spec.get("decoder"))
    if "ByteLevel" in found:
        return True
    if found & {"ByteFallback", "Metaspace", "Replace"}:
        return False
    problem = f"a decoder of {', '.join(sorted(found)) or 'no'} steps is not supported"
    raise UnsupportedModelError(path, problem, where="key decoder")


_A_SPACE = {"String": " "}


def _keeps_all(spec: Mapping[str, Any], *, byte_level: bool) -> bool:
    """Whether every byte of a text is part of a token, so that their number has a lower bound."""
    harmless = {"NFC"} if byte_level else {"Prepend", "Replace"}
    normalizing = [
        step
        for step in _steps(spec.get("normalizer"))
        if step.get("type") not in harmless or step.get("pattern", _A_SPACE) != _A_SPACE
    ]
    cutting = _types(spec.get("pre_tokenizer")) - _KEEPING
    greedy = any(token.get("lstrip") or token.get("rstrip") for token in spec.get("added_tokens") or ())
    drops = any(step.get("behavior") == "Removed" for step in _steps(spec.get("pre_tokenizer")))
    return not (normalizing or cutting or greedy or drops)


def _types(part: Any) -> set[str]:
    return {str(step.get("type")) for step in _steps(part)}


def _steps(part: Any) -> Iterator[Mapping[str, Any]]:
    """The steps of a normalizer, pre-tokenizer or decoder, however they are nested."""
    if not isinstance(part, Mapping):
        return
    if part.get("type") != "Sequence":
        yield part
        return
    for key in ("normalizers", "pretokenizers", "decoders"):
        for step in part.get(key) or ():
            yield from _steps(step)
