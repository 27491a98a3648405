"""Masked keys: equal for texts that differ in volatile values only, cheap the second time, bounded."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from promptcache_gateway.observe import masking
from promptcache_gateway.observe.masking import (
    HEAD_BUDGET,
    MESSAGE_BUDGET,
    Masker,
    pieces_of,
)
from promptcache_gateway.observe.texts import common_prefix, common_suffix
from tests.gateway.observe.scenes import rules_text

if TYPE_CHECKING:
    import pytest

RULES = rules_text(300)


def test_a_clock_does_not_change_the_key_and_a_word_does() -> None:
    masker = Masker()
    one, other = (f"{RULES[:5_000]}\nNow: 2026-11-29T12:00:0{n}Z\n{RULES[5_000:]}" for n in (1, 2))

    assert masker.key(one) == masker.key(other)
    assert masker.key(one) != masker.key(one.replace("customers", "clients", 1))


def test_what_has_no_volatile_value_has_one_key_whatever_the_budget() -> None:
    masker = Masker()
    for text in ("", "user\nWhere is it?", "one line. " * 900, RULES):
        assert len({masker.key(text, budget) for budget in (MESSAGE_BUDGET, HEAD_BUDGET)}) == 1


def test_a_masked_end_says_the_same_wherever_a_text_is_cut() -> None:
    masker, end = Masker(), "It is shipped. " * 200 + "\n" + "One more line.\n" * 20
    for front in ("", "A sentence. ", "Two. More. ", "x" * 3_000, "One.\nTwo. " * 500):
        assert masker.masked(front + end, 20_000) == front + end


def test_a_clock_in_one_long_line_does_not_change_the_key() -> None:
    masker = Masker()
    line = RULES.replace("\n", " ")
    one, other = (f"Now: 2026-11-29T12:00:0{n}Z. {line}" for n in (1, 2))

    assert masker.key(one) == masker.key(other)


def test_far_inside_a_long_text_values_count_as_they_stand() -> None:
    masker = Masker()
    lines = rules_text(1_500).split("\n")
    one, other = ("\n".join([*lines[:600], f"Now: 12:00:0{n}", *lines[600:]]) for n in (1, 2))

    assert masker.key(one) != masker.key(other)


def test_a_message_is_masked_at_its_beginning_and_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    real = masking.mask_volatile
    monkeypatch.setattr(masking, "mask_volatile", lambda text: looked.append(text) or real(text))
    line = "[2026-11-30 10:03:0{}] " + "one and another and " * 100 + "at 10:03:0{}"
    keys = [Masker().key(line.format(*at), MESSAGE_BUDGET) for at in ((1, 7), (2, 7), (1, 8))]

    assert (keys[0] == keys[1], keys[0] == keys[2]) == (True, False)
    assert {len(text) for text in looked} == {MESSAGE_BUDGET[0]}


def test_only_the_piece_that_changed_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    real = masking.mask_volatile
    monkeypatch.setattr(masking, "mask_volatile", lambda text: looked.append(text) or real(text))
    masker = Masker()
    masker.key("Now: 12:00:01\n" + RULES)
    first = len(looked)
    looked.clear()

    masker.key("Now: 12:00:02\n" + RULES)

    assert first > 20
    assert len(looked) == 1


def test_memory_is_bounded() -> None:
    masker = Masker(max_pieces=10, max_texts=5)
    for number in range(100):
        masker.key(f"text {number}\n" * 20)

    assert len(masker._pieces) <= 10
    assert len(masker._texts) <= 5


def test_digests_are_the_same_in_every_process() -> None:
    script = (
        "from promptcache_gateway.observe.masking import Masker;"
        "print(Masker().digests('Now: 12:00:01\\nBe kind.\\n' * 20))"
    )
    printed = {
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    }

    assert len(printed) == 1


@given(st.text())
def test_pieces_hold_the_whole_text(text: str) -> None:
    assert "".join(text.split()) == "".join("".join(pieces_of(text)).split())


@given(st.text())
def test_any_text_has_a_key(text: str) -> None:
    masker = Masker()
    assert masker.key(text, MESSAGE_BUDGET) == Masker().key(text, MESSAGE_BUDGET)
    assert masker.masked(text, 100) is not None


@given(st.text(alphabet="ab"), st.text(alphabet="ab"), st.text(alphabet="ab"))
def test_common_prefix_and_suffix(shared: str, one: str, other: str) -> None:
    plain = next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    assert common_prefix(shared + one, shared + other) == len(shared) + plain
    limit = min(len(one), len(other))
    assert (
        common_suffix(one[::-1] + shared, other[::-1] + shared, limit=limit + len(shared))
        == len(shared) + plain
    )


def test_common_prefix_of_long_texts() -> None:
    text = "x" * 20_000
    assert common_prefix(text + "a", text + "b") == 20_000
    assert common_prefix(text, text + "b") == 20_000
    assert common_prefix("", text) == 0
