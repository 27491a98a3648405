"""Calls that are given something volatile: run where they may take it up."""

from __future__ import annotations

import pytest

HEAD = """
from datetime import datetime
import logging
log = logging.getLogger()
"""


@pytest.mark.parametrize(
    "helper",
    [
        "def put(when, text):\n    return f'{when} {text}'",
        "def put(when, text):\n    all = [text]\n    all.insert(0, str(when))\n    return ' '.join(all)",
        "def put(when, text):\n    said = {'at': when}\n    return '{at} '.format(**said) + text",
        "def put(when, text):\n    def inner():\n        return f'{when}'\n    return f'{inner()} {text}'",
        "def put(when, text):\n    return last(text, when)\ndef last(text, at):\n    return f'{at} {text}'",
    ],
)
def test_what_a_function_takes_up_is_seen(tree_codes, helper):
    agent = "def system_prompt():\n    return put(datetime.now(), 'You are a clerk. Be brief and polite.')\n"
    found = tree_codes({"agent.py": f"{HEAD}{helper}\n{agent}"})
    assert {code for _, code, _ in found} == {"PC101"}


def test_what_a_function_sends_itself_is_seen(tree_codes):
    found = tree_codes(
        {
            "agent.py": """
                from datetime import datetime
                from sending import Sender
                def begin(sender, text):
                    sender.count(len(text))
                    deliver(text)
                def deliver(text):
                    client.chat.completions.create(model="m", messages=[{"role": "system", "content": text}])
                def talk(sender):
                    begin(sender, f"You are a clerk. It is {datetime.now()}. Be brief and polite to all.")
                """,
        }
    )
    assert "PC101" in {code for _, code, _ in found}


@pytest.mark.parametrize(
    "helper",
    [
        "def put(when, text):\n    log.info('at %s', when)\n    return text",
        "def put(when, text):\n    return text if when > 3 else text.upper()",
        "def put(when, text):\n    assert isinstance(when, datetime)\n    return text",
    ],
)
def test_what_a_function_leaves_aside_is_not_blamed(tree_codes, helper):
    agent = "def system_prompt():\n    return put(datetime.now(), 'You are a clerk. Be brief and polite.')\n"
    assert tree_codes({"agent.py": f"{HEAD}{helper}\n{agent}"}) == []


@pytest.mark.parametrize(
    "method",
    [
        "return f'{self.tag} is your number. ' + RULES",
        "return self.named() + RULES",
        "return named(self) + RULES",
        "return self.view.of(self) + RULES",
    ],
)
def test_what_a_method_reads_of_its_object_is_seen(tree_codes, method):
    found = tree_codes(
        {
            "agent.py": f"""
                import uuid
                RULES = "You are a clerk of our company. Be brief and polite, and promise nothing at all."
                def named(agent):
                    return f"{{agent.tag}} is your number. "
                class View:
                    def of(self, agent):
                        return f"{{agent.tag}} is your number. "
                class Agent:
                    def __init__(self, tag):
                        self.tag = tag
                        self.view = View()
                        self.idle = 3
                    def named(self):
                        return f"{{self.tag}} is your number. "
                    def text(self):
                        {method}
                def system_prompt():
                    agent = Agent(str(uuid.uuid4()))
                    return agent.text()
                """,
        }
    )
    assert {code for _, code, _ in found} == {"PC102"}
