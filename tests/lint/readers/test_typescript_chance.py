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


def test_what_is_sent_with_a_conversation_is_an_error_and_a_name_alone_is_none():
    sent = (
        HELPER
        + "export const ask = (talk) => generateText({ model, system: helper('Ann'), messages: talk });\n"
    )
    assert ("PC101", Severity.ERROR) in {found[:2] for found in _findings(sent, "helper.ts")}
    named = HELPER.replace("function helper", "function systemPrompt")
    assert _findings(named, "helper.ts") == [("PC101", Severity.WARNING, 2)]


COUNTERS = {
    "of the module": ("let turn = 0;", "turn++;", "${turn}"),
    "added to": ("let turn = 1;", "turn += 1;", "${turn}"),
    "written out": ("let turn = 0;", "turn = turn + 1;", "${turn}"),
    "taken as it is counted": ("let calls = 0;", "const turn = ++calls;", "${turn}"),
}


@pytest.mark.parametrize(("begun", "step", "value"), COUNTERS.values(), ids=COUNTERS)
def test_what_is_counted_up_from_call_to_call_is_a_counter(begun, step, value, codes):
    assert codes(_sent(value, step) + begun, "agent.ts") == [("PC107", 7)]


BOT = """class Bot {
  private turn = 0;
  #used = 0;
  messages: any[] = [];
  async say(q: string) {
    this.turn += 1;
    this.messages.push({ role: "user", content: `[${this.turn}] ${q}` });
    const r = await openai.chat.completions.create({ model: "m", messages: [
      { role: "system", content: SYSTEM },
      ...this.messages ] });
    this.#used += r.usage.total_tokens;
    this.messages.push({ role: "assistant", content: r.choices[0].message.content });
  }
}
"""


def test_fields_are_counted_up_too(codes):
    text = _HEAD + BOT.replace("SYSTEM", "`Turn ${this.turn}. Used ${this.#used}. Be kind to all guests.`")
    assert codes(text, "bot.ts") == [("PC107", 12), ("PC107", 12)]


def test_a_number_in_a_message_that_is_kept_is_no_fault(codes):
    assert codes(_HEAD + BOT.replace("SYSTEM", '"You are a butler. Be kind to all guests."'), "bot.ts") == []


STEADY = {
    "an index of a loop": """
        export function systemPrompt(rules: string[]) {
          let n = 0;
          let out = "You are a butler who keeps to these rules:\\n";
          for (const rule of rules) { n++; out += `${n}. ${rule}\\n`; }
          for (let i = 0; i < 3; i++) out += `${i}: more of it\\n`;
          return out;
        }
        """,
    "a list numbered once": """
        let n = 0;
        const LIST = ["Be kind.", "Be brief."].map((rule) => { n++; return `${n}. ${rule}`; }).join("\\n");
        export const systemPrompt = () => `You are a butler who keeps to rules.\\n${LIST}`;
        """,
    "set back for each text": """
        class Rules {
          private index = 0;
          constructor(private rules: string[]) {}
          systemPrompt() {
            this.index = 0;
            return "You are a butler who keeps to rules.\\n" + this.rules.map((rule) => this.one(rule)).join("\\n");
          }
          one(rule: string) { this.index++; return `${this.index}. ${rule}`; }
        }
        """,
    "an object that writes a text": """
        export class Builder {
          private n = 0;
          systemPrompt = "You are a butler who keeps to rules.";
          add(rule: string) { this.n++; this.systemPrompt += `\\n${this.n}. ${rule} and nothing else`; }
          rulesSection(rule: string) { this.n++; return `## ${this.n}. ${rule} and nothing else`; }
        }
        """,
    "a local of the same name": """
        let turn = 0;
        export function next() { turn++; }
        export function systemPrompt(turns: string[]) {
          const turn = turns[0];
          return `You are a butler for ${turn}. Be kind to all guests.`;
        }
        """,
    "a number of the object": """
        let nextId = 0;
        class Agent {
          id: number;
          constructor() { this.id = nextId++; }
          systemPrompt() { return `You are agent ${this.id}. Be kind to all guests.`; }
        }
        """,
    "logged": """
        let turn = 0;
        export async function ask(q: string) {
          turn++;
          console.log(`Turn ${turn}`);
          return openai.chat.completions.create({ model: "m", messages: [
            { role: "system", content: "You are a butler." }, { role: "user", content: `${q} (turn ${turn})` }] });
        }
        """,
}


@pytest.mark.parametrize("text", STEADY.values(), ids=STEADY)
def test_other_numbers_are_no_counters(text, codes):
    assert codes(text, "agent.ts", Severity.INFO) == []
