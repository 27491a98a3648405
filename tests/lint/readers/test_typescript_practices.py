"""What TypeScript does between the turns of a conversation: PC302, PC504 to PC506, PC608, PC701, PC702, steps."""

# ruff: noqa: E501 - snippets of another language

from __future__ import annotations

import pytest

pytest.importorskip("tree_sitter_typescript")

from promptcache_lint import Settings, Severity, lint_text

_HEAD = """import Anthropic from "@anthropic-ai/sdk";
import { ToolLoopAgent, generateText, pruneMessages } from "ai";
const client = new Anthropic();
const RULES = "You review the changes of a platform for payments. Read all of it before you comment. Be brief.";
"""


def _codes(text: str) -> list[str]:
    report = lint_text(_HEAD + text, "src/agent.ts", Settings(severity=Severity.WARNING))
    return [found.code for found in report.findings]


def _turn(options: str = "", before: str = "", kept: str = "r.content", messages: str = "messages") -> str:
    return f"""
export async function turn(messages: any[], text: string, config: any, allTools: any[]) {{
  messages.push({{ role: "user", content: text }});
  {before}
  const r = await client.messages.create({{ model: "m", max_tokens: 9, {options} messages: {messages} }});
  messages.push({{ role: "assistant", content: {kept} }});
}}
"""


def _rounds(options: str, before: str = "") -> str:
    return f"""
export async function work(messages: any[], few: any[], all: any[], limit: number) {{
  const tools = [...few];
  for (let round = 0; round < limit; round++) {{
    {before}
    const r = await client.messages.create({{ model: "m", max_tokens: 9, messages, {options} }});
    messages.push({{ role: "assistant", content: r.content }});
  }}
}}
"""


def _agent(prepare: str) -> str:
    return f"""
export const agent = new ToolLoopAgent({{ model: "m", instructions: RULES, prepareStep: {prepare} }});
"""


def _each(
    start: str, head: str = 'system: [{ type: "text", text: book, cache_control: { type: "ephemeral" } }]'
) -> str:
    return f"""
export async function all(book: string, questions: string[]) {{
  const ask = (q: string) => client.messages.create({{ model: "m", max_tokens: 9, {head}, messages: [{{ role: "user", content: q }}] }});
  {start}
}}
"""


def _photos(url: str, detail: str = '"low"') -> str:
    return f"""
export async function show(history: any[], s3: any, question: string) {{
  const messages = await Promise.all(history.map(async (entry, i) => {{
    const url = await {url};
    return {{ role: "user", content: [{{ type: "image_url", image_url: {{ url, detail: {detail} }} }}] }};
  }}));
  return client.chat.completions.create({{ model: "m", messages }});
}}
"""


BUDGET = "const kept = []; for (let i = messages.length - 1; i >= 0; i--) { if (used(kept) > 9) break; kept.unshift(messages[i]); }"
FOUND = {
    "tools by the round": (_rounds("tools: round < 3 ? few : all"), "PC302"),
    "tools by a name": (_rounds("tools: some", before="const some = round < 3 ? few : all;"), "PC302"),
    "tools that are added": (_rounds("tools", before="if (round === 2) tools.push(all[0]);"), "PC302"),
    "tools that fit the question": (
        _turn("tools: allTools.filter((t) => text.includes(t.name)),"),
        "PC302",
    ),
    "tools that are chosen": (_turn("tools: selectTools(text),"), "PC302"),
    "thinking by the question": (
        _turn(
            'thinking: hard ? { type: "enabled" } : { type: "disabled" },', "const hard = /prove/.test(text);"
        ),
        "PC504",
    ),
    "effort by the length": (
        _turn('reasoning: { effort: messages.length > MOST ? "low" : "high" },'),
        "PC504",
    ),
    "a parameter that is spread": (
        _turn('...(messages.length > 4 && { thinking: { type: "enabled" } }),'),
        "PC504",
    ),
    "tools that are spread": (_turn("...(text.includes('search') ? { tools: allTools } : {}),"), "PC302"),
    "model by a name that is a test": (
        """
export async function go(messages: any[]) {
  const long = messages.length > 30;
  const model = long ? "small" : "large";
  const r = await client.messages.create({ model, max_tokens: 9, messages });
  messages.push({ role: "assistant", content: r.content });
}
""",
        "PC503",
    ),
    "blocks without thinking": (_turn(kept='r.content.filter((b) => b.type !== "thinking")'), "PC505"),
    "items without reasoning": (
        _turn(before='messages.push(...last.output.filter((item) => item.type !== "reasoning"));'),
        "PC505",
    ),
    "thoughts cut from a text": (_turn(kept=r'r.text.replace(/<think>[\s\S]*?<\/think>/g, "")'), "PC505"),
    "thoughts cut, by a name": (
        _turn(
            before='const answer = last.text.split("</think>")[1]; messages.push({ role: "assistant", content: answer });'
        ),
        "PC505",
    ),
    "pruned reasoning": (
        _turn(messages='pruneMessages({ messages, reasoning: "before-last-message" })'),
        "PC505",
    ),
    "a summary under its own prompt": (
        _turn('system: "Summarize the conversation in ten lines.",', messages="[...messages]"),
        "PC506",
    ),
    "a summary by a constant": (
        """
const SUMMARY_PROMPT = "You shorten talks.";
export const shorten = (history: any[]) => client.messages.create({ model: "m", max_tokens: 9, system: SUMMARY_PROMPT, messages: history });
""",
        "PC506",
    ),
    "steps with a window": (_agent("({ messages }) => ({ messages: messages.slice(-8) })"), "PC501"),
    "steps with a window by a name": (
        _agent(
            "async ({ messages }) => { if (messages.length > 9) { const kept = messages.slice(-9); return { messages: kept }; } return {}; }"
        ),
        "PC501",
    ),
    "steps with two models": (
        _agent('async ({ stepNumber }) => (stepNumber > 3 ? { model: "small" } : {})'),
        "PC503",
    ),
    "steps with other tools": (
        _agent('({ steps }) => { if (steps.length > 2) return { activeTools: ["answer"] }; }'),
        "PC302",
    ),
    "steps with another system prompt": (
        _agent("({ stepNumber }) => ({ system: stepNumber === 0 ? RULES : RULES + ' Finish.' })"),
        "PC403",
    ),
    "steps behind a guard": (
        _agent(
            '({ steps }) => { const force = mustFinish(steps); if (!force) return undefined; return { activeTools: ["finish"] }; }'
        ),
        "PC302",
    ),
    "a budget from the end": (_turn(before=BUDGET, messages="kept"), "PC501"),
    "a budget of a function": (
        """
function fit(history: any[]) {
  const first = history[0], rest = history.slice(1), kept = [];
  let left = 9000;
  for (let i = rest.length - 1; i >= 0; i -= 1) {
    const m = rest[i];
    left -= m.content.length;
    if (left < 0) break;
    kept.unshift(m);
  }
  return [first, ...kept];
}
"""
        + _turn(messages="fit(messages)"),
        "PC501",
    ),
    "a budget over the reversed list": (
        _turn(
            before="const kept = []; for (const m of [...messages].reverse()) { if (size(kept) > 9) break; kept.unshift(m); }",
            messages="kept",
        ),
        "PC501",
    ),
    "a window of a sum": (_turn(messages="[messages[0], ...messages.slice(-(MOST - 1))]"), "PC501"),
    "effort by a name, of a field": (
        """
class Solver {
  private input: any[] = [];
  async next(text: string) {
    this.input.push({ role: "user", content: text });
    const effort = this.input.length > 12 ? "low" : "high";
    return client.responses.create({ model: "m", input: this.input, reasoning: { effort } });
  }
}
""",
        "PC504",
    ),
    "a tool that is added for a question": (
        _turn("tools: [few, ...(text.includes('deploy') ? [deploy] : [])],"),
        "PC302",
    ),
    "an earlier message by a name": (
        _turn(
            before="for (let i = 0; i < messages.length - 3; i++) { const m = messages[i]; m.content = m.content.filter((b) => b.type !== 'image'); }"
        ),
        "PC502",
    ),
    "results as they finish": (
        _turn(
            before='const results = []; await Promise.all(allTools.map((c) => run(c).then((content) => { results.push({ type: "tool_result", tool_use_id: c.id, content }); }))); messages.push({ role: "user", content: results });'
        ),
        "PC304",
    ),
    "a model of LangChain": (
        """
import { ChatOpenAI } from "@langchain/openai";
export async function go(messages: any[]) {
  const llm = messages.length < 6 ? small : large;
  const answer = await llm.invoke(messages);
  messages.push(answer);
}
""",
        "PC503",
    ),
    "fan-out": (
        """
export const all = (book: string, questions: string[]) =>
  Promise.all(questions.map((q) => client.messages.create({ model: "m", max_tokens: 9, system: [{ type: "text", text: book, cache_control: { type: "ephemeral" } }], messages: [{ role: "user", content: q }] })));
""",
        "PC608",
    ),
    "fan-out by a function": (_each("return Promise.all(questions.map(ask));"), "PC608"),
    "fan-out by a name": (
        _each("const jobs = questions.map((q) => ask(q)); return Promise.allSettled(jobs);"),
        "PC608",
    ),
    "signed addresses": (_photos("getSignedUrl(s3, entry.key)"), "PC701"),
    "encoded anew": (_photos("sharp(entry.bytes).jpeg().toBuffer()"), "PC701"),
    "detail by place": (_photos("load(entry)", 'i === history.length - 1 ? "high" : "low"'), "PC702"),
}


@pytest.mark.parametrize(("text", "code"), FOUND.values(), ids=FOUND)
def test_found(text, code):
    assert code in _codes(text)


SILENT = {
    "tools of a setting": _turn("tools: config.search ? allTools : [],"),
    "tools by the tool alone": _turn("tools: allTools.filter((t) => t.enabled),"),
    "tools that are mapped": _turn("tools: allTools.map((t) => ({ name: t.name })),"),
    "the same tools in each round": _rounds("tools: few"),
    "thinking of a setting": _turn('thinking: config.deep ? { type: "enabled" } : { type: "disabled" },'),
    "a parameter of the environment": _turn('...(process.env.THINK && { thinking: { type: "enabled" } }),'),
    "another key is spread": _turn("...(messages.length > 4 && { metadata: { user_id: 'u' } }),"),
    "a parameter of one request": """
export const once = (text: string) =>
  client.messages.create({ model: "m", max_tokens: 9, thinking: text.length > 9 ? ON : OFF, messages: [{ role: "user", content: text }] });
""",
    "retries": _turn('thinking: attempt > 1 ? { type: "disabled" } : { type: "enabled" },'),
    "blocks for the display": _turn(before='show(last.content.filter((b) => b.type !== "thinking"));'),
    "thoughts cut for the reader": _turn(
        before=r'const shown = last.text.replace(/<think>[\s\S]*?<\/think>/g, ""); render(shown);'
    ),
    "blocks of tools": _turn(before='const calls = last.content.filter((b) => b.type === "tool_use");'),
    "pruned empty messages": _turn(
        messages='pruneMessages({ messages, reasoning: "none", emptyMessages: "remove" })'
    ),
    "a summary in the same prompt": _turn(
        "system: RULES,", messages='[...messages, { role: "user", content: "Summarize what was done." }]'
    ),
    "a summary of a text": _turn(
        'system: "Summarize the conversation.",',
        messages='[{ role: "user", content: messages.map((m) => m.content).join("\\n") }]',
    ),
    "steps of a setting": _agent('() => (config.cheap ? { model: "small" } : {})'),
    "steps with what there is": _agent("() => (nextPrompt ? { system: nextPrompt } : {})"),
    "steps after an error": _agent(
        "({ stepNumber }) => { try { check(); } catch { return stepNumber > 1 ? { system: RULES } : {}; } }"
    ),
    "steps behind a guard of a setting": _agent(
        '() => { if (!config.cheap) return {}; return { model: "small" }; }'
    ),
    "all of them, from the end": _turn(
        before=BUDGET.replace("if (used(kept) > 9) break;", ""), messages="kept"
    ),
    "the last question": _turn(
        before="let last; for (let i = messages.length - 1; i >= 0; i--) { if (messages[i].role === 'user') { last = messages[i]; break; } }"
    ),
    "a budget of documents": _turn(
        before=BUDGET.replace("messages", "documents") + " const told = kept.join();"
    ),
    "a tool of a setting": _turn("tools: [few, ...(config.deploy ? [deploy] : [])],"),
    "the newest message by a name": _turn(
        before="const m = messages[messages.length - 1]; m.content += text;"
    ),
    "results in the order of the calls": _turn(
        before="const results = await Promise.all(calls.map((c) => run(c).then((content) => ({ type: 'tool_result', tool_use_id: c.id, content })))); messages.push({ role: 'user', content: results });"
    ),
    "tools where there are any": _turn("tools: allTools.length > 0 ? allTools : undefined,"),
    "tools of a list of features": _turn("tools: features.includes('search') ? allTools : [],"),
    "tools by their own names": _turn("tools: allTools.filter((t) => t.name.includes('search')),"),
    "tools that somebody allows": _turn("tools: allTools.filter((t) => allowed.includes(t.name)),"),
    "an option of what is given": _turn("thinking: input.thinking ? ON : OFF,"),
    "a schema where there is one": _turn(
        "response_format: prompt.schema ? { type: 'json_schema' } : undefined,"
    ),
    "a bare name": _turn("...(query && { tools: allTools }),"),
    "a prompt that wants summaries in answers": _turn(
        'system: "You are a researcher. End each answer with a summary.",'
    ),
    "a summary that the prompt holds": _turn("system: systemWithSummary,"),
    "detail of the first image": _photos("load(entry)", 'i === 0 ? "high" : "low"'),
    "a signed address for one request": """
export async function look(s3: any, key: string) {
  const url = await getSignedUrl(s3, key);
  return client.chat.completions.create({ model: "m", messages: [{ role: "user", content: [{ type: "image_url", image_url: { url } }] }] });
}
""",
    "steps that add": _agent(
        '({ messages }) => ({ messages: [...messages, { role: "user", content: "Go on." }] })'
    ),
    "steps that mark the newest": _agent(
        "({ messages }) => ({ messages: [...messages.slice(0, -1), mark(messages.slice(-1)[0])] })"
    ),
    "steps that look at the end": _agent(
        "({ messages }) => { const last = messages.slice(-3); log({ messages: last }); return {}; }"
    ),
    "one request goes ahead": _each(
        "const first = await ask(questions[0]); return [first, ...(await Promise.all(questions.slice(1).map(ask)))];"
    ),
    "few at a time": "import pLimit from 'p-limit';\nconst limit = pLimit(4);\n"
    + _each("return Promise.all(questions.map((q) => limit(() => ask(q))));"),
    "a prefix of each request": _each(
        "return Promise.all(questions.map(ask));",
        "system: [{ type: 'text', text: q, cache_control: { type: 'ephemeral' } }]",
    ),
    "a short prefix without a mark": _each("return Promise.all(questions.map(ask));", "system: RULES"),
    "other work at once": _each("return Promise.all(questions.map((q) => save(q)));"),
    "kept addresses": _photos("entry.url"),
    "a signed address for the page": "export async function page(s3: any, key: string) { const url = await getSignedUrl(s3, key); return { url }; }\n"
    + _turn(),
    "a signed address for a card": "export async function card(s3: any, key: string) { const url = await getSignedUrl(s3, key);"
    ' return { href: url, type: "image" }; }\n' + _turn(),
    "detail of a setting": _photos("load(entry)", 'config.fine ? "high" : "low"'),
}


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT)
def test_silent(text):
    assert not {
        "PC302",
        "PC403",
        "PC501",
        "PC502",
        "PC503",
        "PC504",
        "PC505",
        "PC506",
        "PC608",
        "PC701",
        "PC702",
    } & set(_codes(text))


def test_thoughts_are_named_where_they_are_cut():
    report = lint_text(_HEAD + _turn(kept='r.content.filter((b) => b.type !== "thinking")'), "src/agent.ts")
    assert [(found.code, found.place.row) for found in report.findings] == [("PC505", 10)]
