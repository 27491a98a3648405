"""How much is looked at grows no faster than a module: values in each other, helpers, tables of talks."""

from __future__ import annotations

import pytest

from promptcache_lint import lint_text
from promptcache_lint.readers.python.conversations.facts import Facts

HEAD = "import json\nfrom openai import OpenAI\n\nclient = OpenAI()\n"
ASKS = """
def pick(text):
    return "high" if "hard" in text else "low"

def ask(messages, text, reasoning, low):
    messages.append({{"role": "user", "content": text}})
    {given}
    answer = client.responses.create(model="m", input=messages, reasoning=reasoning)
    messages.append({{"role": "assistant", "content": answer.output_text}})
"""
TAKES = """
    def ask{n}(self, key, text):
        asked = [*self.talks[key][-10:], {{"role": "user", "content": text}}]
        return client.chat.completions.create(model="m", messages=asked)
"""
BLOCK = """
    if call.kind == {n}:
        return {{"arguments": json.dumps(json.loads(call.arguments))}}
"""
WRITES = """
def ask{n}(messages, answer):
    calls = [block(call) for call in answer.tool_calls]
    return client.chat.completions.create(model="m", messages=messages)
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


@pytest.mark.parametrize("kind", ["tables", "helpers"])
def test_what_is_known_of_other_functions_is_made_once(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    made = 0
    settle = Facts.__post_init__

    def counted(self: Facts) -> None:
        nonlocal made
        made += 1
        settle(self)

    monkeypatch.setattr(Facts, "__post_init__", counted)
    if kind == "tables":
        text = "class Bot:" + "".join(TAKES.format(n=n) for n in range(40))
    else:
        text = "def block(call):" + "".join(BLOCK.format(n=n) for n in range(40))
        text += "".join(WRITES.format(n=n) for n in range(40))
    assert _codes(text) == (["PC501"] * 40 if kind == "tables" else [])
    assert made < 200
