"""How much is looked at grows no faster than a module."""

from __future__ import annotations

import pytest

from promptcache_lint import lint_text

HEAD = "from openai import OpenAI\n\nclient = OpenAI()\n"
ASKS = """
def pick(text):
    return "high" if "hard" in text else "low"

def ask(messages, text, reasoning, low):
    messages.append({{"role": "user", "content": text}})
    {given}
    answer = client.responses.create(model="m", input=messages, reasoning=reasoning)
    messages.append({{"role": "assistant", "content": answer.output_text}})
"""


def _codes(text: str) -> list[str]:
    return [found.code for found in lint_text(HEAD + text, "talk.py").findings]


@pytest.mark.parametrize(
    ("given", "codes"),
    [
        ('reasoning = {"effort": reasoning}', []),
        ('reasoning = {"effort": pick(text), "more": reasoning}', ["PC504"]),
        ('reasoning = {"effort": low}; low = {"summary": reasoning}', []),
        ("low = {1: low, 2: low}; reasoning = {1: low, 2: low}", []),
    ],
)
def test_a_value_may_stand_in_what_it_is_given_itself(given: str, codes: list[str]) -> None:
    assert _codes(ASKS.format(given=given)) == codes


def test_values_in_each_other_are_not_looked_into_again_and_again() -> None:
    rows = [f"a{n} = {{1: a{n + 1}, 2: a{n + 1}}}" for n in range(60)]
    assert _codes(ASKS.format(given="; ".join([*rows, "reasoning = {1: a0}"]))) == []
