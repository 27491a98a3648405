"""Queues in tables, models picked by a helper, and cache keys made in front of the call."""

from __future__ import annotations

from textwrap import dedent

import pytest

from promptcache_lint import lint_text

HEAD = """
import uuid
from collections import defaultdict, deque
from functools import partial
from openai import OpenAI

client = OpenAI()
SYSTEM = {"role": "system", "content": "Be brief."}
"""
TALKS = """
def reply(channel, text):
    turns = talks[channel]
    turns.append({"role": "user", "content": text})
    answer = client.chat.completions.create(model="m", messages=[SYSTEM, *turns])
    turns.append({"role": "assistant", "content": answer.choices[0].message.content})
"""
EVENTS = """
def note(channel, event):
    talks[channel].append(event)
"""
KEEPS = """
history = [{"role": "user", "content": "Good morning."}]

def ask(text):
    history.append({"role": "user", "content": text})
    answer = client.chat.completions.create(model=pick(GIVEN), messages=history)
    history.append({"role": "assistant", "content": answer.choices[0].message.content})
"""


def _codes(text: str) -> list[str]:
    return [found.code for found in lint_text(dedent(HEAD + text), "talk.py").findings]


@pytest.mark.parametrize(
    "factory", ["partial(deque, maxlen=20)", "lambda: deque(maxlen=20)", "lambda: deque([], 20)"]
)
def test_a_table_of_queues_loses_the_oldest_messages_of_each_talk(factory: str) -> None:
    assert _codes(f"talks = defaultdict({factory})\n" + TALKS) == ["PC501"]


@pytest.mark.parametrize(
    "text",
    [
        "talks = defaultdict(partial(deque, maxlen=20))\n" + EVENTS,
        "talks = defaultdict(partial(deque, maxlen=20))\n" + EVENTS.replace("(event)", "({'type': 'asked'})"),
        "talks = defaultdict(deque)\n" + TALKS,
        "talks = defaultdict(partial(deque, maxlen=None))\n" + TALKS,
    ],
)
def test_a_table_of_events_or_of_queues_without_an_end_is_fine(text: str) -> None:
    assert _codes(text) == []


@pytest.mark.parametrize(
    ("body", "given"),
    [
        ("return 'large' if len(text) > 300 else 'small'", "text"),
        ("if 'sum' in text:\n        return LARGE\n    return SMALL", "text"),
        ("return 'large' if len(text) > 9 else 'small'", "history"),
    ],
)
def test_a_helper_that_picks_a_model_for_the_turn_switches_it(body: str, given: str) -> None:
    assert _codes(f"def pick(text):\n    {body}\n" + KEEPS.replace("GIVEN", given)) == ["PC503"]


@pytest.mark.parametrize(
    ("body", "given"),
    [
        ("return 'small'", "text"),
        ("return 'large' if text == 'gold' else 'small'", "PLAN"),
        ("return 'large' if text else 'small'", "'gold'"),
    ],
)
def test_a_helper_that_picks_a_model_for_good_is_fine(body: str, given: str) -> None:
    assert _codes(f"def pick(text):\n    {body}\n" + KEEPS.replace("GIVEN", given)) == []


def test_a_key_made_in_the_function_that_sends_is_new_in_each_request() -> None:
    assert _codes(
        """
def check(text):
    options = {"model": "m", "prompt_cache_key": f"proof-{uuid.uuid4()}"}
    return client.responses.create(instructions="Check it.", input=text, **options)
"""
    ) == ["PC607"]


@pytest.mark.parametrize(
    "text",
    [
        """
def talk():
    key = str(uuid.uuid4())
    while True:
        client.responses.create(instructions="Check it.", input=input(), prompt_cache_key=key)
""",
        """
def talk(key):
    return client.responses.create(instructions="Check it.", input=input(), prompt_cache_key=key)

def open_talk():
    return talk(str(uuid.uuid4()))
""",
    ],
)
def test_a_key_that_a_conversation_keeps_is_fine(text: str) -> None:
    assert _codes(text) == []


DESK = """
class Desk:
    def __init__(self, model=None):
        self.model = model
        self.mode = "plan"
        self.messages = [{"role": "system", "content": "You are the desk of a hotel."}]

    def ask(self, text, model=None):
        self.messages.append({"role": "user", "content": text})
        CHOICE
        answer = client.chat.completions.create(model=MODEL, messages=self.messages, TOOLS)
        self.messages.append({"role": "assistant", "content": answer.choices[0].message.content})
"""


def _desk(choice: str, model: str = "model", tools: str = "") -> list[str]:
    text = DESK.replace("CHOICE", choice.replace("\n", "\n        "))
    return _codes(text.replace("MODEL", model).replace(", TOOLS", f", {tools}" if tools else ""))


@pytest.mark.parametrize("test", ["len(self.messages) > 10", "'complaint' in text.lower()"])
def test_another_model_than_the_usual_one_is_a_switch_where_the_turn_decides(test: str) -> None:
    assert _desk(f"model = 'small'\nif {test}:\n    model = 'large'") == ["PC503"]


@pytest.mark.parametrize(
    "choice",
    [
        "model = self.model\nif not model:\n    model = 'small'",
        "model = self.model\nif '/' not in model:\n    model = 'openai/' + model",
        "model = 'small'\nif self.model == 'best':\n    model = 'large'",
    ],
)
def test_a_model_that_is_completed_or_set_up_is_no_switch(choice: str) -> None:
    assert _desk(choice) == []


MODES = "tools = READ if self.mode == 'plan' else READ + WRITE"


def test_tools_by_a_mode_that_a_turn_changes_come_and_go() -> None:
    assert _desk(f"if text == '/go':\n    self.mode = 'act'\n{MODES}", "'m'", "tools=tools") == ["PC302"]
    assert _desk(MODES, "'m'", "tools=tools") == []


@pytest.mark.parametrize("tools", ["TOOLS[self.mode]", "TOOLS.get(self.mode, READ)"])
def test_tools_of_a_stage_that_the_talk_leaves(tools: str) -> None:
    moves = "if text == '/go':\n    self.mode = 'act'"
    assert _desk(moves, "'m'", f"tools={tools}") == ["PC302"]
    assert _desk("self.last = text", "'m'", f"tools={tools}") == []
