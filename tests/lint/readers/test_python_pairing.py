"""Assignments of several names at once: each name has its own value."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptcache_lint import Settings, lint_text
from promptcache_lint.readers.python.pairing import take_apart

GUIDE = """
import anthropic
RULES = "You are the voice of a museum guide."

class Guide:
    def __init__(self):
        self.client = anthropic.Anthropic()
        self.turns = []

    def hear(self, words):
        self.turns.append({"role": "user", "content": words})
        PAIR
        reply = self.client.messages.create(model="m", max_tokens=9, system=system, messages=history)
        self.turns.append({"role": "assistant", "content": reply.content})
        return reply
"""


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        ("system, history = RULES, self.turns[-10:]", ["PC501"]),
        ("(system, history) = [RULES, self.turns[-10:]]", ["PC501"]),
        ("system, (history, n) = RULES, (self.turns[-10:], 10)", ["PC501"]),
        ("system, history = RULES, self.turns", []),
        ("system, history, last = RULES, self.turns, self.turns[-10:]", []),
    ],
)
def test_a_window_among_other_values(pair, expected):
    found = lint_text(GUIDE.replace("PAIR", pair), "guide.py", Settings(select=("PC501",))).findings
    assert [finding.code for finding in found] == expected


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        ("a, b = 1, f(2)", "a = 1\nb = f(2)"),
        ("a.x, b = 1, 2", "a.x = 1\nb = 2"),
        ("a, b = b, a", "a, b = b, a"),
        ("a, b = 1, a.x", "a, b = (1, a.x)"),
        ("a, *b = 1, 2", "a, *b = (1, 2)"),
        ("a, b = c", "a, b = c"),
        ("x[0], x[1] = 1, 2", "x[0], x[1] = (1, 2)"),
        ("a = b, c = 1, 2", "a = b, c = (1, 2)"),
    ],
)
def test_only_what_says_the_same_is_taken_apart(pair, expected):
    tree = ast.parse(f"def f():\n    if x:\n        {pair}\n")
    take_apart(tree)
    assert ast.dump(tree) == ast.dump(ast.parse(f"def f():\n    if x:\n{_indented(expected)}\n"))


def _indented(text: str) -> str:
    return "\n".join(f"        {line}" for line in dedent(text).splitlines())


NAMES = st.sampled_from("abcd")


@given(st.lists(st.tuples(NAMES, NAMES), min_size=2, max_size=4, unique_by=lambda pair: pair[0]))
def test_the_names_are_bound_to_the_same_values(pairs):
    text = f"{', '.join(to for to, _ in pairs)} = {', '.join(value for _, value in pairs)}"
    tree = ast.parse(text)
    take_apart(tree)
    whole, apart = dict(zip("abcd", range(4), strict=True)), dict(zip("abcd", range(4), strict=True))
    exec(text, {}, whole)
    exec(compile(ast.fix_missing_locations(tree), "pairs", "exec"), {}, apart)
    assert whole == apart
