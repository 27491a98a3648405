"""Functions in tables, and those of modules that are called by the module's name."""

from __future__ import annotations

import pytest

RULES = "Answer in the language of the customer, briefly, and never promise a refund. " * 8
HEAD = f"""\
from datetime import datetime
from openai import OpenAI
client = OpenAI()
RULES = "{RULES}"
def clerk():
    return f"You are a clerk. It is {{datetime.now()}}. {{RULES}}"
def cook():
    return f"You are a cook. {{RULES}}"
PROMPTS = {{"cook": cook, "clerk": clerk}}
TEXTS = {{"cook": lambda: RULES, "clerk": lambda: f"It is {{datetime.now()}}. {{RULES}}"}}
PARTS = [lambda: "You are a clerk.", lambda: f"It is {{datetime.now()}}.", lambda: RULES]
head = lambda: f"It is {{datetime.now()}}."
def joined():
    found = []
    for part in PARTS:
        found.append(part())
    return "\\n".join(found)
def ask(kind, history):
"""
SEND = "    return client.responses.create(model='gpt-4.1', input=history, instructions="


@pytest.mark.parametrize(
    "system",
    [
        "PROMPTS[kind]()",
        "PROMPTS['clerk']()",
        "PROMPTS.get(kind, cook)()",
        "TEXTS['clerk']()",
        "TEXTS[kind]()",
        "'\\n'.join(part() for part in PARTS)",
        "joined()",
        "head() + RULES",
    ],
)
def test_a_function_of_a_table_is_called(codes, system):
    assert {code for code, _ in codes(f"{HEAD}{SEND}{system})\n", "app.py")} == {"PC101"}


@pytest.mark.parametrize(
    "lines",
    [
        f"{SEND}PROMPTS['cook']())\n",
        f"{SEND}TEXTS['cook']())\n",
        f"    log(head())\n{SEND}RULES)\n",
        f"    history.append({{'role': 'user', 'content': head()}})\n{SEND}RULES)\n",
    ],
)
def test_another_is_called_or_nobody_is_told(codes, lines):
    text = HEAD.replace("def clerk():\n    return", "def clerk():\n    text =")
    assert codes(f"{text}{lines}", "app.py") == []


@pytest.mark.parametrize(
    ("imported", "call"),
    [
        ("from desk import prompts", "prompts.build"),
        ("import desk.prompts", "desk.prompts.build"),
        ("import desk.prompts as texts", "texts.build"),
        ("from desk.prompts import build", "build"),
    ],
)
@pytest.mark.parametrize("steady", [False, True])
def test_a_function_of_a_module(tree_codes, imported, call, steady):
    app = (
        f"{imported}\nfrom openai import OpenAI\nclient = OpenAI()\ndef ask(company, history):\n"
        f"{SEND}{call}(company))\n"
    )
    text = "You are ours. " if steady else "It is {datetime.datetime.now()}. "
    prompts = f"import datetime\nRULES = '{RULES}'\ndef build(company):\n    return f'{text}' + RULES\n"
    found = tree_codes({"app.py": app, "desk/__init__.py": "", "desk/prompts.py": prompts})
    assert [code for _, code, _ in found] == ([] if steady else ["PC101"])


TABLES = f"""\
from datetime import datetime
RULES = "{RULES}"
def clerk():
    text = f"It is {{datetime.now()}}. {{RULES}}"
    return text
def cook():
    return RULES
PROMPTS = {{"cook": cook, "clerk": clerk}}
TEXTS = {{"cook": lambda: RULES, "clerk": lambda: f"It is {{datetime.now()}}. {{RULES}}"}}
"""
LISTED = "from desk.tables import clerk, cook\nHANDLERS = {'cook': cook, 'clerk': clerk}\n"


@pytest.mark.parametrize("steady", [False, True])
@pytest.mark.parametrize(
    ("imported", "call"),
    [
        ("from desk.tables import PROMPTS", "PROMPTS[kind]"),
        ("from desk.tables import PROMPTS as texts", "texts.get(kind)"),
        ("from desk.tables import TEXTS", "TEXTS['clerk']"),
        ("from desk import tables", "tables.PROMPTS.get(kind, tables.cook)"),
        ("from desk.listed import HANDLERS", "HANDLERS[kind]"),
        ("import desk.listed", "desk.listed.HANDLERS['clerk']"),
    ],
)
def test_a_table_of_another_module(tree_codes, imported, call, steady):
    client = "from openai import OpenAI\nclient = OpenAI()\n"
    app = f"{imported}\n{client}def ask(kind, history):\n{SEND}{call}())\n"
    tables = TABLES.replace("datetime.now()", "RULES") if steady else TABLES
    files = {"app.py": app, "desk/__init__.py": "", "desk/tables.py": tables, "desk/listed.py": LISTED}
    found = tree_codes(files)
    assert [code for _, code, _ in found] == ([] if steady else ["PC101"])


def test_tables_of_modules_that_import_each_other_end(tree_codes):
    app = "from b import B\ndef ask(kind):\n    return f'{B[kind]()} {A}'\nA = {'x': B, 'y': ask}\n"
    assert tree_codes({"a.py": app, "b.py": app.replace("from b import B", "from a import A as B")}) == []
