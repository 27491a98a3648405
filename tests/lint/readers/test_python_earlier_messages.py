"""Earlier messages that are edited or marked by way of a name or a helper."""

from __future__ import annotations

from textwrap import dedent

import pytest

from promptcache_lint import lint_text

AGENT = """
from openai import OpenAI

client = OpenAI()

class Agent:
    def __init__(self):
        self.messages = [{"role": "system", "content": "You repair builds."}]

    def step(self):
        CHOSEN
        for message in GONE:
            message["content"] = message["content"][:400]
        reply = client.chat.completions.create(model="m", messages=self.messages).choices[0].message
        self.messages.append({"role": "assistant", "content": reply.content})
"""


def _codes(text: str) -> list[str]:
    return [found.code for found in lint_text(dedent(text), "talk.py").findings]


@pytest.mark.parametrize(
    ("chosen", "gone"),
    [
        ('results = [m for m in self.messages if m["role"] == "tool"]', "results[:-3]"),
        ("older = self.messages[:-4]", "older"),
    ],
)
def test_messages_that_a_name_is_given_are_the_conversations(chosen: str, gone: str) -> None:
    assert _codes(AGENT.replace("CHOSEN", chosen).replace("GONE", gone)) == ["PC502"]


@pytest.mark.parametrize(
    ("chosen", "gone"),
    [
        ("copies = [dict(m) for m in self.messages]", "copies[:-3]"),
        ("rows = [m for m in self.rows]", "rows[:-3]"),
    ],
)
def test_copies_and_other_lists_may_be_changed(chosen: str, gone: str) -> None:
    assert _codes(AGENT.replace("CHOSEN", chosen).replace("GONE", gone)) == []


MARKED = """
import anthropic

client = anthropic.Anthropic()

def first(text):
    return [{"role": "user", "content": [{"type": "text", "text": text MARK}]}]

def review(diff, questions):
    messages = first(diff)
    for question in questions:
        messages.append({"role": "user", "content": question})
        reply = client.messages.create(model="m", max_tokens=9, system="Be brief.", messages=messages)
        messages.append({"role": "assistant", "content": reply.content})
"""


def test_a_breakpoint_that_a_helper_puts_on_the_first_message_never_moves() -> None:
    assert _codes(MARKED.replace("MARK", ', "cache_control": {"type": "ephemeral"}')) == ["PC610"]
    assert _codes(MARKED.replace("MARK", "")) == []


LOOKS = """
import anthropic

client = anthropic.Anthropic()

def lighter(messages):
    newest = len(messages) - 1
    for index, message in enumerate(messages):
        if TEST:
            continue
        message["content"] = [part for part in message["content"] if part["type"] != "image"]
    return messages

def look(messages, image):
    messages.append({"role": "user", "content": [image]})
    reply = client.messages.create(model="m", max_tokens=9, system="Be brief.", messages=lighter(messages))
    messages.append({"role": "assistant", "content": reply.content})
"""


@pytest.mark.parametrize(
    "test", ["index == newest", "index == len(messages) - 1", "message is messages[-1] or not message"]
)
def test_a_loop_that_leaves_only_the_newest_message_alone_edits_the_earlier_ones(test: str) -> None:
    assert _codes(LOOKS.replace("TEST", test)) == ["PC502"]
    assert _codes(LOOKS.replace("TEST", "message['role'] == 'user'")) == []
