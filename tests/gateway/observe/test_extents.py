"""Whatever the tokenizer and whatever is written: the true count lies between the two bounds."""

from __future__ import annotations

import hashlib
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache_gateway.observe.extents import (
    Extent,
    exactly,
    text_extent,
    usual_of_text,
    usual_tokens,
)
from promptcache_gateway.observe.masking import Masker
from promptcache_gateway.observe.prompt import Prompt, read_prompt
from promptcache_gateway.observe.tape import Tape
from tests.gateway.observe.scenes import rules_text
from tests.gateway.observe.traffic import Author
from tests.gateway.observe.written_provider import Tokenizer
from tests.gateway.observe.written_traffic import WRITINGS

TOKENIZERS = st.builds(Tokenizer, letters=st.integers(3, 8), digits=st.integers(1, 3), wide=st.integers(1, 2))
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "iVBOR" * 2_000}}


def read(*messages: dict[str, Any], **more: Any) -> Prompt:
    return read_prompt({"model": "m", "messages": list(messages), **more}, Masker())


@settings(max_examples=60)
@given(st.sampled_from(WRITINGS), st.integers(0, 10**6), st.integers(30, 4_000), TOKENIZERS)
def test_a_text_has_as_many_tokens_as_its_bounds_say(
    write: Any, seed: int, size: int, tokenizer: Tokenizer
) -> None:
    text = write(Author(seed), size)
    extent = text_extent(text.encode())

    assert extent.least <= len(tokenizer.cut(text)) <= extent.most


@settings(max_examples=60)
@given(st.text(max_size=300), TOKENIZERS)
def test_no_text_has_fewer_tokens_than_its_least(text: str, tokenizer: Tokenizer) -> None:
    text = text.encode("utf-8", "replace").decode()

    assert text_extent(text.encode()).least <= len(tokenizer.cut(text))


@pytest.mark.parametrize("text", [" " * 900, "\n" * 900, "=" * 900, "\n    " * 300])
def test_rows_of_one_character_may_be_few_tokens(text: str) -> None:
    assert text_extent(text.encode()).least <= len(text) / 16


def test_words_are_tokens_at_least() -> None:
    extent = text_extent(rules_text(40).encode())
    words = len(rules_text(40).split())

    assert words * 0.7 <= extent.least <= words
    assert extent.most < len(rules_text(40))


def test_rows_of_hexadecimal_may_have_a_token_for_every_byte() -> None:
    text = hashlib.sha256(b"1").hexdigest() * 20

    assert len(Tokenizer().cut(text)) > len(text) * 0.5
    assert text_extent(text.encode()).most >= len(text) * 0.95


@settings(max_examples=60)
@given(st.sampled_from(WRITINGS), st.integers(0, 10**6), st.integers(200, 4_000))
def test_what_a_text_has_as_a_rule_lies_within_its_bounds(write: Any, seed: int, size: int) -> None:
    data = write(Author(seed), size).encode()
    extent = text_extent(data)

    assert extent.least <= usual_of_text(data) <= extent.most


def test_a_kind_of_text_has_its_own_number_of_tokens_as_a_rule() -> None:
    rows = "1796000123,0.417263,88123\n" * 100
    assert usual_of_text(rows.encode()) > 2 * usual_of_text(rules_text()[: len(rows)].encode())
    assert usual_of_text("理起小物现".encode()) == pytest.approx(4.5)
    assert usual_of_text("Счёт".encode()) == pytest.approx(2.0)
    assert usual_of_text(b"") == 0.0


def test_a_tape_measures_from_place_to_place() -> None:
    prompt = read({"role": "system", "content": rules_text(20)}, {"role": "user", "content": "Who pays?"})
    tape = Tape(prompt)
    middle = prompt.offsets[1] // 2
    halves = Extent(*tape.between(0, middle)) + Extent(*tape.between(middle, prompt.offsets[1]))
    whole = Extent(*tape.between(0, prompt.offsets[1]))

    assert whole.least - 2 <= halves.least <= whole.least
    assert whole.most <= halves.most <= whole.most + 2
    assert tape.between(0)[1] > tape.between(0, prompt.offsets[-1])[1]
    assert tape.between(middle, middle) == (0.0, 0.0)


def test_a_picture_and_a_thought_have_any_number_of_tokens() -> None:
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    for part in (PICTURE, thought):
        prompt = read({"role": "assistant", "content": [part]}, {"role": "user", "content": "And?"})
        assert Tape(prompt).between(0, prompt.offsets[1]) == (0.0, math.inf)
        assert usual_tokens(prompt.segments[0]) == 1_000


def test_a_text_that_only_mentions_a_picture_is_a_text() -> None:
    prompt = read({"role": "user", "content": 'Write {"type":"image"} and nothing else, would you?'})

    assert Tape(prompt).between(0)[1] < 100


def test_what_contradicts_itself_is_left_open() -> None:
    assert exactly(5).within(exactly(9)) == Extent(5, 9)
    assert Extent(0, 9).within(Extent(4, 20)) == Extent(4, 9)
    assert exactly(100) - Extent(10, math.inf) == Extent(0, 90)
    assert not Extent(0, 40).agrees
    assert Extent(30, 40).agrees
