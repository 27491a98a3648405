"""TypeScript: chance and the clock through formatting, items of joined lists, counters, and weak wording."""

# ruff: noqa: E501 - snippets of another language

from __future__ import annotations

import pytest

pytest.importorskip("tree_sitter_typescript")

from promptcache_lint import Settings, Severity, lint_text

_HEAD = """import OpenAI from "openai";
import os from "node:os";
const openai = new OpenAI();
"""


def _sent(value: str, before: str = "") -> str:
    return f"""{_HEAD}export async function ask(q: string) {{
  {before}
  return openai.chat.completions.create({{ model: "m", messages: [
    {{ role: "system", content: `You are a butler {value}. Be kind to all guests.` }}, {{ role: "user", content: q }}] }});
}}
"""


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("${Math.random()}", "PC103"),
        ("${Math.random().toString(36)}", "PC103"),
        ("${Math.random().toString(36).slice(2, 8)}", "PC103"),
        ("${Math.random().toString(36).substring(2).toUpperCase()}", "PC103"),
        ("${Math.random().toFixed(2)}", "PC103"),
        ("${Math.floor(Math.random() * 100).toString().padStart(3, '0')}", "PC103"),
        ("${Date.now().toString(36).slice(-4)}", "PC101"),
        ("${String(Date.now()).padStart(20)}", "PC101"),
    ],
)
def test_a_number_stays_volatile_however_it_is_written(value, code, codes):
    assert codes(_sent(value), "agent.ts") == [(code, 7)]


@pytest.mark.parametrize(
    "value", ["${Math.PI.toFixed(2)}", "${Math.max(1, 2).toString(36)}", "${q.length.toFixed(1)}"]
)
def test_a_fixed_number_is_no_fault(value, codes):
    assert codes(_sent(value), "agent.ts") == []


def test_each_volatile_item_of_a_joined_array_is_reported(codes):
    before = """const nonce = Date.now().toString(36);
  const env = [
    "<env>",
    process.cwd(),
    os.hostname(),
    nonce,
    "</env>",
  ].join("\\n");"""
    assert codes(_sent("${env}", before), "agent.ts") == [("PC105", 8), ("PC105", 9), ("PC101", 10)]


def _findings(text: str, name: str = "view.tsx") -> list[tuple[str, Severity, int]]:
    report = lint_text(text, name, Settings(severity=Severity.INFO))
    return [(found.code, found.severity, found.place.row) for found in report.findings]


TOAST = """import { toast } from "sonner";
export const notice = (n: string) => `You are now following ${n} (${new Date().toLocaleTimeString()})`;
export const HELLO = `You are here since ${new Date().toLocaleTimeString()}. You may stay as long as you like.`;
export function greeting(n: string) {
  return `You are welcome, ${n}! It is ${new Date().toLocaleTimeString()}. Have a nice stay with all of us.`;
}
export function Room() { return <p role="note">{greeting("you are ")}</p>; }
"""


def test_a_text_that_only_begins_like_a_prompt_is_none_where_nothing_asks_a_model():
    assert _findings(TOAST) == []


HELPER = """export function helper(n: string) {
  return `You are a helper of ${n}. It is ${new Date().toLocaleTimeString()}. Answer briefly and kindly, always.`;
}
"""


def test_it_is_no_error_where_the_module_has_to_do_with_models():
    text = 'import { generateText } from "ai";\n' + HELPER
    assert _findings(text, "helper.ts") == [("PC101", Severity.WARNING, 3)]


def test_what_is_sent_or_named_is_certain_still():
    sent = HELPER + "export const ask = (q) => generateText({ model, system: helper('Ann'), prompt: q });\n"
    assert ("PC101", Severity.ERROR) in {found[:2] for found in _findings(sent, "helper.ts")}
    named = HELPER.replace("function helper", "function systemPrompt")
    assert _findings(named, "helper.ts") == [("PC101", Severity.ERROR, 2)]
