"""Methods of a base that call what a class overrides are read as those of the class, too."""

from __future__ import annotations

import pytest

from promptcache_lint import Severity

RULES = "Answer in the language of the customer, briefly, and never promise a refund. " * 8
BASE = f"""\
from datetime import datetime
from openai import OpenAI
client = OpenAI()
class Agent:
    def head(self):
        return ""
    def note(self):
        return ""
    def build(self):
        return self.head() + "{RULES}"
    def ask(self, history):
        talk = [{{"role": "system", "content": self.build()}}, *history]
        return client.chat.completions.create(model="gpt-4.1", messages=talk)
"""
CLOCK = "return f'It is {datetime.now()}. '"


def derived(name, method, body, base="Agent"):
    return f"class {name}({base}):\n    def {method}(self):\n        {body}\n"


@pytest.mark.parametrize(
    ("classes", "severity"),
    [
        (derived("Clerk", "head", CLOCK), Severity.ERROR),
        (derived("Clerk", "head", CLOCK) + derived("Cook", "head", CLOCK), Severity.ERROR),
        (derived("Clerk", "head", CLOCK) + derived("Cook", "head", "return 'Cook. '"), Severity.WARNING),
        (derived("Mid", "note", "return 'x'") + derived("Clerk", "head", CLOCK, "Mid"), Severity.ERROR),
        (derived("Clerk", "head", "return super().head() + f'{datetime.now()}'"), Severity.WARNING),
    ],
)
def test_what_a_class_overrides_reaches_the_prompt_of_its_base(codes, classes, severity):
    found = codes(BASE + classes, "app.py", severity)
    assert {code for code, _ in found} == {"PC101"}
    assert severity == Severity.ERROR or not codes(BASE + classes, "app.py", Severity.ERROR)


@pytest.mark.parametrize(
    "classes",
    [
        derived("Clerk", "note", CLOCK),
        derived("Clerk", "head", "return 'You are a clerk. '"),
        derived("Clerk", "head", CLOCK, "Other"),
        derived("Clerk", "head", CLOCK) + "    def build(self):\n        return 'Be brief.'\n",
        derived(
            "Clerk", "head", "start = datetime.now()\n        log(datetime.now() - start)\n        return ''"
        ),
    ],
)
def test_what_does_not_reach_it(codes, classes):
    assert codes(BASE + classes, "app.py") == []


def test_classes_of_two_modules(tree_codes):
    clerk = "import uuid\nfrom base import Agent\n" + derived(
        "Clerk", "head", "return f'You are clerk {uuid.uuid4()}. '"
    )
    found = tree_codes({"base.py": BASE, "clerk.py": clerk}, Severity.ERROR)
    assert [(path, code) for path, code, _ in found] == [("clerk.py", "PC102")]
