"""A function that marks what its callers give it: each text is judged by itself, and told where it stands."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from promptcache_lint import Settings, Severity, lint_text

if TYPE_CHECKING:
    from collections.abc import Callable

ASK = """
import anthropic

client = anthropic.Anthropic()

def ask(system: str, question: str) -> str:
    answer = client.messages.create(
        model="claude-opus-4-5",
        max_tokens=500,
        system=[{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}],
        messages=[{"role": "user", "content": question}],
    )
    return answer.content[0].text
"""
CACHED = (
    ASK.replace(
        '[{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}]', "cached(system)"
    )
    + """
def cached(text):
    return [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]
"""
)
SHORT = """
def {name}(text: str) -> str:
    return ask({given}, text)
"""


def _callers(head: str, *given: str) -> str:
    return head + "".join(SHORT.format(name=f"task_{i}", given=each) for i, each in enumerate(given))


def _said(text: str) -> list[tuple[str, str, str]]:
    report = lint_text(dedent(text), "app.py", Settings(select=("PC604",), severity=Severity.INFO))
    rows = text.splitlines()
    return [(f.code, f.severity.name, rows[f.place.row - 1].strip()) for f in report.findings]


@pytest.mark.parametrize("head", [ASK, CACHED])
def test_each_short_text_is_told_where_it_is_given(head: str) -> None:
    assert _said(_callers(head, '"Translate into Danish."', '"Say who wrote it."')) == [
        ("PC604", "WARNING", 'return ask("Translate into Danish.", text)'),
        ("PC604", "WARNING", 'return ask("Say who wrote it.", text)'),
    ]


@pytest.mark.parametrize("head", [ASK, CACHED])
@pytest.mark.parametrize("other", ['open("manual.md").read()', '"Name the pier. " * 2000', "text"])
def test_beside_a_text_that_may_be_long_a_short_one_is_only_information(head: str, other: str) -> None:
    assert [row[:2] for row in _said(_callers(head, '"Translate into Danish."', other))] in (
        [("PC604", "INFO")],
        [],
    )


def test_a_mark_is_not_blamed_for_one_of_two_requests() -> None:
    text = (
        CACHED
        + """
def sell(question, manual):
    return client.messages.create(model="claude-opus-4-5", max_tokens=9, system=cached("You sell cars."),
                                  messages=[{"role": "user", "content": question}])

def explain(question, manual):
    return client.messages.create(model="claude-opus-4-5", max_tokens=9, system=cached(manual),
                                  messages=[{"role": "user", "content": question}])
"""
    )
    assert [(code, severity) for code, severity, row in _said(text)] == [("PC604", "INFO")]
    assert "You sell cars." in _said(text)[0][2]


def test_a_text_of_another_module_is_told_there(
    tree_codes: Callable[..., list[tuple[str, str, int]]],
) -> None:
    tasks = '''
        from llm import ask

        def translated(text):
            """Ask Claude."""
            return ask(f"You are an assistant that translates.", text)
    '''
    files = {"llm.py": ASK, "tasks.py": tasks}
    assert tree_codes(files) == []
    assert ("tasks.py", "PC604", 5) in tree_codes(files, severity=Severity.INFO)


REQUEST = """
import anthropic

client = anthropic.Anthropic()
SYSTEM = [{"type": "text", "text": "You sell cars.", "cache_control": {"type": "ephemeral"}}]

def ask(%s):
    return client.messages.create(model="claude-opus-4-5", max_tokens=9, %s)
"""


@pytest.mark.parametrize(
    ("parameters", "given", "expected"),
    [
        ("messages", "system=SYSTEM, messages=messages", ["WARNING"]),
        ("messages", "system=SYSTEM, messages=messages, tools=[]", ["WARNING"]),
        ("messages, tools", "system=SYSTEM, messages=messages, tools=tools", []),
        ("messages, find", "system=SYSTEM, messages=messages, tools=[find]", []),
        ("messages, **more", "system=SYSTEM, messages=messages, **more", []),
        ("old", 'messages=[*old, {"role": "user", "content": SYSTEM}]', []),
        ("old", 'messages=[{"role": "user", "content": SYSTEM}]', ["WARNING"]),
    ],
)
def test_what_stands_in_front_of_a_mark_counts(parameters: str, given: str, expected: list[str]) -> None:
    found = _said(REQUEST % (parameters, given))
    assert [severity for _, severity, _ in found] == expected
