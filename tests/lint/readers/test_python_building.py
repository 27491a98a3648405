"""Texts that are built bit by bit: in streams, in objects that give themselves back, from files."""

from __future__ import annotations

import pytest

RULES = "Answer in the language of the customer, briefly, and never promise a refund. " * 8
HEAD = f"""\
import io, sys, uuid
from datetime import datetime
from pathlib import Path
from string import Template
from openai import OpenAI
client = OpenAI()
RULES = "{RULES}"
FILE = Path("system.txt").read_text()
class Builder:
    def __init__(self):
        self.parts = []
        self.seen = ""
    def add(self, text):
        self.parts.append(text)
        return self
    def clock(self):
        return self.add(f"It is {{datetime.now()}}.")
    def note(self, text):
        self.seen += text
        return self
    def build(self):
        return "\\n".join(self.parts)
def stamped(out):
    print("It is", datetime.now(), file=out)
def ask(history):
"""
SEND = 'return client.chat.completions.create(model="gpt-4.1", messages=[{"role": "system", "content": '
NOW = "f'It is {datetime.now()}.'"


def program(lines, system):
    return HEAD + "".join(f"    {line}\n" for line in [*lines, SEND + system + "}, *history])"])


@pytest.mark.parametrize(
    ("lines", "system"),
    [
        ((), f"Builder().add({NOW}).add(RULES).build()"),
        ((), "Builder().clock().add(RULES).build()"),
        (("b = Builder()", "b.add('You are a clerk.')", f"b.add({NOW})", "b.add(RULES)"), "b.build()"),
        (("b = Builder()", "b = b.add('You are a clerk.')", "b = b.clock()"), "b.add(RULES).build()"),
        (("out = io.StringIO()", f"out.write({NOW})", "out.write(RULES)"), "out.getvalue()"),
        (("out = io.StringIO()", "stamped(out)", "print(RULES, file=out)"), "out.getvalue()"),
        (("out = io.StringIO('You are a clerk.')", f"out.writelines([{NOW}, RULES])"), "out.getvalue()"),
        ((), "FILE.replace('<<NOW>>', datetime.now().isoformat())"),
        ((), "Template(FILE).substitute(now=datetime.now())"),
        (("text = open('system.md').read()",), "text.format_map({'now': datetime.now()})"),
    ],
)
def test_what_is_built_bit_by_bit(codes, lines, system):
    assert [code for code, _ in codes(program(lines, system), "app.py")] == ["PC101"]


@pytest.mark.parametrize(
    ("lines", "system"),
    [
        ((), f"Builder().note({NOW}).add(RULES).build()"),
        (("other = Builder().clock()", "b = Builder().add(RULES)"), "b.build()"),
        (("out, log = io.StringIO(), io.StringIO()", "stamped(log)", "out.write(RULES)"), "out.getvalue()"),
        (("print(datetime.now(), file=sys.stderr)", "stamped(sys.stderr)"), "RULES"),
        ((), "FILE.replace('<<NAME>>', 'Ada')"),
        (("name = datetime.now().replace(microsecond=0)", "print(name)"), "FILE + RULES"),
        ((), "Template(FILE).substitute(name='Ada')"),
    ],
)
def test_what_goes_elsewhere_or_stays(codes, lines, system):
    assert codes(program(lines, system), "app.py") == []
