"""Helpers that write one block or one call of an answer: what becomes of it, their callers show."""

from __future__ import annotations

from textwrap import dedent

import pytest

from promptcache_lint import Settings, Severity, lint_text

HEAD = """
import json
import anthropic

client = anthropic.Anthropic()
"""
VISIBLE = """
def visible(blocks):
    return [b.model_dump() for b in blocks if b.type not in ("thinking", "redacted_thinking")]
"""
COLLECTED = """
def visible(blocks):
    kept = [b for b in blocks if b.type != "thinking"]
    return kept
"""
LOOP = """
def agent(task, tools):
    messages = [{"role": "user", "content": task}]
    while True:
        reply = client.messages.create(model="m", max_tokens=9, tools=tools, messages=messages)
        TAKEN
        messages.append({"role": "user", "content": "Go on."})
"""
WRITTEN = """
def as_dict(call):
    arguments = json.loads(call.function.arguments or "{}")
    return {"id": call.id, "function": {"name": call.function.name, "arguments": json.dumps(arguments)}}
"""
DRIVE = """
def drive(llm, messages, tools, execute):
    message = llm.chat.completions.create(model="m", messages=messages, tools=tools).choices[0].message
    calls = [as_dict(each) for each in message.tool_calls]
    TAKEN
"""
METHOD = """
class Agent:
    def visible(self, blocks):
        return [b for b in blocks if b.type != "thinking"]

    def step(self):
        reply = client.messages.create(model="m", max_tokens=9, messages=self.messages)
        self.messages.append({"role": "assistant", "content": self.visible(reply.content)})
"""


def _codes(text: str) -> list[str]:
    return [found.code for found in lint_text(dedent(HEAD + text), "talk.py").findings]


def test_a_helper_that_leaves_the_reasoning_out_is_followed_to_the_message_it_fills() -> None:
    kept = 'messages.append({"role": "assistant", "content": visible(reply.content)})'
    assert _codes(VISIBLE + LOOP.replace("TAKEN", kept)) == ["PC505"]
    assert _codes(COLLECTED + LOOP.replace("TAKEN", kept)) == ["PC505"]
    assert _codes(METHOD) == ["PC505"]


def test_a_helper_whose_blocks_are_only_shown_is_fine() -> None:
    kept = 'messages.append({"role": "assistant", "content": reply.content})'
    shown = f"print(visible(reply.content))\n        {kept}"
    assert _codes(VISIBLE + LOOP.replace("TAKEN", shown)) == []


def test_a_helper_that_writes_arguments_anew_is_followed_to_the_calls_it_fills() -> None:
    kept = 'messages.append({"role": "assistant", "content": None, "tool_calls": calls})'
    assert _codes(WRITTEN + DRIVE.replace("TAKEN", kept)) == ["PC507"]


def test_a_helper_whose_calls_are_only_logged_is_fine() -> None:
    logged = "print(calls)\n    messages.append(message)"
    assert _codes(WRITTEN + DRIVE.replace("TAKEN", logged)) == []


@pytest.mark.parametrize(("owner", "codes"), [("self.extra_params", []), ("message", ["PC505"])])
def test_an_option_that_is_taken_back_leaves_no_reasoning_out(owner: str, codes: list[str]) -> None:
    text = f"import openai\n\ndef set_thinking(self, message, messages):\n    del {owner}['thinking']\n"
    settings = Settings(severity=Severity.INFO)
    assert [found.code for found in lint_text(text, "talk.py", settings).findings] == codes
