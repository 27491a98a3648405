"""Notes to the model behind the history cost nothing; the same in front of it do."""

from __future__ import annotations

from textwrap import dedent

import pytest

from promptcache_lint import Settings, Severity, lint_text

RULES = "Answer as the clerk of a shop would, and be kind. Never promise what the rules do not hold. " * 5
ASK = f"""
from datetime import datetime
from openai import OpenAI
RULES = {RULES!r}
HEAD = {{"role": "system", "content": RULES}}
def ask(history, text, sent=""):
    new = {{"role": "user", "content": text}}
    MESSAGES
    return OpenAI().chat.completions.create(model="m", messages=messages)
"""
NOTE = """note = {"role": "system", "content": f"It is {datetime.now()}. Keep to the rules of the house."}"""
CLOCK = "\ndef clock():\n    return {'role': 'system', 'content': f'Now: {datetime.now()}'}\n"
BEHIND = {
    "before the question": f"{NOTE}\n    messages = [HEAD, *history, note, new]",
    "at the very end": f"{NOTE}\n    messages = [HEAD, *history, note]",
    "of a helper": "messages = [HEAD, *history, clock(), new]",
    "in a list that is added": f"{NOTE}\n    messages = [HEAD] + history + [note, new]",
    "appended": f"{NOTE}\n    messages = [HEAD]\n    messages += history\n    messages.append(note)",
    "written there": "messages = [HEAD, *history, {'role': 'system', 'content': f'{datetime.now()}'}, new]",
}
IN_FRONT = {
    "first": f"{NOTE}\n    messages = [note, HEAD, *history, new]",
    "second": f"{NOTE}\n    messages = [HEAD, note, *history, new]",
    "no history": f"{NOTE}\n    messages = [note, HEAD, new]",
    "of a helper": "messages = [HEAD, clock(), *history, new]",
    "between two": f"{NOTE}\n    messages = [HEAD, *history, note, *sent, new]",
    "both": "now = datetime.now()\n"
    "    messages = [{'role': 'system', 'content': f'{now} {RULES}'}, *history,"
    " {'role': 'system', 'content': f'{now}'}, new]",
}


def _found(messages: str) -> list[str]:
    text = ASK.replace("MESSAGES", messages) + (CLOCK if "clock()" in messages else "")
    return [found.code for found in lint_text(text, "chat.py", Settings(severity=Severity.INFO)).findings]


@pytest.mark.parametrize("messages", BEHIND.values(), ids=BEHIND)
def test_a_note_behind_the_history_costs_nothing(messages):
    assert _found(messages) == []


@pytest.mark.parametrize("messages", IN_FRONT.values(), ids=IN_FRONT)
def test_a_note_in_front_of_the_history_does(messages):
    assert _found(messages) == ["PC101"]


@pytest.mark.parametrize(
    ("written", "severity"),
    [
        ("f'{RULES} The conversation started {datetime.now()}.'", "info"),
        ("f'Started: {datetime.now()}. {RULES}'", "warning"),
    ],
)
def test_what_a_constructor_puts_at_the_end_holds_for_the_talk(written, severity):
    text = f"""
    from datetime import datetime
    from openai import OpenAI
    RULES = {RULES!r}
    class Talk:
        def __init__(self):
            self.messages = [{{"role": "system", "content": {written}}}]
        def say(self, text):
            self.messages.append({{"role": "user", "content": text}})
            return OpenAI().chat.completions.create(model="m", messages=self.messages)
    """
    found = lint_text(dedent(text), "talk.py", Settings(severity=Severity.INFO)).findings
    assert [(each.code, str(each.severity)) for each in found] == [("PC101", severity)]
