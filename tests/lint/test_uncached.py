"""What a provider keeps nothing of costs nothing: no error where Anthropic is asked without a breakpoint."""

from __future__ import annotations

import pytest

from promptcache_lint import Settings, lint_text

RULES = "You are the clerk of a ferry line. Name the pier, the deck and the hour of departure. " * 60
PYTHON = f"""
import os
from datetime import datetime
CLIENT
RULES = {RULES!r}
def answer(history, system):
    now = datetime.now().strftime("%H:%M:%S")
    system = f"It is {{now}}. " + RULES
    return REQUEST
"""
CUT = f"""
CLIENT
RULES = {RULES!r}
class Talk:
    def __init__(self):
        self.turns = []
    def ask(self, text):
        self.turns.append({{"role": "user", "content": text}})
        system = RULES
        history = self.turns[-10:]
        answer = REQUEST
        self.turns.append({{"role": "assistant", "content": answer.content[0].text}})
        return answer
"""
ANTHROPIC = "from anthropic import Anthropic\nclient = Anthropic()"
OPENAI = "from openai import OpenAI\nclient = OpenAI()"
BARE = "client.messages.create(model=os.environ['MODEL'], system=system, messages=history)"
NAMED = "client.messages.create(model='claude-sonnet-4-5', system=system, messages=history)"
ANYHOW = "client.messages.create(model='m', system=system, messages=history, **options)"
AUTOMATIC = (
    "client.messages.create(model='m', system=system, messages=history, cache_control={'type': 'ephemeral'})"
)
MARKED = (
    "client.messages.create(model='m', messages=history, "
    "system=[{'type': 'text', 'text': system, 'cache_control': {'type': 'ephemeral'}}])"
)
CHAT = "client.chat.completions.create(model='m', messages=[{'role': 'system', 'content': system}, *history])"


def severity(program: str, client: str, request: str, code: str) -> str:
    text = program.replace("CLIENT", client).replace("REQUEST", request)
    found = [finding for finding in lint_text(text, "talk.py", Settings()).findings if finding.code == code]
    assert found, text
    return max(found, key=lambda finding: finding.severity).severity.name.lower()


@pytest.mark.parametrize("request_", [BARE, NAMED])
@pytest.mark.parametrize(("program", "code"), [(PYTHON, "PC101"), (CUT, "PC501")])
def test_a_warning_where_nothing_is_marked(program: str, code: str, request_: str) -> None:
    assert severity(program, ANTHROPIC, request_, code) == "warning"


@pytest.mark.parametrize("request_", [AUTOMATIC, MARKED])
def test_an_error_where_something_is(request_: str) -> None:
    assert severity(PYTHON, ANTHROPIC, request_, "PC101") == "error"


def test_an_error_at_a_provider_that_marks_by_itself() -> None:
    assert severity(PYTHON, OPENAI, CHAT, "PC101") == "error"
    assert severity(CUT, OPENAI, CHAT, "PC501") == "error"


def test_an_error_where_both_are_asked() -> None:
    note = "note = other.messages.create(model='m')"
    both = f"{OPENAI}\nfrom anthropic import Anthropic\nother = Anthropic()\n{note}"
    assert severity(PYTHON, both, CHAT, "PC101") == "error"


def test_an_error_where_arguments_may_hold_a_breakpoint() -> None:
    program = PYTHON.replace("(history, system)", "(history, system, options)")
    assert severity(program, ANTHROPIC, ANYHOW, "PC101") == "error"
