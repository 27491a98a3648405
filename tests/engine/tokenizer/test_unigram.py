"""Unigram tokenizers against sentencepiece itself (scripts/make_sentencepiece_reference.py)."""

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptcache_engine.gguf import GGUFFile
from promptcache_engine.models.errors import ModelFileError
from promptcache_engine.tokenizer.from_gguf import tokenizer_from_gguf
from promptcache_engine.tokenizer.unigram import UnigramTokenizer
from promptcache_engine.tokenizer.vocabulary import TokenKind, Vocabulary
from tests.engine.gguf_files import floats, write_llama

REFERENCE = json.loads((Path(__file__).parent / "reference/unigram.json").read_text(encoding="utf-8"))
CHARSMAP = base64.b64decode(REFERENCE["charsmap"])


def vocabulary(kinds: list[int] | None = None) -> Vocabulary:
    return Vocabulary(
        "model.gguf", REFERENCE["tokens"], kinds or REFERENCE["kinds"], 1, 2, (2,), adds_bos=False
    )


TOKENIZER = UnigramTokenizer(vocabulary(), REFERENCE["scores"], charsmap=CHARSMAP)


@pytest.mark.parametrize("case", REFERENCE["cut"], ids=lambda case: repr(case["text"])[:24])
def test_tokens_are_equal_to_sentencepieces(case: Mapping[str, Any]) -> None:
    assert TOKENIZER.encode(case["text"]) == case["ids"]


def test_the_map_of_characters_and_the_squeezing_matter() -> None:
    plain = UnigramTokenizer(vocabulary(), REFERENCE["scores"], squeezes=False)
    assert plain.encode("a\ufb01x") != TOKENIZER.encode("a\ufb01x") == TOKENIZER.encode("afix")
    assert plain.encode("a  b") != TOKENIZER.encode("a  b") == TOKENIZER.encode(" a b ")


def test_a_gguf_file_carries_all_of_it(tmp_path: Path) -> None:
    metadata = {
        "tokenizer.ggml.model": "t5",
        "tokenizer.ggml.tokens": REFERENCE["tokens"],
        "tokenizer.ggml.token_type": REFERENCE["kinds"],
        "tokenizer.ggml.scores": floats(REFERENCE["scores"]),
        "tokenizer.ggml.precompiled_charsmap": list(CHARSMAP),
        "tokenizer.ggml.eos_token_id": 2,
    }
    path = write_llama(tmp_path / "model.gguf", metadata=metadata, without=("tokenizer.ggml.merges",))
    tokenizer, _ = tokenizer_from_gguf(GGUFFile(path))
    for case in REFERENCE["cut"]:
        assert tokenizer.encode(case["text"]) == case["ids"]
    assert tokenizer.eos_token_ids == (2,)


@given(st.text())
def test_any_text_is_cut_and_streams_token_by_token(text: str) -> None:
    ids = TOKENIZER.encode(text)
    assert b"".join(map(TOKENIZER.token_bytes, ids)).decode() == TOKENIZER.decode(ids)
    assert TOKENIZER.least_tokens(text) <= len(ids)


def test_control_tokens_written_out_are_recognised() -> None:
    assert 2 in TOKENIZER.encode("Work</s>License")


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ModelFileError, match="1 scores"):
        UnigramTokenizer(vocabulary(), [0.0])
    with pytest.raises(ModelFileError, match="unknown"):
        UnigramTokenizer(vocabulary([int(TokenKind.NORMAL)] * len(REFERENCE["kinds"])), REFERENCE["scores"])
    with pytest.raises(ModelFileError, match="map of characters"):
        UnigramTokenizer(vocabulary(), REFERENCE["scores"], charsmap=b"\xff\xff\xff\x7f")
