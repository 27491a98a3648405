"""The byte tokenizer: bytes and control tokens, nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptcache_engine.models.errors import TokenizerError
from promptcache_engine.tokenizer import ByteTokenizer, Tokenizer

TOKENIZER: Tokenizer = ByteTokenizer()


@given(st.text())
def test_text_survives(text: str) -> None:
    ids = TOKENIZER.encode(text)
    assert TOKENIZER.decode(ids) == text
    assert b"".join(map(TOKENIZER.token_bytes, ids)) == text.encode()


def test_control_tokens_are_recognised_and_have_no_text() -> None:
    assert TOKENIZER.encode("é<|im_end|>x") == [0xC3, 0xA9, 258, ord("x")]
    assert TOKENIZER.decode([258, 97, 257]) == "a"
    assert TOKENIZER.token_text(258) == "<|im_end|>"
    assert TOKENIZER.token_text(97) == "<0x61>"
    assert TOKENIZER.eos_token_ids == (258,)
    assert TOKENIZER.vocab_size == 259


def test_half_a_character_is_replaced() -> None:
    assert TOKENIZER.decode([0xC3]) == "\ufffd"
    assert TOKENIZER.decode(TOKENIZER.encode("\ud800")) == "?"


@pytest.mark.parametrize("token", [-1, 259])
def test_ids_outside_the_vocabulary(token: int) -> None:
    with pytest.raises(TokenizerError, match="259"):
        TOKENIZER.token_bytes(token)


def test_there_is_no_beginning_token() -> None:
    assert TOKENIZER.bos_token_id is None
    assert not TOKENIZER.adds_bos
