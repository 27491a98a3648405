"""SentencePiece tokenizers against sentencepiece itself (scripts/make_sentencepiece_reference.py)."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptcache_engine.models.errors import ModelFileError
from promptcache_engine.tokenizer.sentence_piece import SentencePieceTokenizer
from promptcache_engine.tokenizer.vocabulary import TokenKind, Vocabulary

REFERENCE = json.loads((Path(__file__).parent / "reference/sentencepiece.json").read_text(encoding="utf-8"))
MARKED = "\u2581"


def vocabulary(*, tokens: list[str] | None = None, kinds: list[int] | None = None) -> Vocabulary:
    return Vocabulary(
        path="model.gguf",
        tokens=tokens or REFERENCE["tokens"],
        kinds=kinds or REFERENCE["kinds"],
        bos_token_id=1,
        eos_token_id=2,
        eos_token_ids=(2,),
        adds_bos=True,
    )


def build(*, space_prefix: bool = True) -> SentencePieceTokenizer:
    return SentencePieceTokenizer(vocabulary(), REFERENCE["scores"], space_prefix=space_prefix)


TOKENIZER = build()


@pytest.mark.parametrize("case", REFERENCE["cut"], ids=lambda case: repr(case["text"])[:24])
def test_tokens_are_equal_to_sentencepieces(case: Mapping[str, Any]) -> None:
    assert TOKENIZER.encode(case["text"]) == case["ids"]


def test_the_reference_has_all_kinds() -> None:
    assert REFERENCE["kinds"].count(TokenKind.BYTE) == 256
    assert {TokenKind.NORMAL, TokenKind.UNKNOWN, TokenKind.CONTROL} < set(REFERENCE["kinds"])
    assert any(len(case["ids"]) > 30 for case in REFERENCE["cut"])


@given(st.text(st.characters(exclude_characters=MARKED, exclude_categories=["Cs"]), min_size=1))
def test_text_survives_behind_its_added_space(text: str) -> None:
    ids = TOKENIZER.encode(text)
    if "<s>" not in text and "</s>" not in text:
        assert TOKENIZER.decode(ids) == " " + text
    assert b"".join(map(TOKENIZER.token_bytes, ids)).decode() == TOKENIZER.decode(ids)


def test_no_space_is_added_where_the_file_says_so() -> None:
    plain = build(space_prefix=False)
    assert plain.decode(plain.encode("License")) == "License"
    assert plain.encode(" License") == TOKENIZER.encode("License")


def test_control_tokens_are_recognised_and_the_text_after_them_begins_anew() -> None:
    ids = TOKENIZER.encode("Work</s>License")
    assert ids == [*TOKENIZER.encode("Work"), 2, *TOKENIZER.encode("License")]
    assert TOKENIZER.token_bytes(2) == b""


def test_bytes_are_the_last_resort() -> None:
    ids = TOKENIZER.encode("世")[1:]
    assert [TOKENIZER.token_text(token) for token in ids] == ["<0xE4>", "<0xB8>", "<0x96>"]
    assert b"".join(map(TOKENIZER.token_bytes, ids)).decode() == "世"


def test_scores_must_fit() -> None:
    with pytest.raises(ModelFileError, match="1 scores") as caught:
        SentencePieceTokenizer(vocabulary(), [0.0], space_prefix=True)
    assert caught.value.where == "key tokenizer.ggml.scores"


def test_a_byte_piece_must_be_written_as_one() -> None:
    broken = vocabulary(tokens=["<0xZZ>"], kinds=[int(TokenKind.BYTE)])
    with pytest.raises(ModelFileError, match="<0xZZ>"):
        SentencePieceTokenizer(broken, [0.0], space_prefix=True)
