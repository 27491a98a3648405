"""A template's placeholder is judged by what fills it, wherever that is known; else by its name."""

from __future__ import annotations

from textwrap import dedent

import pytest

from promptcache_lint import Settings, Severity, lint_text

RULES = (
    "Answer politely, in the language of the question. Never promise a table. Say so when you do not know."
)
TEMPLATES = {
    "SYSTEM": f"You are the butler of a house. The time is {{now}}. {RULES}",
    "WHO": f"You are the butler of {{user_name}}, turn {{turn_number}} of {{session_id}}, {{time}}. {RULES}",
    "MUSTACHE": f"You are the butler of a house. The time is {{{{now}}}}. {RULES}",
    "PERCENT": f"You are the butler of a house. The time is %(now)s. {RULES}",
    "DOLLAR": f"You are the butler of a house. The time is ${{now}}. {RULES}",
}

QUIET = {
    "format with a constant": 'SYSTEM.format(now="at noon")',
    "names that would convict": 'WHO.format(user_name="Anna", turn_number=1, session_id="demo", time="UTC")',
    "replace by hand": 'SYSTEM.replace("{now}", "noon")',
    "replace of a doubled brace": 'MUSTACHE.replace("{{now}}", "noon")',
    "percent with a dict": 'PERCENT % {"now": "noon"}',
    "string.Template": 'Template(DOLLAR).substitute(now="noon")',
    "a dict that is spread": 'SYSTEM.format(**{"now": "noon"})',
    "what a process knows once": "SYSTEM.format(now=STARTED)",
    "a text in one step and a placeholder in the next": 'SYSTEM.strip().replace("{now}", "noon").lower()',
}


def found(text: str) -> list[tuple[str, str, bool]]:
    """Code, severity and whether the source is known, of each finding but those on breakpoints."""
    report = lint_text(text, "prompt.py", Settings(severity=Severity.INFO))
    return [
        (finding.code, str(finding.severity), finding.source is not None)
        for finding in report.findings
        if finding.code[:3] != "PC6"
    ]


def used(expression: str) -> str:
    """A module that asks with ``expression`` as system prompt, in a function that says nothing of prompts."""
    template = next(name for name in TEMPLATES if name in expression)
    return f"""
from datetime import datetime
from string import Template
from openai import OpenAI
STARTED = datetime.now().isoformat()
{template} = "{TEMPLATES[template]}"
def ask(system, question):
    messages = [{{"role": "system", "content": system}}, *talk(), {{"role": "user", "content": question}}]
    return OpenAI().chat.completions.create(model="m", messages=messages)
def go(question, moment):
    return ask({expression}, question)
"""


@pytest.mark.parametrize("expression", QUIET.values(), ids=QUIET)
def test_known_values_convict_no_name(expression):
    assert [row for row in found(used(expression)) if row[0] != "PC110"] == []


def test_a_process_constant_is_information_and_nothing_else():
    assert found(used("SYSTEM.format(now=STARTED)")) == [("PC110", "info", True)]


@pytest.mark.parametrize(
    "expression",
    [
        "SYSTEM.format(now=datetime.now())",
        'SYSTEM.replace("{now}", datetime.now().isoformat())',
        'PERCENT % {"now": datetime.now()}',
        "Template(DOLLAR).substitute(now=datetime.now().isoformat())",
    ],
)
def test_a_clock_that_is_seen_has_its_source(expression):
    assert found(used(expression)) == [("PC101", "error", True)]


@pytest.mark.parametrize(
    "expression", ["SYSTEM.format(now=moment)", "SYSTEM.format(**moment)", "SYSTEM", "fill(SYSTEM)"]
)
def test_the_name_speaks_where_the_value_is_unknown(expression):
    assert found(used(expression)) == [("PC101", "warning", False)]


def test_the_name_speaks_where_one_use_is_not_seen():
    text = (
        used('SYSTEM.format(now="noon")') + "def other(question):\n    return ask(fill(SYSTEM), question)\n"
    )
    assert found(text) == [("PC101", "warning", False)]


def test_a_clock_in_one_use_is_found_beside_a_constant_in_another():
    text = (
        used('SYSTEM.format(now="noon")')
        + "def other(q):\n    return ask(SYSTEM.format(now=datetime.now()), q)\n"
    )
    assert found(text) == [("PC101", "error", True)]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('"noon"', []),
        ("STARTED", [("PC110", "info", True)]),
        ("moment", [("PC101", "warning", False)]),
        ("datetime.now()", [("PC101", "warning", True)]),
    ],
)
def test_partial_of_a_template_of_messages(value, expected):
    text = f"""
    from datetime import datetime
    from langchain_core.prompts import ChatPromptTemplate
    STARTED = datetime.now().isoformat()
    def chain(llm, moment):
        prompt = ChatPromptTemplate.from_messages(
            [("system", "You are a butler. The time is {{now}}. {RULES}"), ("human", "{{question}}")]
        )
        return prompt.partial(now={value}) | llm
    """
    assert found(dedent(text)) == expected


def test_a_variable_that_is_filled_step_by_step():
    text = f"""
    def build_system_prompt(kind):
        prompt = "You are a butler. It is {{now}} in {{place}}. {RULES}"
        prompt = prompt.replace("{{place}}", kind)
        prompt = prompt.replace("{{now}}", "noon")
        return prompt
    """
    assert found(dedent(text)) == []


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("datetime.now().year", []),
        ("f'{datetime.now().month}'", []),
        ("time.localtime().tm_year", []),
        ("datetime.now().day", [("PC109", "warning")]),
        ("datetime.now().hour", [("PC101", "warning")]),
        ("datetime.now().year + time.time()", [("PC101", "warning")]),
    ],
)
def test_a_part_of_a_clock_is_what_a_format_would_leave(written, expected):
    text = f"""
    import time
    from datetime import datetime
    def system_prompt():
        now = {written}
        return f"You are a butler. {{now}}. {RULES}"
    """
    assert [row[:2] for row in found(dedent(text))] == expected


REPEATED = """
import anthropic
GUIDE = {guide}
def ask(question, times):
    return anthropic.Anthropic().messages.create(
        model="claude-sonnet-4-5", max_tokens=90,
        system=[{{"type": "text", "text": {used}{mark}}}],
        messages=[{{"role": "user", "content": question}}])
"""
MARK = ', "cache_control": {"type": "ephemeral"}'


@pytest.mark.parametrize(
    ("guide", "used", "mark", "expected"),
    [
        ('"Name the pier twice. " * 3', "GUIDE", MARK, ["PC604"]),
        ('"Name the pier twice. " * 300', "GUIDE", MARK, []),
        ('300 * "Name the pier twice. "', "GUIDE", MARK, []),
        ('"Name the pier twice. "', "GUIDE * times", MARK, []),
        ('"Name the pier twice. " * 900', "GUIDE", "", ["PC602"]),
        ('"Name the pier twice. " * 3', "GUIDE", "", []),
    ],
)
def test_a_repeated_text_is_as_long_as_it_will_be(guide, used, mark, expected):
    text = REPEATED.format(guide=guide, used=used, mark=mark)
    report = lint_text(text, "prompt.py", Settings(severity=Severity.INFO))
    assert [finding.code for finding in report.findings] == expected
