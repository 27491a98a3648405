"""What commands answer and what a memory finds for a question stands in front of static text."""

from __future__ import annotations

import pytest

RULES = "Answer in the language of the customer, briefly, and never promise a refund. " * 8
HEAD = """\
import os, re, subprocess
from anthropic import Anthropic
client = Anthropic()
def ask(self, memory, history, question):
"""


def program(value, system, newest="question"):
    return (
        f"{HEAD}    found = {value}\n    talk = [*history, {{'role': 'user', 'content': {newest}}}]\n"
        "    return client.messages.create(model='claude-sonnet-4-5', max_tokens=99, messages=talk,\n"
        f"        system=f'{system}')\n"
    )


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("subprocess.check_output(['git', 'status', '--short'], text=True)", "PC105"),
        ("subprocess.run('git log -5', shell=True, capture_output=True).stdout.decode()", "PC105"),
        ("os.popen('date').read().strip()", "PC101"),
        ("memory.search(question)", "PC402"),
        ("self.retriever.invoke(question)", "PC402"),
        ("self.long_term_memory.recall(query=question)", "PC402"),
        ("self.index.search(question)", "PC402"),
        ("doc_index.search(question, k=5)", "PC402"),
        ("self.store.query(q=question)", "PC402"),
    ],
)
def test_answers_in_front_of_static_text(codes, value, code):
    assert [found for found, _ in codes(program(value, f"Facts: {{found}}. {RULES}"), "app.py")] == [code]
    assert codes(program(value, RULES, "f'{found} {question}'"), "app.py") == []


@pytest.mark.parametrize(
    "value",
    [
        "subprocess.check_output(['python', '--version'], text=True)",
        "re.search('a', question)",
        "memory.search()",
        "self.index.search('opening hours')",
        "self.store.query(query)",
        "open('rules.txt').read()",
        "subprocess.check_output(['gitdate', 'x'])",
    ],
)
def test_steady_answers(codes, value):
    assert codes(program(value, f"Facts: {{found}}. {RULES}"), "app.py") == []
