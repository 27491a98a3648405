"""Tokenizers of Hugging Face folders: the library's own ids, and the bytes, kinds and bounds beside them."""

import contextlib
import json
from collections.abc import Mapping
from typing import Any

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, processors

from promptcache_engine.models.errors import ModelFileError, UnsupportedModelError
from promptcache_engine.tokenizer.byte_pair import byte_alphabet
from promptcache_engine.tokenizer.hugging_face import HuggingFaceTokenizer
from tests.engine.gguf_files import MERGES
from tests.engine.tokenizer import test_sentence_piece as sentence_piece
from tests.engine.tokenizer import test_unigram as unigram

ROLES = {"bos_token": "<s>", "eos_token": "</s>"}


def byte_level(*, composes: bool = False, begins: bool = False) -> tokenizers.Tokenizer:
    """GPT-2's kind, as most newer models have it."""
    tokens = [*byte_alphabet(), *(merge.replace(" ", "") for merge in MERGES), "<s>", "</s>", "<think>"]
    pairs = [tuple(merge.split(" ")) for merge in MERGES]
    inner = tokenizers.Tokenizer(models.BPE({text: at for at, text in enumerate(tokens)}, pairs))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    inner.normalizer = normalizers.NFC() if composes else None
    inner.add_tokens([AddedToken(text, special=True, normalized=False) for text in ("<s>", "</s>")])
    inner.add_tokens([AddedToken("<think>", special=False, normalized=False)])
    if begins:
        special = [("<s>", inner.token_to_id("<s>"))]
        inner.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=special)
    return inner


def llama_2() -> tokenizers.Tokenizer:
    """SentencePiece's byte-pair encoding with bytes as the last resort, as transformers converts it."""
    inner = tokenizers.Tokenizer.from_str(sentence_piece.TOKENIZER._inner.to_str())
    inner.decoder = decoders.Sequence(
        [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return inner


def t5() -> tokenizers.Tokenizer:
    inner = tokenizers.Tokenizer.from_str(unigram.TOKENIZER._inner.to_str())
    inner.decoder = decoders.Metaspace()
    return inner


def build(inner: tokenizers.Tokenizer, vocab_size: int | None = None, **more: Any) -> HuggingFaceTokenizer:
    size = vocab_size or inner.get_vocab_size()
    return HuggingFaceTokenizer("tokenizer.json", inner.to_str(), vocab_size=size, roles=ROLES, **more)


BUILT = {
    "byte level": build(byte_level()),
    "composing": build(byte_level(composes=True)),
    "llama 2": build(llama_2()),
    "t5": build(t5()),
}
TEXTS = st.lists(
    st.sampled_from(["hello wor", "12", "</s>", "<think>", "\u1112\u1161\u11ab", "e\u0301", "License", "  "])
    | st.text(max_size=12)
).map("".join)


@pytest.mark.parametrize("kind", sorted(BUILT))
@settings(max_examples=60)
@given(text=TEXTS)
def test_bytes_stream_and_the_bound_holds(kind: str, text: str) -> None:
    tokenizer = BUILT[kind]
    ids = tokenizer.encode(text)
    assert b"".join(map(tokenizer.token_bytes, ids)).decode("utf-8", "replace") == tokenizer.decode(ids)
    assert tokenizer.least_tokens(text) <= len(ids)


@settings(max_examples=60)
@given(text=TEXTS)
def test_byte_level_text_survives(text: str) -> None:
    shown = text.replace("</s>", "").replace("<s>", "")
    assert BUILT["byte level"].decode(BUILT["byte level"].encode(text)) == shown


@pytest.mark.parametrize("case", sentence_piece.REFERENCE["cut"], ids=lambda case: repr(case["text"])[:24])
def test_a_converted_sentencepiece_model_cuts_as_sentencepiece(case: Mapping[str, Any]) -> None:
    assert BUILT["llama 2"].encode(case["text"]) == case["ids"]


def test_kinds_of_tokens() -> None:
    tokenizer = BUILT["byte level"]
    ids = tokenizer.encode("he</s><think>")
    assert [tokenizer.token_text(index) for index in ids] == ["he", "</s>", "<think>"]
    assert [tokenizer.token_bytes(index) for index in ids] == [b"he", b"", b"<think>"]
    assert tokenizer.token_text(tokenizer.eos_token_ids[0]) == "</s>"
    newline = BUILT["llama 2"].encode("\n")[-1]
    assert BUILT["llama 2"].token_bytes(newline) == b"\n"
    assert BUILT["t5"].least_tokens("word " * 500) == 0


def test_a_beginning_token_is_added_as_the_folder_says() -> None:
    assert not build(byte_level()).adds_bos
    assert build(byte_level(begins=True)).adds_bos
    assert not build(byte_level(begins=True), adds_bos=False).adds_bos
    assert build(byte_level(), adds_bos=True).adds_bos
    assert build(byte_level(begins=True)).encode("he") == build(byte_level()).encode("he")


def test_truncation_and_padding_of_the_file_are_ignored() -> None:
    inner = byte_level()
    inner.enable_truncation(2)
    inner.enable_padding(length=9)
    assert build(inner).encode("1234567") == build(byte_level()).encode("1234567")


def test_a_model_may_know_more_tokens_than_its_tokenizer_and_less_added_ones() -> None:
    known = byte_level().get_vocab_size()
    more = build(byte_level(), vocab_size=known + 5)
    assert (more.vocab_size, more.token_text(known + 4)) == (known + 5, f"[PAD{known + 4}]")
    assert more.token_bytes(known + 4) == b""
    inner = byte_level()
    inner.add_tokens([AddedToken("<image>", special=True, normalized=False)])
    assert max(build(inner, vocab_size=known).encode("a<image>b")) < known
    with pytest.raises(ModelFileError, match="the model knows"):
        build(byte_level(), vocab_size=100)


def test_what_is_not_supported_is_named() -> None:
    words = tokenizers.Tokenizer(models.WordPiece({"a": 0, "[UNK]": 1}, unk_token="[UNK]"))
    with pytest.raises(UnsupportedModelError, match="WordPiece") as caught:
        build(words)
    assert caught.value.where == "key model.type"
    silent = byte_level()
    silent.decoder = decoders.BPEDecoder()
    with pytest.raises(UnsupportedModelError) as caught:
        build(silent)
    assert caught.value.where == "key decoder"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"model": 3}', '{"model": {"type": "BPE"}}'])
def test_a_damaged_file_is_one_error(text: str) -> None:
    with pytest.raises(ModelFileError):
        HuggingFaceTokenizer("tokenizer.json", text, vocab_size=10, roles={})


@settings(max_examples=60)
@given(data=st.data())
def test_any_damage_is_one_error_or_none(data: st.DataObject) -> None:
    spec = json.loads(byte_level().to_str())
    key = data.draw(st.sampled_from(sorted(spec)))
    junk = st.none() | st.integers(-3, 3) | st.text(max_size=3) | st.just([]) | st.just({}) | st.just([3])
    spec[key] = data.draw(junk)
    with contextlib.suppress(ModelFileError):  # any other exception fails the test
        HuggingFaceTokenizer("tokenizer.json", json.dumps(spec), vocab_size=300, roles=ROLES)
