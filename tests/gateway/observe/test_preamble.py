"""Which messages before a question are the same again, and which are another conversation's."""

from __future__ import annotations

from typing import Any

import pytest

from promptcache_gateway.observe.masking import Masker
from promptcache_gateway.observe.preamble import is_preamble_again
from promptcache_gateway.observe.reading import PromptReader
from tests.gateway.observe.scenes import chat, rules_text

KNOWN = rules_text(12)
ANSWER = rules_text(12, "answer")


def again(one: dict[str, Any], other: dict[str, Any]) -> bool:
    masker = Masker()
    reader = PromptReader(masker)
    return is_preamble_again(reader.read(one), reader.read(other), masker)


def stamped(minute: int, text: str = KNOWN, answer: str = "Ready.", *more: str) -> dict[str, Any]:
    return chat(
        "Be kind.", f"Now: 2026-11-29T12:{minute:02}:00Z\n{text}", answer, *more, f"Question {minute}?"
    )


def test_a_value_before_static_text_is_the_same_message_again() -> None:
    assert again(stamped(1), stamped(2))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (stamped(1), stamped(1)),  # nothing differs
        (stamped(1), stamped(2, KNOWN, "Ready.", "And?", "Yes.")),  # one talk is longer
        (stamped(1), stamped(2, KNOWN, "I am ready.")),  # the model said something else
        (stamped(1, "Hello!", ANSWER), stamped(2, "Hello!", ANSWER)),  # canned, long as it is
        (stamped(1, KNOWN), stamped(2, KNOWN.replace("refunds", "returns"))),  # another text besides
    ],
)
def test_two_conversations_are_not(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert not again(one, other)


@pytest.mark.parametrize(
    ("label", "values", "same"),
    [
        ("Session", ("4f9b2c1d8e7a6035", "9c0e1f2a3b4c5d6e"), True),
        ("Mood", ("calm", "angry"), False),
        ("Customer", ("Ann", "Bob"), False),
    ],
)
def test_only_values_of_a_known_kind_count(label: str, values: tuple[str, str], same: bool) -> None:
    one, other = (chat(None, f"{label}: {value}\n{KNOWN}", "Ready.", "And?") for value in values)
    assert again(one, other) is same
