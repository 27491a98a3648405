"""What changes between the requests of a conversation in TypeScript: PC107, PC304, PC305, PC502, PC503, PC507."""

# ruff: noqa: E501 - snippets of another language

from __future__ import annotations

import pytest

pytest.importorskip("tree_sitter_typescript")

from promptcache_lint import Settings, Severity, lint_text

_HEAD = """import OpenAI from "openai";
import { generateText } from "ai";
const client = new OpenAI();
const RULES = "You review the changes of a platform for payments. Read all of it before you comment. Be brief.";
"""


def _codes(text: str) -> list[str]:
    report = lint_text(_HEAD + text, "src/agent.ts", Settings(severity=Severity.WARNING))
    return [found.code for found in report.findings]


def _turn(model: str = '"m"', tools: str = "[]", before: str = "", messages: str = "messages") -> str:
    return f"""
export async function turn(messages: any[], text: string, config: any, mcp: any, names: string[]) {{
  messages.push({{ role: "user", content: text }});
  {before}
  const r = await client.chat.completions.create({{ model: {model}, tools: {tools}, messages: {messages} }});
  messages.push(r.choices[0].message);
}}
"""


CALLS = """messages.push({ role: "assistant", tool_calls: message.tool_calls.map((c: any) => (
    { id: c.id, type: "function", function: { name: c.function.name, arguments: ARGUMENTS } })) });"""
RACE = (
    "while (pending.size) { const d: any = await RACED; pending.delete(d.tool_call_id); messages.push(d); }"
)
FOUND = {
    "model by length": (_turn('text.length < 80 ? "small" : "large"'), "PC503"),
    "model by a name": (
        _turn("model", before='const model = text.includes("code") ? "large" : "small";'),
        "PC503",
    ),
    "model by chance": (_turn('Math.random() < 0.1 ? "new" : "old"'), "PC503"),
    "model that is drawn": (_turn("names[Math.floor(Math.random() * names.length)]"), "PC503"),
    "model that is picked": (_turn("pickModel(text)"), "PC503"),
    "model by the number of turns": (_turn('messages.length > 20 ? "large" : "small"'), "PC503"),
    "tools as listed": (_turn(tools="(await mcp.listTools()).tools"), "PC305"),
    "tools as listed, by a name": (
        _turn(
            tools="tools.map((t) => ({ name: t.name }))", before="const { tools } = await mcp.listTools();"
        ),
        "PC305",
    ),
    "tools of a client": (_turn(tools="tools", before="const tools = await mcpClient.tools();"), "PC305"),
    "aged by index": (
        _turn(messages='messages.map((m, i) => i < messages.length - 4 ? { ...m, content: "[cut]" } : m)'),
        "PC502",
    ),
    "aged by slices": (
        _turn(
            messages='[...messages.slice(0, -4).map((m) => ({ ...m, content: "" })), ...messages.slice(-4)]'
        ),
        "PC502",
    ),
    "aged with a body": (
        _turn(
            before="const sent = messages.map((m, i) => { if (messages.length - i > 6) return { ...m, content: m.content.slice(0, 99) }; return m; });",
            messages="sent",
        ),
        "PC502",
    ),
    "arguments": (
        _turn(before=CALLS.replace("ARGUMENTS", "JSON.stringify(JSON.parse(c.function.arguments))")),
        "PC507",
    ),
    "arguments by a name": (
        _turn(
            before="const given = JSON.parse(call.function.arguments); messages.push({ role: 'assistant', tool_calls: [{ id: 1, function: { name: 'x', arguments: JSON.stringify(given) } }] });"
        ),
        "PC507",
    ),
    "arguments of a library": (_turn(before=CALLS.replace("ARGUMENTS", "JSON.stringify(c.input)")), "PC507"),
    "race": (_turn(before=RACE.replace("RACED", "Promise.race(pending.values())")), "PC304"),
    "race of a list": (_turn(before=RACE.replace("RACED", "Promise.race([...pending])")), "PC304"),
    "race of whichever succeeds": (_turn(before=RACE.replace("RACED", "Promise.any(pending)")), "PC304"),
}


@pytest.mark.parametrize(("text", "code"), FOUND.values(), ids=FOUND)
def test_found(text, code):
    assert code in _codes(text)


SILENT = {
    "model of a setting": _turn('config.fast ? "small" : "large"'),
    "model of the environment": _turn('process.env.DEBUG ? "small" : "large"'),
    "model after an error": _turn('attempt > 1 ? "small" : "large"'),
    "model of a constant": _turn('MODELS["chat"]'),
    "model of the user": _turn("chooseModel(config.plan)"),
    "model of one request": """
export async function once(text: string) {
  return client.chat.completions.create({ model: text.length < 80 ? "s" : "l", messages: [{ role: "user", content: text }] });
}
""",
    "tools in an order": _turn(
        tools="tools",
        before="const tools = (await mcp.listTools()).tools.sort((a, b) => a.name.localeCompare(b.name));",
    ),
    "tools listed once": _turn(tools="this.tools", before="this.tools ??= (await mcp.listTools()).tools;"),
    "tools listed in front of the turns": """
export async function run(messages: any[], mcp: any) {
  const { tools } = await mcp.listTools();
  while (true) {
    const r = await client.chat.completions.create({ model: "m", tools, messages });
    messages.push(r.choices[0].message);
  }
}
""",
    "all messages mapped alike": _turn(
        messages="messages.map((m, i) => ({ role: m.role, content: m.content }))"
    ),
    "a breakpoint moves": _turn(
        messages='messages.map((m, i) => i < messages.length - 2 ? m : { ...m, content: [{ type: "text", text: m.content, cache_control: { type: "ephemeral" } }] })'
    ),
    "arguments as they came": _turn(before=CALLS.replace("ARGUMENTS", "c.function.arguments")),
    "arguments changed on purpose": _turn(
        before="const given = JSON.parse(call.function.arguments); given.key = '***'; messages.push({ role: 'assistant', tool_calls: [{ function: { arguments: JSON.stringify(given) } }] });"
    ),
    "arguments for a tool": _turn(
        before="await mcp.callTool({ name: 'x', arguments: JSON.stringify(config.input) });"
    ),
    "a time limit": _turn(before=RACE.replace("RACED", "Promise.race([ask(), timeout(1000)])")),
    "a race whose winner is not kept": _turn(
        before="for (const x of names) { await Promise.race(pending); }"
    ),
}


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT)
def test_what_only_looks_like_it(text):
    assert not {"PC304", "PC305", "PC502", "PC503", "PC507"} & set(_codes(text))


def _loop(head: str, value: str = "`Step ${step} of 10. ${RULES}`", tail: str = "") -> str:
    return f"""
export async function loop(messages: any[], files: string[], m: any) {{
  {head}
    const r = await generateText({{ model: m, system: {value}, messages }});
    messages.push(...r.response.messages);
  {tail}
}}
"""


COUNTED = {
    "for": _loop("for (let step = 1; step <= 10; step++) {", tail="}"),
    "while": _loop("let step = 0; while (step < 10) { step++;", tail="}"),
    "added": _loop("let step = 1; do {", tail="step = step + 1; } while (step < 9);"),
    "entries": _loop("for (const [step, file] of files.entries()) {", tail="}"),
    "by a name": _loop("for (let n = 0; n < 9; n += 1) { const step = n;", tail="}"),
}


@pytest.mark.parametrize("text", COUNTED.values(), ids=COUNTED)
def test_what_a_loop_of_turns_counts(text):
    assert _codes(text) == ["PC107"]


STEADY = {
    "begun anew": _loop("while (true) { let step = 0; for (const f of files) step++;", tail="}"),
    "counted before": _loop("let step = 0; for (const f of files) step++; while (true) {", tail="}"),
    "an index": _loop("for (let i = 0; i < 9; i++) {", "`${files[i]} ${RULES}`", "}"),
    "asked once": _loop("let step = 1; {", tail="}"),
}


@pytest.mark.parametrize("text", STEADY.values(), ids=STEADY)
def test_what_is_no_counter_of_turns(text):
    assert "PC107" not in _codes(text)


CLAUDE = """import Anthropic from "@anthropic-ai/sdk";
const claude = new Anthropic();
export const ask = (q: string) => claude.messages.create({
  model: "MODEL", max_tokens: 9, system: `RULES`, messages: [{ role: "user", content: q }] });
"""


@pytest.mark.parametrize(
    ("model", "times", "tail", "expected"),
    [
        ("claude-sonnet-4-5", 900, "", ["PC602"]),
        ("claude-sonnet-4-5", 20, "", []),
        ("gpt-4.1", 900, "", []),
        ("claude-sonnet-4-5", 900, "export const MARK = { cache_control: { type: 'ephemeral' } };", []),
    ],
)
def test_long_requests_without_a_breakpoint(model, times, tail, expected):
    text = CLAUDE.replace("MODEL", model).replace("RULES", "You are a clerk. " * times) + tail
    assert [code for code in _codes(text) if code == "PC602"] == expected


def test_a_field_that_a_function_fills_knows_its_source():
    text = """import { ChatPromptTemplate } from "@langchain/core/prompts";
export async function build() {
  const prompt = ChatPromptTemplate.fromMessages([
    ["system", "Today is {today}. You are a clerk. Be brief to all."], ["human", "{question}"]]);
  const ready = await prompt.partial({ today: () => new Date().toLocaleDateString() });
  return ready;
}
"""
    (found,) = lint_text(_HEAD + text, "src/agent.ts", Settings(severity=Severity.WARNING)).findings
    assert (found.code, found.place.row) == ("PC109", 8)
    assert found.source is not None
    assert found.source.row == 9
