"""A file that calls more than is followed for one says so, and what was found in it is told all the same."""

from __future__ import annotations

import pytest

from promptcache_lint import Settings, Severity, lint_text

PYTHON = """
from datetime import datetime
from openai import OpenAI

client = OpenAI()

def row(text):
    return f"{{text}} at {{datetime.now()}}"

def ask(question):
    system = "You are the clerk of a ferry line. " + str(datetime.now())
    {rows}
    messages = [{{"role": "system", "content": system}}, {{"role": "user", "content": question}}]
    return client.chat.completions.create(model="m", messages=messages)
"""
TYPESCRIPT = """
import OpenAI from "openai";
const client = new OpenAI();

function row(text: string) {{ return `${{text}} at ${{new Date()}}`; }}

async function ask(question: string) {{
  let system = "You are the clerk of a ferry line. " + new Date();
  {rows}
  const messages = [{{ role: "system", content: system }}, {{ role: "user", content: question }}];
  return client.chat.completions.create({{ model: "m", messages }});
}}
"""
PROGRAMS = {
    "talk.py": (PYTHON, 'system += row("{n}")\n    '),
    "talk.ts": (TYPESCRIPT, 'system += row("{n}");\n  '),
}


def found(name: str, calls: int) -> set[tuple[str, str]]:
    program, row = PROGRAMS[name]
    text = program.format(rows="".join(row.format(n=n) for n in range(calls)))
    findings = lint_text(text, name, Settings(severity=Severity.INFO)).findings
    return {
        (finding.code, str(finding.severity)) for finding in findings if finding.code in {"PC101", "PC900"}
    }


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_file_that_calls_more_than_is_followed_says_so(name: str) -> None:
    if name.endswith(".ts"):
        pytest.importorskip("tree_sitter")
    few, many = found(name, 3), found(name, 700)
    assert {code for code, _ in few} == {"PC101"}
    assert many == {*few, ("PC900", "info")}
