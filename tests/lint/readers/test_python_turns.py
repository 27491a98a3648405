"""What changes with the turn: what a helper picks for it, what a table keeps, what a match leaves out."""

from __future__ import annotations

from textwrap import dedent

import pytest

from promptcache_lint import lint_text

HEAD = """
import json
import anthropic
from openai import OpenAI

client = OpenAI()
claude = anthropic.Anthropic()
"""
HELPER = """
MODELS = {"easy": "small", "hard": "large"}

def level(text):
    return "hard" if len(text) > 60 else "easy"

def listed(text):
    return [tool for tool in TOOLS if tool["name"] in text]

def made_for(text):
    def note(amount):
        save(amount, source=text)
    return [note, Tool(run=lambda: text)]

class Helper:
    def __init__(self):
        self.messages = []

    def ask(self, text):
        self.messages.append({"role": "user", "content": text})
        reply = client.chat.completions.create(messages=self.messages, GIVEN)
        self.messages.append({"role": "assistant", "content": reply.choices[0].message.content})
"""


def _codes(text: str) -> list[str]:
    return [found.code for found in lint_text(dedent(HEAD + text), "talk.py").findings]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("model=MODELS[level(text)]", ["PC503"]),
        ("model=MODELS[level('easy')]", []),
        ("model=MODELS['hard']", []),
        ("model='m', reasoning={'effort': level(text)}", ["PC504"]),
        ("model='m', reasoning={'effort': 'high'}", []),
        ("model='m', tools=listed(text)", ["PC302"]),
        ("model='m', tools=listed(NAMES)", []),
        ("model='m', tools=made_for(text)", []),
    ],
)
def test_what_a_helper_picks_for_the_turn_changes_with_it(given: str, expected: list[str]) -> None:
    assert _codes(HELPER.replace("GIVEN", given)) == expected


STORE = """
class Store:
    def __init__(self):
        self.rows = {}

    def append(self, key, role, content):
        self.rows.setdefault(key, []).append(ADDED)

    def last(self, key, n=8):
        return self.rows.get(key, [])TAKEN

store = Store()

def reply(key, text):
    store.append(key, "user", text)
    out = client.chat.completions.create(model="m", messages=[SYSTEM, *store.last(key)])
    store.append(key, "assistant", out.choices[0].message.content)
"""
MESSAGE = '{"role": role, "content": content}'


def test_a_window_of_a_talk_that_a_table_keeps_slides() -> None:
    assert _codes(STORE.replace("ADDED", MESSAGE).replace("TAKEN", "[-n:]")) == ["PC501"]
    assert _codes(STORE.replace("ADDED", MESSAGE).replace("TAKEN", "")) == []


FORGETS = """
class Reader:
    def __init__(self):
        self.messages = []

    def forget(self, path):
        for message in self.messages:
            if TEST:
                message["content"] = "(superseded)"

    def step(self, path):
        self.forget(path)
        reply = claude.messages.create(model="m", max_tokens=9, messages=self.messages)
        self.messages.append({"role": "assistant", "content": reply.content})
"""


def test_kept_messages_that_match_what_a_method_is_given_are_edited() -> None:
    assert _codes(FORGETS.replace("TEST", 'message["path"] == path')) == ["PC502"]
    assert _codes(FORGETS.replace("TEST", 'message["content"] is None')) == []
    copied = FORGETS.replace(
        "            if TEST", "            message = dict(message)\n            if TEST"
    )
    assert _codes(copied.replace("TEST", 'message["path"] == path')) == []
    shown = FORGETS.replace("        for message", "        if path == 'x':\n          for message")
    assert _codes(shown.replace("TEST", 'message["content"] is None')) == []


MATCH = """
def turn(messages, tools):
    reply = claude.messages.create(
        model="m", max_tokens=9, messages=messages, tools=tools, thinking={"budget_tokens": 9}
    )
    content = []
    for block in reply.content:
        match block.type:
            case "text":
                content.append({"type": "text", "text": block.text})
            case REST:
                content.append(block.model_dump())
    messages.append({"role": "assistant", "content": content})
"""


def test_a_match_that_takes_some_kinds_leaves_the_reasoning_out() -> None:
    assert _codes(MATCH.replace("REST", '"tool_use"')) == ["PC505"]
    assert _codes(MATCH.replace("REST", "_")) == []


CALL = """
class Call:
    def __init__(self, raw):
        self.id, self.args = raw.id, json.loads(raw.function.arguments)

    def to_message(self):
        return {"id": self.id, "function": {"name": "f", "arguments": WRITTEN}}

def step(messages, tools):
    m = client.chat.completions.create(model="m", messages=messages, tools=tools).choices[0].message
    calls = [Call(raw) for raw in m.tool_calls]
    messages.append({"role": "assistant", "tool_calls": [c.to_message() for c in calls]})
"""


def test_arguments_that_a_method_writes_anew_are_found_in_the_message() -> None:
    assert _codes(CALL.replace("WRITTEN", "json.dumps(self.args)")) == ["PC507"]
    assert _codes(CALL.replace("WRITTEN", "self.text")) == []


ROUNDS = """
def run(task):
    messages = [{"role": "user", "content": task}]
    for left in range(20, 0, -1):
        reply = claude.messages.create(
            model="m", max_tokens=9, messages=messages, system=f"HEAD You repair pages, file by file."
        )
        messages.append({"role": "assistant", "content": reply.content})
"""


def test_the_number_of_a_round_of_a_conversation_counts_whatever_its_name() -> None:
    assert _codes(ROUNDS.replace("HEAD", "{left} steps left.")) == ["PC107"]
    assert _codes(ROUNDS.replace("HEAD", "{task}.")) == []


MARKED = """
def ask(question):
    system = [{"type": "text", "text": f"The handbook. TAIL"}]
    system[-1]["cache_control"] = {"type": "ephemeral"}
    return claude.messages.create(model="m", max_tokens=9, system=system, messages=[])
"""


def test_a_breakpoint_that_is_stored_into_the_last_block_covers_it() -> None:
    assert "PC601" in _codes(MARKED.replace("TAIL", "{question}"))
    assert "PC601" not in _codes(MARKED.replace("TAIL", "It is long."))


PHOTOS = """
def as_part(path):
    image, buffer = Image.open(path), io.BytesIO()
    image.save(buffer, format="FORMAT")
    data = base64.b64encode(buffer.getvalue()).decode()
    return {"type": "image_url", "image_url": {"url": f"data:;base64,{data}"}}

def ask(turns):
    messages = [{"role": "system", "content": "You appraise furniture."}]
    for turn in turns:
        messages.append({"role": turn["role"], "content": [as_part(path) for path in turn["photos"]]})
    return client.chat.completions.create(model="m", messages=messages)
"""


def test_photos_that_a_helper_compresses_for_each_turn_of_the_history_are_other_bytes() -> None:
    assert _codes(PHOTOS.replace("FORMAT", "JPEG")) == ["PC701"]
    assert _codes(PHOTOS.replace("FORMAT", "PNG")) == []
