"""System prompts that calls are given: in options, as lists and parts, by functions, from fields."""

from __future__ import annotations

import pytest

from promptcache_lint import Severity

RULES = "Answer in the language of the customer, briefly, and never promise a refund. " * 60
HEAD = f"""\
import uuid
from dataclasses import dataclass, field
from datetime import datetime
import attr
from agents import Agent
from google import genai
from google.genai import types
from langgraph.prebuilt import create_react_agent
from openai import OpenAI
from pydantic import BaseModel, Field
client = genai.Client()
openai = OpenAI()
RULES = "{RULES}"
def clock(context, agent):
    return f"It is {{datetime.now()}}. {{RULES}}"
def rules(context, agent):
    return f"You are a clerk. {{RULES}}"
class Rules:
    async def build(self, context, agent):
        return f"Run {{uuid.uuid4()}}. {{RULES}}"
@dataclass
class Base:
    at: datetime = field(default_factory=datetime.now)
@dataclass
class Context(Base):
    name: str = "Ada"
    parts: list = field(default_factory=list)
    run: str = field(default_factory=lambda: str(uuid.uuid4()), repr=False)
class Model(BaseModel):
    run: str = Field(default_factory=lambda: uuid.uuid4().hex)
@attr.s
class Old:
    run = attr.ib(default=attr.Factory(lambda: str(uuid.uuid4())))
"""
NOW = "f'It is {datetime.now()}. '"
ASK = "client.models.generate_content(model='g', contents=history, config="


def asking(*lines):
    return HEAD + "async def ask(history):\n" + "".join(f"    {line}\n" for line in lines)


@pytest.mark.parametrize(
    "lines",
    [
        (f"{ASK}types.GenerateContentConfig(system_instruction=[{NOW}, RULES]))",),
        (f"{ASK}{{'system_instruction': {NOW} + RULES}})",),
        (f"{ASK}{{'system_instruction': [datetime.now().isoformat(), RULES]}})",),
        (f"{ASK}{{'system_instruction': {{'parts': [{{'text': {NOW}}}, {{'text': RULES}}]}}}})",),
        (f"c = {{'temperature': 0, 'system_instruction': [{NOW}, RULES]}}", f"{ASK}c)"),
        (
            f"s = types.Content(parts=[types.Part.from_text(text={NOW}), types.Part(text=RULES)])",
            f"await client.aio.models.{ASK[14:]}types.GenerateContentConfig(system_instruction=s))",
        ),
        ("openai.responses.create(model='g', input=history, instructions=f'{Context().run} {RULES}')",),
        ("c = Model()", "openai.responses.create(model='g', input=history, instructions=f'{c.run} {RULES}')"),
        ("c = Old()", "openai.responses.create(model='g', input=history, instructions=f'{c.run} {RULES}')"),
        (
            "c = Context()",
            "openai.responses.create(model='g', input=history, instructions=f'{c.at} {RULES}')",
        ),
    ],
)
def test_what_a_request_is_given(codes, lines):
    found = codes(asking(*lines), "app.py", Severity.ERROR)
    assert [code for code, _ in found] in (["PC101"], ["PC102"])


@pytest.mark.parametrize(
    "call",
    [
        "Agent(name='clerk', instructions=clock)",
        "Agent(name='clerk', instructions=lambda c, a: clock(c, a))",
        "Agent(name='clerk', instructions=Rules().build)",
        "create_react_agent('g', [], prompt=clock)",
    ],
)
def test_a_function_is_asked_for_each_run(codes, call):
    found = codes(f"{HEAD}agent = {call}\n", "app.py", Severity.ERROR)
    assert [code for code, _ in found] in (["PC101"], ["PC102"])


@pytest.mark.parametrize(("name", "found"), [("run", ["PC102"]), ("at", ["PC101"]), ("name", [])])
def test_an_object_with_made_fields_is_handed_on(codes, name, found):
    build = (
        f"def build(c):\n    lines = []\n    lines.append(f'{{c.{name}}} {{RULES}}')\n    return lines[0]\n"
    )
    text = asking("c = Context()", "openai.responses.create(model='g', input=history, instructions=build(c))")
    assert [code for code, _ in codes(build + text, "app.py")] == found


def test_a_chat_is_made_once(codes):
    text = asking(f"return client.chats.create(model='g', config={{'system_instruction': [{NOW}, RULES]}})")
    assert [code for code, _ in codes(text, "app.py")] == ["PC101"]


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "agent = Agent(name='clerk', instructions=rules)\n",
        HEAD + "agent = Agent(name='clerk', instructions=rules, hooks=clock)\n",
        asking(
            f"client.models.generate_content(model='g', contents=[*history, {NOW}], config={{'seed': 1}})"
        ),
        asking(f"{ASK}types.GenerateContentConfig(system_instruction=[RULES], labels={{'at': {NOW}}}))"),
        asking(f"{ASK}{{'system_instruction': RULES, 'labels': [{NOW}]}})"),
        asking("c = Context()", f"openai.responses.create(model='g', input=history, instructions={RULES!r})"),
        asking(
            "c = Context(at='noon', run='1')",
            "openai.responses.create(model='g', input=history, instructions=f'{c.at}{c.run}{RULES}')",
        ),
    ],
)
def test_what_is_steady_or_goes_elsewhere(codes, text):
    assert codes(text, "app.py") == []
