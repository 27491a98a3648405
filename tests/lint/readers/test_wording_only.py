"""Texts that only begin like a prompt: nothing in a module without models, and never an error."""

from __future__ import annotations

from textwrap import dedent

import pytest

from promptcache_lint import Settings, Severity, lint_text

NO_PROMPTS = {
    "progress in a terminal": '''
        from datetime import datetime
        def progress_message(i, n):
            """Message for the terminal."""
            return f"You are at step {i} of {n}; {datetime.now():%H:%M:%S}"
        ''',
    "a greeting": """
        from datetime import datetime
        def greet(name):
            return f"You are welcome, {name}! It is {datetime.now():%H:%M}."
        """,
    "a fortune": """
        import random
        from datetime import datetime
        TOWNS = ["Rome", "Oslo"]
        def fortune():
            return f"You are going to meet someone at {datetime.now():%H:%M} in {random.choice(TOWNS)}."
        """,
    "a game": """
        import random
        import time
        ROOM = f"You are in a dark room. It is {time.ctime()}. There is a door, and behind it waits a troll."
        def look(room):
            return f"You are in room {random.randint(1, 9)}. Exits lead north and south. {time.ctime()}"
        """,
}

SENT = """
import time
from openai import OpenAI
def greet(talk, question):
    text = f"You are in a dark room with a troll. Describe it, in ten words. It is {time.ctime()}. Be brief."
    messages = [{"role": "system", "content": text}, *talk, {"role": "user", "content": question}]
    return OpenAI().chat.completions.create(model="m", messages=messages)
"""

ONLY_WORDED = """
import time
from openai import OpenAI
def greet(name):
    return f"You are the clerk of a ferry line. It is {time.ctime()}. Answer in ten words, {name} is on deck."
"""


def found(text: str, name: str = "app.py") -> list[tuple[str, str]]:
    """Code and severity of each finding."""
    report = lint_text(dedent(text), name, Settings(severity=Severity.INFO))
    return [(finding.code, str(finding.severity)) for finding in report.findings]


@pytest.mark.parametrize("text", NO_PROMPTS.values(), ids=NO_PROMPTS)
def test_what_only_begins_like_a_prompt_is_none(text):
    assert found(text) == []


def test_what_is_sent_is_certain_whatever_its_words():
    assert ("PC101", "error") in found(SENT)


def test_beside_a_model_wording_is_a_warning_at_most():
    assert [row for row in found(ONLY_WORDED) if row[0] == "PC101"] == [("PC101", "warning")]


def test_known_values_of_a_doubtful_template_stay_doubtful():
    text = """
    import time
    import openai
    CLERK = "You are the clerk of a ferry line. It is {now}. Answer in ten words and name the pier."
    def text():
        return CLERK.format(now=time.ctime())
    """
    assert found(text) == [("PC101", "warning")]


def test_what_another_module_sends_is_reported_there(tree_codes):
    files = {
        "hotel.py": """
        import time
        def greeting():
            return f"You are the clerk of a hotel. It is {time.ctime()}. Answer in ten words and be polite."
        """,
        "bot.py": """
        import openai
        from hotel import greeting
        def ask(question):
            messages = [{"role": "system", "content": greeting()}, {"role": "user", "content": question}]
            return openai.chat.completions.create(model="m", messages=messages)
        """,
    }
    assert [code for _, code, _ in tree_codes(files)] == ["PC101"]
