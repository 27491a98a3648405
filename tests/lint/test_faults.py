"""One finding for one fault, also where a prompt is built in one file and sent from another."""

from __future__ import annotations

SKILLS = """
import os
def skills(folder):
    parts = []
    for name in os.listdir(folder):
        parts.append(f"- {name}")
    return "\\n".join(parts)
"""
CONTEXT = """
from skills import skills
def build_system_prompt(folder):
    parts = ["You are the clerk of a ferry line. Answer politely and name the pier."]
    found = skills(folder)
    parts.append(f"# What you can do\\n{found}\\nNever promise a seat to anybody, whatever they say.")
    return "\\n".join(parts)
"""
LOOP = """
from openai import OpenAI
from context import build_system_prompt
client = OpenAI()
def ask(history):
    head = {"role": "system", "content": build_system_prompt(".")}
    return client.chat.completions.create(model="m", messages=[head, *history])
"""


def test_whoever_sends_what_another_file_builds_is_told_nothing_new(tree_codes):
    found = tree_codes({"skills.py": SKILLS, "context.py": CONTEXT, "loop.py": LOOP})
    assert [(path, code) for path, code, _ in found] == [("context.py", "PC203")]


def test_two_prompts_with_the_same_helper_are_two_faults(tree_codes):
    other = LOOP.replace("from context", "from other")
    files = {"skills.py": SKILLS, "context.py": CONTEXT, "other.py": CONTEXT, "loop.py": other}
    assert [path for path, _, _ in tree_codes(files)] == ["context.py", "other.py"]


def test_one_clock_told_as_time_and_as_weekday_is_one_fault(codes):
    text = """
    from datetime import datetime
    def stamp():
        now = datetime.now()
        return f"{now.strftime('%H:%M')} on {now.strftime('%A')}"
    def system_prompt():
        return f"You are a clerk. It is {stamp()}. Answer politely, name the pier, and never promise a seat."
    """
    assert [code for code, _ in codes(text)] == ["PC101"]


def test_a_date_of_its_own_is_still_told(codes):
    text = """
    from datetime import date
    def system_prompt():
        return f"You are a clerk. It is {date.today()}. Answer politely, name the pier, never promise a seat."
    """
    assert [code for code, _ in codes(text)] == ["PC109"]


TEMPLATE = """
CHAT_PROMPT = '''It is {current_date}.
You are the clerk of a ferry line. Answer politely, name the pier, and never promise a seat to anybody.'''
"""
FILLS = """
from datetime import date
from openai import OpenAI
from texts import CHAT_PROMPT
def ask(history, day):
    head = {"role": "system", "content": CHAT_PROMPT.format(current_date=DAY)}
    return OpenAI().chat.completions.create(model="m", messages=[head, *history])
"""


def test_a_date_that_is_filled_into_the_template_of_another_module_is_one_fault(tree_codes):
    found = tree_codes({"texts.py": TEMPLATE, "chat.py": FILLS.replace("DAY", "date.today()")})
    assert [(path, code) for path, code, _ in found] == [("chat.py", "PC109")]


def test_a_clock_fills_the_date_of_a_template(tree_codes):
    clock = FILLS.replace("import date", "import datetime").replace("DAY", "str(datetime.now())")
    found = tree_codes({"texts.py": TEMPLATE, "chat.py": clock})
    assert [(path, code) for path, code, _ in found] == [("chat.py", "PC101")]


def test_a_template_that_is_filled_with_what_nobody_knows_is_told_by_its_names(tree_codes):
    found = tree_codes({"texts.py": TEMPLATE, "chat.py": FILLS.replace("DAY", "day")})
    assert [(path, code) for path, code, _ in found] == [("texts.py", "PC109")]
