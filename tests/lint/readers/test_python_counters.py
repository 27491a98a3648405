"""Counters that are seen to count from call to call, and numbers that are not."""

from __future__ import annotations

import re
from textwrap import dedent

import pytest

from promptcache_lint import Settings, Severity, lint_text

CLERK = "You are the clerk of a ferry line. Answer politely, and in one sentence at most."

FOUND = {
    "next of a count": (
        f"""
        import itertools
        numbers = itertools.count(1)
        def system_prompt():
            return f"{CLERK} Request {{next(numbers)}}."
        """,
        [("PC107", "error")],
    ),
    "next of a count of the object": (
        f"""
        from itertools import count
        class Agent:
            def __init__(self):
                self.numbers = count()
            def system_prompt(self):
                return f"{CLERK} Request {{next(self.numbers)}}."
        """,
        [("PC107", "error")],
    ),
    "a global that is stepped": (
        f"""
        calls = 0
        def system_prompt():
            global calls
            calls += 1
            return f"{CLERK} Request {{calls}}."
        """,
        [("PC107", "error")],
    ),
    "a global that is stepped now and then": (
        f"""
        calls = 0
        def system_prompt(again):
            global calls
            if not again:
                calls += 1
            return f"{CLERK} Request {{calls}}."
        """,
        [("PC107", "warning")],
    ),
    "a global that another function steps": (
        f"""
        calls = 0
        def called():
            global calls
            calls += 1
        def system_prompt():
            return f"{CLERK} Request {{calls}}."
        """,
        [("PC107", "warning")],
    ),
    "an attribute that is stepped": (
        f"""
        class Agent:
            def __init__(self):
                self.talk = 0
            def system_prompt(self):
                self.talk += 1
                return f"{CLERK} Talk {{self.talk}}."
        """,
        [("PC107", "error")],
    ),
    "an attribute that another method steps": (
        f"""
        class Agent:
            def __init__(self):
                self.talk = 0
            def listen(self):
                self.talk += 1
            def system_prompt(self):
                return f"{CLERK} Talk {{self.talk}}."
        """,
        [("PC107", "warning")],
    ),
    "once when the module is loaded": (
        f"""
        import itertools
        numbers = itertools.count(1)
        SYSTEM_PROMPT = f"{CLERK} Request {{next(numbers)}}."
        """,
        [("PC110", "info")],
    ),
    "a count that begins anew in each call": (
        f"""
        import itertools
        def system_prompt():
            numbers = itertools.count(1)
            return f"{CLERK} {{next(numbers)}}. Be brief. {{next(numbers)}}. Be kind."
        """,
        [],
    ),
    "a variable of the function": (
        f"""
        def system_prompt(rules):
            text, n = "{CLERK}", 0
            for rule in rules:
                n += 1
                text += f"{{n}}. {{rule}}"
            return text
        """,
        [],
    ),
    "an attribute that is set anew in each call": (
        f"""
        class Agent:
            def system_prompt(self, rules):
                self.lines = 0
                text = "{CLERK}"
                for rule in rules:
                    self.lines += 1
                    text += f"{{self.lines}}. {{rule}}"
                return text
        """,
        [],
    ),
    "an attribute that grows by what it is given": (
        f"""
        class Agent:
            def __init__(self):
                self.rules = ""
            def add(self, rule):
                self.rules += rule
            def system_prompt(self):
                return f"{CLERK} {{self.rules}}"
        """,
        [],
    ),
    "next of anything else": (
        f"""
        def system_prompt(styles):
            return f"{CLERK} Style: {{next(iter(styles))}}."
        """,
        [],
    ),
    "a counter in the newest message": (
        f"""
        import itertools
        import openai
        numbers = itertools.count(1)
        def ask(question):
            messages = [{{"role": "system", "content": "{CLERK}"}},
                        {{"role": "user", "content": f"{{question}} ({{next(numbers)}})"}}]
            return openai.chat.completions.create(model="m", messages=messages)
        """,
        [],
    ),
}


def _sent(text: str) -> str:
    """The module with what it returns sent instead, at the head of a conversation."""
    sent = r'return client.messages.create(model="m", messages=[{"role": "system", "content": \1}, *talk])'
    return re.sub(r'return (f".*")', sent, text)


@pytest.mark.parametrize(("text", "expected"), FOUND.values(), ids=FOUND)
def test_counters(text, expected):
    report = lint_text(_sent(dedent(text)), "prompt.py", Settings(severity=Severity.INFO))
    assert [(finding.code, str(finding.severity)) for finding in report.findings] == expected


RULES = "Answer in the language of the customer, briefly, and never promise a refund. " * 8


def requested(said, newest=""):
    return (
        "from openai import OpenAI\nclient = OpenAI()\n"
        "def ask(self, messages, tools, last, usage, price, used):\n"
        f'    system = f"{said} {RULES}"\n    talk = [{{"role": "system", "content": system}}, *messages]\n'
        f'    talk.append({{"role": "user", "content": f"Go on. {newest}"}})\n'
        '    return client.chat.completions.create(model="gpt-4.1", messages=talk)\n'
    )


@pytest.mark.parametrize(
    "figure",
    [
        *(
            "{len(messages)}",
            "{len(self.history) // 2}",
            "{usage.total_tokens}",
            "{last.usage.prompt_tokens}",
        ),
        *("{usage.total_tokens * price:.4f}", "{used}", "{100 - used}", "{str(len(messages))}"),
    ],
)
def test_figures_of_usage_and_of_a_conversation(codes, figure):
    assert codes(requested(f"So far: {figure}."), "app.py") == [("PC107", 4)]
    assert codes(requested("Hello.", figure), "app.py") == []


@pytest.mark.parametrize("figure", ["{len(tools)}", "{max_tokens}", "{price * 2}", "{len('messages')}"])
def test_figures_of_other_things(codes, figure):
    assert [found for found in codes(requested(f"So many: {figure}."), "app.py") if found[0] == "PC107"] == []
