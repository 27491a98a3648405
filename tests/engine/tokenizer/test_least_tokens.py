"""The number of tokens a text has at least, from its bytes alone: never more than it really has."""

import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache_engine import ContextLengthError, Engine, EngineConfig
from promptcache_engine.models.testing import tiny_model
from promptcache_engine.tokenizer import ByteTokenizer, Tokenizer
from promptcache_engine.tokenizer.sentence_piece import SentencePieceTokenizer
from tests.engine.tokenizer import test_byte_pair as byte_pair
from tests.engine.tokenizer import test_sentence_piece as sentence_piece

TOKENIZERS: tuple[Tokenizer, ...] = (
    byte_pair.TOKENIZER,
    byte_pair.build("smollm"),
    sentence_piece.TOKENIZER,
    ByteTokenizer(),
)
PIECES = st.sampled_from(
    ["<|im_end|>", "<|im_start|>", "<tool>", "License", " ", "\u2581", "\0", "漢", "\ud800", "</s>"]
)
TEXTS = st.lists(PIECES | st.text(max_size=8), max_size=12).map("".join) | st.builds(
    lambda piece, count: piece * count, PIECES, st.integers(0, 400)
)


@settings(max_examples=150)
@given(TEXTS)
def test_it_is_a_lower_bound(text: str) -> None:
    for tokenizer in TOKENIZERS:
        assert 0 <= tokenizer.least_tokens(text) <= len(tokenizer.encode(text))


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_it_grows_with_the_text(tokenizer: Tokenizer) -> None:
    assert tokenizer.least_tokens("") == 0
    assert tokenizer.least_tokens("word " * 20_000) > 1_000


def test_it_says_nothing_where_one_token_may_stand_for_any_text() -> None:
    reference = sentence_piece.REFERENCE
    kept = [index for index, token in enumerate(reference["tokens"]) if not token.startswith("<0x")]
    vocabulary = sentence_piece.vocabulary(
        tokens=[reference["tokens"][index] for index in kept],
        kinds=[reference["kinds"][index] for index in kept],
    )
    scores = [reference["scores"][index] for index in kept]
    tokenizer = SentencePieceTokenizer(vocabulary, scores, space_prefix=True)
    assert tokenizer.least_tokens("漢" * 5_000) == 0
    assert len(tokenizer.encode("漢" * 5_000)) < 5


def test_a_text_that_cannot_fit_is_refused_by_its_length() -> None:
    with Engine.from_loaded(tiny_model(), EngineConfig(model="tiny", kv_cache_tokens=64)) as engine:
        engine.check_length("x" * 64)
        with pytest.raises(
            ContextLengthError, match="has at least 77 tokens and the context holds 64"
        ) as caught:
            engine.check_length("x" * 1_000)
    assert (caught.value.prompt_tokens, caught.value.at_least) == (77, True)


def test_other_threads_run_while_a_long_text_is_encoded() -> None:
    text = "a long line of words that goes on and on. " * 12_000
    encoding = threading.Thread(target=byte_pair.TOKENIZER.encode, args=[text])
    ticks = 0
    begun = time.perf_counter()
    encoding.start()
    while encoding.is_alive():
        time.sleep(0.005)
        ticks += 1
    took = time.perf_counter() - begun
    assert ticks >= min(20, took / 0.05), f"{ticks} ticks in {took:.2f} s"


def test_a_long_text_has_the_tokens_of_its_lines() -> None:
    lines = [f" line {number} of a long text" for number in range(900)]
    pieces = [token for line in lines for token in byte_pair.TOKENIZER.encode(line)]
    assert byte_pair.TOKENIZER.encode("".join(lines)) == pieces
