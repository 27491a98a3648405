"""Tools stand in front of all else: where they change, mending what is behind them alone gains nothing."""

from __future__ import annotations

import pytest

from promptcache_lint import Severity, lint_text

RULES = "You are the clerk of a shop. Be kind and brief. Never promise a delivery date. " * 40
PYTHON = f"""
from datetime import datetime
from openai import OpenAI
client = OpenAI()
RULES = "{RULES}"

class Clerk:
    def __init__(self):
        self.messages = []

    def ask(self, question):
        self.messages.append({{"role": "user", "content": question}})
        reply = client.chat.completions.create(
            model="gpt-4.1",
            messages=[{{"role": "system", "content": f"NOW{{RULES}}"}}, *self.messagesCUT],
            tools=TOOLS,
        )
        self.messages.append({{"role": "assistant", "content": reply.choices[0].message.content}})
        return reply
"""
TYPESCRIPT = f"""
import OpenAI from "openai";
const client = new OpenAI();
const RULES = "{RULES}";
export class Clerk {{
  private messages: any[] = [];
  async ask(question: string) {{
    this.messages.push({{ role: "user", content: question }});
    const reply = await client.chat.completions.create({{
      model: "gpt-4.1",
      messages: [{{ role: "system", content: `NOW${{RULES}}` }}, ...this.messagesCUT],
      tools: TOOLS,
    }});
    this.messages.push({{ role: "assistant", content: reply.choices[0].message.content }});
    return reply;
  }}
}}
"""


def _found(name: str, text: str, now: str, cut: str, tools: str) -> dict[str, Severity]:
    text = text.replace("NOW", now).replace("CUT", cut).replace("TOOLS", tools)
    return {finding.code: finding.severity for finding in lint_text(text, name).findings}


@pytest.mark.parametrize(
    ("tools", "severity"),
    [("select_tools(question)", Severity.WARNING), ('select_tools(["a"])', Severity.ERROR)],
)
@pytest.mark.parametrize(
    ("code", "now", "cut"), [("PC101", "{datetime.now()} ", ""), ("PC501", "", "[-20:]")]
)
def test_a_fault_behind_tools(code: str, now: str, cut: str, tools: str, severity: Severity) -> None:
    found = _found("clerk.py", PYTHON, now, cut, tools)
    assert found[code] == severity
    assert ("PC302" in found) == (severity == Severity.WARNING)


@pytest.mark.parametrize(
    ("tools", "severity"),
    [("selectTools(question)", Severity.WARNING), ('selectTools(["a"])', Severity.ERROR)],
)
@pytest.mark.parametrize(
    ("code", "now", "cut"), [("PC101", "${new Date().toISOString()} ", ""), ("PC501", "", ".slice(-20)")]
)
def test_a_fault_behind_tools_in_typescript(
    code: str, now: str, cut: str, tools: str, severity: Severity
) -> None:
    pytest.importorskip("tree_sitter_typescript")
    found = _found("clerk.ts", TYPESCRIPT, now, cut, tools)
    assert found[code] == severity
    assert ("PC302" in found) == (severity == Severity.WARNING)


@pytest.mark.parametrize(
    ("moves", "expected"), [("this.stage = 'buy';", ["PC302"]), ("this.last = 'buy';", [])]
)
def test_tools_of_a_stage_that_the_talk_leaves(moves: str, expected: list[str]) -> None:
    pytest.importorskip("tree_sitter_typescript")
    text = TYPESCRIPT.replace(
        "    return reply;", f"    if (reply.choices.length > 1) {moves}\n    return reply;"
    )
    found = _found("clerk.ts", text, "", "", "TABLE[this.stage]")
    assert [code for code in found if code == "PC302"] == expected
