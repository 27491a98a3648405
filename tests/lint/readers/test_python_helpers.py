"""What helpers make of a prompt: blocks, sections, examples, what they find or look up by a key."""

from __future__ import annotations

from textwrap import dedent

import pytest

from promptcache_lint import lint_text

HEAD = """
import random
import anthropic
import dspy
from datetime import datetime
from pathlib import Path
from openai import OpenAI

client = OpenAI()
claude = anthropic.Anthropic()
RULES = (
    "Answer from the passages only. Quote the passage and name its page. Never guess. If nothing answers the "
    "question say so. Use plain words, short sentences, and the language of the question. Give a list where "
    "there are several answers and keep their order. Do not mention these rules. Be kind to everybody, "
    "and when you have to refuse something, say in one short sentence why you do, and what could be done "
    "instead of it."
)
"""
SENDS = """
def ask(question, customer, history):
    system = SYSTEM
    messages = [{"role": "system", "content": system}, *history, {"role": "user", "content": question}]
    return client.chat.completions.create(model="m", messages=messages)
"""


def _found(text: str) -> list[tuple[str, int]]:
    whole = dedent(HEAD + text)
    return [(found.code, found.place.row) for found in lint_text(whole, "talk.py").findings]


def _codes(text: str) -> list[str]:
    return [code for code, _ in _found(text)]


FINDS = """
def FOUND(query):
    rows = client.post("/find", {"query": query})
    return [row["text"] for row in rows]
"""


@pytest.mark.parametrize("name", ["search", "retrieve_passages", "similarity_search", "get_relevant_notes"])
def test_what_a_function_finds_for_the_question_is_retrieved(name: str) -> None:
    sends = SENDS.replace("SYSTEM", '"\\n".join(FOUND(question)) + RULES')
    assert _codes((FINDS + sends).replace("FOUND", name)) == ["PC402"]


@pytest.mark.parametrize(
    ("name", "given"),
    [("search", "'opening hours'"), ("load_sections", "question"), ("searchable", "question")],
)
def test_what_no_question_decides_is_not_retrieved(name: str, given: str) -> None:
    sends = SENDS.replace("SYSTEM", f'"\\n".join(FOUND({given})) + RULES')
    assert _codes((FINDS + sends).replace("FOUND", name)) == []


BLOCKS = """
EPHEMERAL = {"type": "ephemeral"}

def block(text):
    return {"type": "text", "text": text, "cache_control": EPHEMERAL}

def ask(a, b, c, d, e, messages):
    return claude.messages.create(model="m", max_tokens=9, system=[BLOCKS], messages=messages)
"""


def test_breakpoints_of_blocks_that_a_helper_makes_are_counted_at_the_request() -> None:
    row = HEAD.count("\n") + BLOCKS.partition("return claude")[0].count("\n") + 1
    assert _found(BLOCKS.replace("BLOCKS", ", ".join(f"block({name})" for name in "abcde"))) == [
        ("PC603", row)
    ]
    assert _found(BLOCKS.replace("BLOCKS", ", ".join(f"block({name})" for name in "abcd"))) == []


@pytest.mark.parametrize("field", ["customer[row]", "customer.get(row)", "getattr(customer, row)"])
def test_a_field_that_a_variable_names_is_the_customers(field: str) -> None:
    system = f'"\\n".join(f"{{row}}: {{{field}}}" for row in ("name", "plan")) + RULES'
    assert _codes(SENDS.replace("SYSTEM", system)) == ["PC104"]
    assert _codes(SENDS.replace("SYSTEM", system.replace("customer", "texts"))) == []


SHOTS = """
def shots(pool):
    for example in DRAWN:
        yield {"role": "user", "content": example["text"]}
        yield {"role": "assistant", "content": example["label"]}

def ask(question, pool):
    messages = [{"role": "system", "content": "Label the headline."}]
    messages.extend(shots(pool))
    messages.append({"role": "user", "content": question})
    return client.chat.completions.create(model="m", messages=messages)
"""


def test_examples_that_a_generator_draws_are_drawn() -> None:
    assert _codes(SHOTS.replace("DRAWN", "random.sample(pool, 6)")) == ["PC103"]
    assert _codes(SHOTS.replace("DRAWN", "pool[:6]")) == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("found = {p.stem: p.read_text() for p in Path('kb').glob('*.md')}", []),
        ("found = {}\n    for p in Path('kb').glob('*.md'):\n        found[p.stem] = p.read_text()", []),
    ],
)
@pytest.mark.parametrize(
    ("taken", "unordered"),
    [
        ("found[key] for key in sorted(found)", False),
        ("found[key] for key in ('a', 'b')", False),
        ("found[key] for key in found", True),
        ("found.values()", True),
        ("f'{key}: {text}' for key, text in found.items()", True),
    ],
)
def test_the_order_of_a_dict_is_lost_where_its_items_are_looked_up(
    body: str, expected: list[str], taken: str, unordered: bool
) -> None:
    made = f'def pages():\n    {body}\n    return "\\n".join({taken})\n'
    found = _codes(made + SENDS.replace("SYSTEM", "pages() + RULES"))
    assert found == (["PC203"] if unordered else expected)


SECTIONS = """
def build_system(question, loud):
    parts = ["You are the help desk of a bicycle-sharing scheme."]
    if TEST:
        parts.append("Rides shorter than two minutes are refunded.")
    parts.append(RULES)
    return "\\n".join(parts)
"""


@pytest.mark.parametrize("test", ["'refund' in question.lower()", "question.startswith('Refund')"])
def test_a_section_for_words_of_the_question_comes_and_goes(test: str) -> None:
    text = SECTIONS.replace("TEST", test) + SENDS.replace("SYSTEM", "build_system(question, True)")
    assert _codes(text) == ["PC404"]


@pytest.mark.parametrize("test", ["loud", "RULES", "'refund' in RULES"])
def test_a_section_that_is_set_up_is_fine(test: str) -> None:
    text = SECTIONS.replace("TEST", test) + SENDS.replace("SYSTEM", "build_system(question, True)")
    assert _codes(text) == []


def test_instructions_that_a_signature_gets_are_a_prompt() -> None:
    signature = """
class Label(dspy.Signature):
    text: str = dspy.InputField()

def label(text):
    now = datetime.now()
    signature = Label.with_instructions(f"As of {WHAT}, label the complaint. Choose the main grievance.")
    return dspy.Predict(signature)(text=text)
"""
    assert _codes(signature.replace("WHAT", "now:%H:%M")) == ["PC101"]
    assert _codes(signature.replace("WHAT", "len(text)")) == []


def test_a_mail_that_says_why_it_is_received_is_no_prompt() -> None:
    mail = 'BODY = "You are receiving this mail because you subscribed. Sent {sent}."\n'
    assert _codes(mail + "def send():\n    return BODY.format(sent=datetime.now())\n") == []


def test_two_fields_of_one_user_in_a_tool_are_one_fault() -> None:
    tool = """
def tools(user):
    return [{"name": "add", "description": f"For {user.name} of {user.city}.", "input_schema": {}}]

def ask(user, messages):
    return claude.messages.create(model="m", max_tokens=9, tools=tools(user), messages=messages)
"""
    assert _codes(tool) == ["PC303"]
