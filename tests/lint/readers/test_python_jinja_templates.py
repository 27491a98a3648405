"""Jinja2 templates that a program renders: what it fills in is found, at the field or at the call."""

from __future__ import annotations

import pytest

from promptcache_lint import Severity

HEAD = """\
import os, uuid
from datetime import datetime
from pathlib import Path
import jinja2
from jinja2 import DictLoader, Environment, FileSystemLoader, PackageLoader, Template
from flask import render_template_string
from openai import OpenAI
client = OpenAI()
"""
RULES = "Answer in the language of the customer, briefly, and never promise a refund. " * 8
SEND = """\
def ask(history):
    system = {system}
    talk = [{{"role": "system", "content": system}}, *history]
    return client.chat.completions.create(model="gpt-4.1", messages=talk)
"""
NOW = f"T = Template('Agent of {{{{ company }}}} at {{{{ moment }}}}. {RULES}')\n"
ROW = len(HEAD.splitlines()) + 1


def program(before, system):
    return HEAD + before + SEND.format(system=system)


@pytest.mark.parametrize(
    ("before", "system", "code"),
    [
        (NOW, "T.render(company='Lark', moment=datetime.now())", "PC101"),
        (NOW, "T.render({'company': 'Lark', 'moment': datetime.now()})", "PC101"),
        (NOW.replace("Template(", "Environment().from_string("), "T.render(moment=uuid.uuid4())", "PC102"),
        (NOW.replace("moment", "ids()"), "T.render(ids=uuid.uuid4)", "PC102"),
        (NOW.replace("moment", "c.moment"), "T.render(c={'moment': datetime.now()})", "PC101"),
        (
            f"E = Environment(loader=DictLoader({{'s': 'At {{{{ at }}}}. {RULES}'}}))\n",
            "E.get_template('s').render(at=datetime.now())",
            "PC101",
        ),
        (
            f"TEXT = 'At {{{{ at }}}}. {RULES}'\n",
            "render_template_string(TEXT, at=datetime.now())",
            "PC101",
        ),
    ],
)
def test_what_fills_a_literal_stands_in_it(codes, before, system, code):
    assert codes(program(before, system), "app.py") == [(code, ROW)]


@pytest.mark.parametrize(
    "change",
    ["E.globals['stamp'] = lambda: datetime.now().isoformat()", "E.globals.update(stamp=datetime.now)"],
)
def test_what_an_environment_shares(codes, change):
    found = codes(
        program(f"E = Environment()\n{change}\n", f"E.from_string('{{{{ stamp() }}}} {RULES}').render()")
    )
    assert found == [("PC101", ROW + 3)]


@pytest.mark.parametrize(
    ("before", "system"),
    [
        (NOW.replace("at {{ moment }}", "at work"), "T.render(company='Lark', moment=datetime.now())"),
        (NOW, "T.render(company='Lark', moment='noon')"),
        (NOW.replace("moment }}", 'moment.strftime("%Y") }}'), "T.render(moment=datetime.now())"),
        (NOW.replace("moment", "now"), "T.render(company='Lark', now='noon')"),
    ],
)
def test_what_is_not_rendered_or_does_not_change(codes, before, system):
    assert codes(program(before, system), "app.py") == []


def test_once_for_each_process(codes):
    text = program(NOW + "SYSTEM = T.render(moment=datetime.now())\n", "SYSTEM")
    assert codes(text, "app.py") == []
    assert [code for code, _ in codes(text, "app.py", Severity.INFO)] == ["PC110"]


AGENT = f"You are the agent of {{{{ company }}}}.\nIt is {{{{ now }}}}, or {{{{ moment }}}}.\n{RULES}\n"


@pytest.mark.parametrize(
    ("folder", "environment", "template"),
    [
        ("tpl", "Environment(loader=FileSystemLoader('tpl'))", "E.get_template('agent.j2')"),
        (
            "tpl",
            "jinja2.Environment(loader=FileSystemLoader(Path(__file__).parent / 'tpl'))",
            "E.get_template('agent.j2')",
        ),
        (
            "app/prompts",
            "Environment(loader=PackageLoader('app', 'prompts'))",
            "E.select_template(['no.j2', 'agent.j2'])",
        ),
        ("tpl", "Environment()", "Template(Path('tpl/agent.j2').read_text())"),
        ("tpl", "Environment()", "E.from_string(open('tpl/agent.j2').read())"),
    ],
)
@pytest.mark.parametrize("name", ["now", "moment"])
def test_what_fills_a_file_stands_at_the_call_once(tree_codes, folder, environment, template, name):
    app = program(f"E = {environment}\n", f"{template}.render(company='Lark', {name}=datetime.now())")
    other = {"moment": "now", "now": "moment"}[name]
    agent = AGENT.replace(f"{{{{ {other} }}}}", "never")
    assert tree_codes({"app.py": app, f"{folder}/agent.j2": agent}) == [("app.py", "PC101", ROW + 2)]


@pytest.mark.parametrize("made", ["Environment(loader=L)", "Ours(loader=L)"])
@pytest.mark.parametrize("kept", ["Prompts", "prompts"])
def test_what_fills_a_template_that_an_object_of_another_module_keeps_is_told_once(tree_codes, made, kept):
    prompts = f"""\
from jinja2 import Environment, FileSystemLoader
L = FileSystemLoader("tpl")
class Ours(Environment):
    trim_blocks = True
class Kept:
    def __init__(self):
        self.agent = {made}.get_template("agent.j2")
{kept} = Kept()
"""
    system = f"{kept}.agent.render(company='Lark', now=datetime.now(), moment=datetime.now().timestamp())"
    app = f"from prompts import {kept}\n" + program("", system)
    found = tree_codes({"app.py": app, "prompts.py": prompts, "tpl/agent.j2": AGENT})
    assert found == [("app.py", "PC101", ROW + 2)]


def test_a_file_that_is_not_there_passes_on_what_it_gets(codes):
    system = "E.get_template('gone.j2').render(moment=datetime.now())"
    assert codes(program("E = Environment()\n", system), "app.py") == [("PC101", ROW + 2)]


def test_the_newest_message_may_hold_it(tree_codes):
    app = program("E = Environment(loader=FileSystemLoader('tpl'))\n", "'Be brief.'").replace(
        "*history]",
        '{"role": "user", "content": E.get_template("turn.j2").render(at=datetime.now())}]',
    )
    assert tree_codes({"app.py": app, "tpl/turn.j2": f"{RULES}\nIt is {{{{ at }}}}."}) == []
