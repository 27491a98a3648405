"""What TypeScript does to a conversation: PC501, PC502 and PC403, each with what only looks like it."""

# ruff: noqa: E501 - snippets of another language

from __future__ import annotations

import pytest

pytest.importorskip("tree_sitter_typescript")

from promptcache_lint import Settings, Severity, lint_text

ERROR, WARNING = Severity.ERROR, Severity.WARNING
_HEAD = """import OpenAI from "openai";
import { streamText, generateText, convertToModelMessages } from "ai";
const openai = new OpenAI();
"""


def _found(text: str, name: str = "chat.ts") -> list[tuple[str, Severity, int]]:
    """(code, severity, row below the head)."""
    report = lint_text(_HEAD + text.lstrip("\n"), name, Settings(severity=Severity.INFO))
    return [(found.code, found.severity, found.place.row - 3) for found in report.findings]


BOT = """
class Bot {
  private messages: any[] = [{ role: "system", content: "You are a clerk of our shop. Be brief." }];
  async say(q: string, status: string) {
    this.messages.push({ role: "user", content: q });
    HERE
    const r = await openai.chat.completions.create({ model: "m", messages: SENT });
    this.messages.push(r.choices[0].message);
    return r;
  }
}
"""


def _bot(here: str = "", sent: str = "this.messages") -> str:
    return BOT.replace("HERE", here).replace("SENT", sent)


KEPT = {
    "shift": ("if (this.messages.length > 20) this.messages.shift();", "PC501", ERROR),
    "splice behind the system prompt": (
        "if (this.messages.length > 20) this.messages.splice(1, 2);",
        "PC501",
        ERROR,
    ),
    "splice of many at once": (
        "if (this.messages.length > 50) this.messages.splice(1, 30);",
        "PC501",
        WARNING,
    ),
    "splice down to a size": (
        "if (this.messages.length > 9) this.messages.splice(1, this.messages.length - 9);",
        "PC501",
        WARNING,
    ),
    "while too long": ("while (count(this.messages) > 4000) this.messages.splice(1, 1);", "PC501", ERROR),
    "assigned again": ("this.messages = this.messages.slice(-20);", "PC501", ERROR),
    "the system prompt": ("this.messages[0].content = `You are a clerk. ${status}`;", "PC403", WARNING),
    "the system message": (
        "this.messages[0] = { role: 'system', content: `You are a clerk. ${status}` };",
        "PC403",
        WARNING,
    ),
    "old ones shortened": (
        "for (const m of this.messages.slice(1, -4)) m.content = m.content.slice(0, 200);",
        "PC502",
        ERROR,
    ),
    "old ones shortened by index": (
        "for (let i = 1; i < this.messages.length - 4; i++) this.messages[i].content = '[cut]';",
        "PC502",
        ERROR,
    ),
    "old ones shortened with forEach": (
        "this.messages.slice(0, -4).forEach((m) => { m.content = '[cut]'; });",
        "PC502",
        ERROR,
    ),
    "a message in the middle": ("this.messages[1].content = q;", "PC502", WARNING),
}


@pytest.mark.parametrize(("here", "code", "severity"), KEPT.values(), ids=KEPT)
def test_what_is_done_to_a_kept_conversation(here, code, severity):
    assert _found(_bot(here)) == [(code, severity, 5)]


SENT = {
    "a window": "this.messages.slice(-10)",
    "a window behind the system prompt": "[{ role: 'system', content: SYSTEM }, ...this.messages.slice(-10)]",
    "a window written in another form": "[...this.messages.slice(-10).map((m) => ({ role: m.role, content: m.content }))]",
    "a window of some": "this.messages.filter((m) => m.content).slice(-12)",
    "a window by its length": "this.messages.slice(Math.max(0, this.messages.length - 10))",
}


@pytest.mark.parametrize("sent", SENT.values(), ids=SENT)
def test_windows_that_are_sent(sent):
    assert _found(_bot(sent=sent)) == [("PC501", ERROR, 6)]


@pytest.mark.parametrize(
    ("size", "severity"),
    [
        ("const SIZE = 12;", ERROR),
        ("const SIZE = 1_200;", Severity.INFO),
        ("import { SIZE } from './settings';", WARNING),
        ("const SIZE = Number(process.env.SIZE);", WARNING),
        ("let SIZE = 12; SIZE = settings.size;", WARNING),
    ],
)
def test_a_window_as_long_as_a_constant_says(size, severity):
    text = f"{size} {_bot(sent='this.messages.slice(-SIZE)').lstrip()}"
    assert {(code, sure) for code, sure, _ in _found(text)} == {("PC501", severity)}


@pytest.mark.parametrize(
    ("here", "sent", "severity"),
    [
        ("const most = 12;", "this.messages.slice(-most)", ERROR),
        ("const most = this.most();", "this.messages.slice(this.messages.length - most)", WARNING),
        ("this.size = 12;", "this.messages.slice(-this.size)", ERROR),
        ("this.size = status.size;", "this.messages.slice(-this.size)", WARNING),
    ],
)
def test_a_window_as_long_as_a_variable_or_a_field_says(here, sent, severity):
    found = {(code, sure) for code, sure, _ in _found(_bot(here, sent))}
    assert found == {("PC501", severity)}


HARMLESS = {
    "logged": "console.log(this.messages.slice(-3), this.messages[0].content);",
    "shown": "this.view.show(this.messages.slice(-10).map((m) => m.content));",
    "the newest": "this.messages[this.messages.length - 1].content += '\\n' + status;",
    "the newest, found": "this.messages.at(-1)!.content += status;",
    "another list": "this.views.splice(1, 2); this.queue.shift(); this.lines = this.lines.slice(-20);",
    "a queue that is used": "const first = this.pending.shift(); this.show(first);",
    "cleared": "if (q === '/clear') this.messages.splice(1, this.messages.length);",
    "the last taken back": "if (status) this.messages.pop();",
    "the system message taken off": "if (this.messages[0].role === 'system') this.messages.shift();",
    "a summary in place of the old": "if (this.messages.length > 40) { const old = this.messages.splice(1, 30, await summarize(this.messages)); }",
    "trimmed after a summary": "if (this.messages.length > 40) { const summary = await this.summarize(); this.messages.splice(1, 30); this.messages.push(summary); }",
    "fixed text": "this.messages[0].content = 'You are a clerk of our shop.'; this.messages[0].content = SYSTEM_PROMPT;",
    "a breakpoint": "this.messages[0].content = [{ type: 'text', text: `${SYSTEM}`, cache_control: { type: 'ephemeral' } }];",
    "a copy": "const copy = this.messages.map((m) => ({ ...m })); copy.forEach((m) => { m.content = ''; });",
    "a reply to one that failed": "try { await this.ping(); } catch { this.messages.shift(); }",
    "a result without its call": "while (this.messages.length && this.messages[0].role !== 'user') this.messages.shift();",
    "spaces cut": "for (const m of this.messages.slice(0, -1)) m.content = m.content.trim();",
}


@pytest.mark.parametrize("here", HARMLESS.values(), ids=HARMLESS)
def test_what_only_looks_like_it(here):
    assert _found(_bot(here)) == []


OTHERS = {
    "never sent": """
        class Feed {
          messages: any[] = [];
          add(text: string) { this.messages.push({ role: "user", content: text }); if (this.messages.length > 20) this.messages.shift(); }
        }
        export const ask = (q: string) => generateText({ model, system: "You are a clerk.", prompt: q });
        """,
    "a list of another class": """
        class Feed { messages: any[] = []; add(t: string) { this.messages.push(t); this.messages.splice(0, 1); } }
        class Bot { messages: any[] = []; ask() { return generateText({ model, messages: this.messages }); } }
        """,
    "documents": """
        export const ask = (docs: string[], q: string) => generateText({ model, messages: [
          ...docs.slice(-5).map((content) => ({ role: "user" as const, content })), { role: "user", content: q }] });
        """,
    "a title": """
        export async function generateTitle(messages: any[]) {
          return generateText({ model, messages: [...messages.slice(-6), { role: "user", content: "Name this chat." }] });
        }
        """,
    "a list that is only sent for a title": """
        class Chat {
          messages: any[] = [];
          add(m: any) { this.messages.push(m); if (this.messages.length > 20) this.messages.shift(); }
          generateTitle() { return generateText({ model, messages: this.messages }); }
        }
        """,
    "a window that is shown, from a function": """
        function recent(messages: any[]) { return messages.slice(-12); }
        export const ask = (messages: any[]) => { render(recent(messages)); return generateText({ model, messages }); };
        """,
    "changed by its user": """
        class Chat {
          messages: any[] = [];
          constructor(name: string) { this.messages[0] = { role: "system", content: `You are ${name}.` }; }
          setSystem(s: string) { this.messages[0].content = `You are a clerk. ${s}`; }
          edit(i: number, s: string) { this.messages[i].content = s; this.messages.splice(i + 1); }
          stream(text: string) { const i = this.messages.length - 1; this.messages[i].content += text; }
          undo() { this.messages.splice(-2, 2); this.messages = this.messages.slice(0, -2); }
          ask() { this.messages.push({ role: "user", content: "" }); return generateText({ model, messages: this.messages }); }
        }
        """,
    "one text": """
        export const ask = (history: string, size: number) => openai.responses.create({ model: "m", input: history.slice(-size) });
        export const end = (transcript) => streamText({ model, prompt: transcript.slice(-4000) });
        """,
    "messages that wait": """
        class Worker {
          private pendingMessages: any[] = [];
          add(message: any) { this.pendingMessages.push(message); }
          async run() { await generateText({ model, messages: this.pendingMessages.slice(-5) }); this.pendingMessages.splice(0, 5); }
        }
        """,
    "written examples": """
        export const ask = (q: string, chatExamples: any[]) =>
          generateText({ model, messages: [...chatExamples.slice(-3), { role: "user", content: q }] });
        """,
    "the rest of another list": """
        export async function ask(threadMessages: any[]) {
          const copies = threadMessages.map((m, i) => (i < threadMessages.length - 3 ? { ...m, content: strip(m.content) } : m));
          return generateText({ model, messages: copies });
        }
        """,
    "only the newest": """
        export const ask = (messages: any[]) => generateText({ model, messages: messages.slice(-1) });
        """,
    "all but the newest": """
        export const ask = (messages: any[]) => generateText({ model, messages: [...messages.slice(0, -1), change(messages.at(-1))] });
        """,
    "what was just added": """
        export const ask = (messages: any[], added: any[]) => generateText({ model, messages: messages.slice(-added.length) });
        """,
    "tokens counted": """
        export const count = (messages: any[]) => genai.models.countTokens({ contents: messages.slice(-10) });
        """,
    "a list made here": """
        export async function ask(q: string, status: string) {
          const messages = [{ role: "system", content: "You are a clerk." }, { role: "user", content: q }];
          messages[1].content = q + status;
          return openai.chat.completions.create({ model: "m", messages });
        }
        """,
    "an answer for each of several": """
        export async function each(items: string[], status: string) {
          for (const item of items) {
            const messages = [{ role: "system", content: "You are a clerk." }, { role: "user", content: item }];
            messages[1].content += " (short)";
            messages[0].content = `You are a clerk. ${item}`;
            await generateText({ model, messages });
          }
        }
        """,
    "a script over several": """
        for (const item of items) {
          const messages: any[] = [{ role: "system", content: "You are a clerk." }];
          messages.push({ role: "user", content: item });
          messages[0].content = `You are a clerk. ${item}`;
          await generateText({ model, messages });
        }
        """,
    "a request that was too long": """
        export async function ask(messages: any[]) {
          while (true) {
            try { return await generateText({ model, messages }); } catch (error) { if (isTooLong(error)) messages.splice(1, 2); }
          }
        }
        """,
    "shown on a page": """
        export function Page({ messages }: { messages: any[] }) {
          const last = messages.slice(-10);
          const ask = () => generateText({ model, messages });
          return <List items={last} onClick={ask} />;
        }
        """,
    "examples": """
        export const ask = (q: string) => generateText({ model, messages: [...EXAMPLES.slice(-3), { role: "user", content: q }] });
        """,
}


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_what_is_no_conversation(text):
    assert [found for found in _found(text, "page.tsx") if found[0] in {"PC403", "PC501", "PC502"}] == []


def test_a_window_over_what_a_page_sends():
    text = """
export async function POST(req: Request) {
  const { messages } = await req.json();
  const result = streamText({ model, messages: convertToModelMessages(messages.slice(-10)) });
  return result.toUIMessageStreamResponse();
}
"""
    assert _found(text, "app/api/chat/route.ts") == [("PC501", WARNING, 3)]


def test_a_window_in_a_script_over_several_is_no_error():
    text = """
for (const item of items) {
  const messages: any[] = load(item);
  messages.push({ role: "user", content: item });
  await generateText({ model, messages: messages.slice(-10) });
}
"""
    assert _found(text) == [("PC501", WARNING, 4)]


def test_a_window_with_a_name():
    text = """
const history: any[] = [];
export async function ask(content: string) {
  history.push({ role: "user", content });
  const recent = history.slice(-8);
  const request = { model: "m", messages: [{ role: "system", content: "You are a clerk." }, ...recent] };
  return openai.chat.completions.create(request);
}
"""
    assert _found(text) == [("PC501", ERROR, 4)]


HELPERS = {
    "a function": "function fit(messages: any[]) { return messages.slice(-12); }",
    "a function that drops": "const fit = (messages: any[]) => { while (size(messages) > 9) messages.splice(1, 1); return messages; };",
}


@pytest.mark.parametrize("helper", HELPERS.values(), ids=HELPERS)
def test_what_a_function_of_the_module_cuts_before_it_is_sent(helper):
    asked = "export const ask = (messages: any[]) => generateText({ model, messages: fit(messages) });"
    assert _found(f"{helper}\n{asked}\n") == [("PC501", WARNING, 1)]


def test_the_trimming_of_langchain():
    text = """
import { trimMessages } from "@langchain/core/messages";
export async function ask(messages: any[]) {
  const history = await trimMessages(messages, { maxTokens: 900 });
  return llm.invoke(history);
}
"""
    assert _found(text) == [("PC501", WARNING, 3)]
    assert _found(text.replace("invoke(history)", "invoke(messages)")) == []


def test_what_a_method_cuts():
    text = """
class Bot {
  private history: any[] = [];
  private window() { return this.history.slice(-10); }
  add(message: any) { this.history.push(message); }
  async ask() { this.add(await generateText({ model, messages: this.window() })); }
}
"""
    assert _found(text) == [("PC501", ERROR, 3)]
    assert _found(text.replace("this.add(await", "print(await")) == [("PC501", WARNING, 3)]


def test_a_system_prompt_rewritten_between_two_turns_is_certain():
    text = """
export async function run(messages: any[], notes: string) {
  for (;;) {
    messages[0].content = `You are a clerk. Notes so far: ${notes}`;
    const answer = await openai.chat.completions.create({ model: "m", messages });
    messages.push(answer.choices[0].message);
    notes = answer.choices[0].message.content;
  }
}
"""
    assert _found(text) == [("PC403", ERROR, 3)]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("...(await session.getHistory({ limit: 10 }))", [("PC501", WARNING)]),
        ("...session.getRecentMessages(user, 12)", [("PC501", WARNING)]),
        ("...session.getMessages({ limit: 500 })", []),
        ("...session.getMessages(user)", []),
        ("...session.getTools(10)", []),
    ],
)
def test_a_window_that_a_store_hands_out(given, expected):
    text = f"""
export async function ask(session: any, user: string, text: string) {{
  const messages = [{{ role: "system", content: "Be brief." }}, {given}, {{ role: "user", content: text }}];
  return openai.chat.completions.create({{ model: "m", messages }});
}}
"""
    assert [(code, severity) for code, severity, _ in _found(text)] == expected


@pytest.mark.parametrize(
    ("listed", "severity"),
    [
        (
            "{ role: 'system', content: SYSTEM }, ...history.slice(-8), { role: 'user', content: q.trim() }",
            ERROR,
        ),
        (
            "{ role: 'system', content: SYSTEM }, ...history.slice(-8).map((m) => m), { role: 'user', content: q }",
            ERROR,
        ),
        (
            "{ role: 'system', content: SYSTEM }, ...history.slice(-60), { role: 'user', content: q }",
            Severity.INFO,
        ),
        (
            "{ role: 'system', content: SYSTEM }, ...history.slice(-8), { role: 'user', content: 'Any questions?' }",
            WARNING,
        ),
        ("...history.slice(-8), { role: 'user', content: q }", WARNING),
        ("...(body.history ?? []).slice(-8), { role: 'user', content: q }", WARNING),
    ],
)
def test_a_window_behind_the_system_prompt_and_in_front_of_the_question(listed, severity):
    text = f"""
export async function POST(q: string, history: Message[]) {{
  const messages = [{listed}];
  return openai.chat.completions.create({{ model: "m", messages }});
}}
"""
    assert [(code, found) for code, found, _ in _found(text) if code == "PC501"] == [("PC501", severity)]


@pytest.mark.parametrize(
    ("made", "rows"),
    [
        ("fetch(URL, { method: 'POST', body: JSON.stringify({ contents, generationConfig: {} }) })", [3]),
        ("axios.post(URL, { model: 'm', messages })", [3]),
        ("axios.post(URL, { user: 'm', messages })", []),
    ],
)
def test_a_window_that_is_pushed_to_what_a_program_posts(made, rows):
    text = f"""
export async function POST(q: string, history: Message[]) {{
  const messages = [{{ role: 'system', content: SYSTEM }}];
  messages.push(...history.slice(-8));
  const contents = messages.map((m) => ({{ role: m.role, parts: [{{ text: m.content }}] }}));
  return {made};
}}
"""
    assert [row for code, _, row in _found(text) if code == "PC501"] == rows


JUDGED = """
class Bot {
  private messages: any[] = [];
  async ask(q: string) {
    this.messages.push({ role: "user", content: q });
    BEHIND
  }
  async grade() {
    const r = await openai.chat.completions.create({ model: "m", messages: this.messages.slice(-6) });
    return r.choices[0].message.content;
  }
}
"""


@pytest.mark.parametrize(
    ("behind", "severity"),
    [
        ("const said = await this.grade(); console.log(said);", WARNING),
        ("const said = await this.grade(); this.messages.push(await this.answer(said, q));", WARNING),
        ("const said = await this.grade(); this.messages.push({ role: 'assistant', content: said });", ERROR),
        ("const said = await this.grade(); this.add(said.trim());", ERROR),
        ("return this.grade();", ERROR),
    ],
)
def test_a_window_is_an_error_where_the_answer_goes_on(behind, severity):
    adds = "  add(content: string) { this.messages.push({ role: 'assistant', content }); }\n}\n"
    text = JUDGED.replace("BEHIND", behind).removesuffix("}\n") + adds
    assert [(code, found) for code, found, _ in _found(text)] == [("PC501", severity)]


PAIRED = """
import Anthropic from "@anthropic-ai/sdk";
const client = new Anthropic();
const RULES = "You are the night clerk of a hostel.";
const KEEP = 10;
class Clerk {
  private turns: Anthropic.MessageParam[] = [];
  async hear(text: string) {
    this.turns.push({ role: "user", content: text });
    PAIR
    const reply = await client.messages.create({ model: "m", max_tokens: 9, system, messages: history });
    this.turns.push({ role: "assistant", content: reply.content });
  }
}
"""


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        ("const [system, history] = [RULES, this.turns.slice(-10)];", ["PC501"]),
        ("const [system, history] = [RULES, this.turns.slice(-(KEEP + 1))];", ["PC501"]),
        ("const [history, system] = [this.turns, RULES];", []),
        ("const [system, history, last] = [RULES, this.turns, this.turns.slice(-10)];", []),
        ("const [system, , history] = [RULES, this.turns.slice(-10), this.turns];", []),
    ],
)
def test_a_window_among_other_values(pair: str, expected: list[str]) -> None:
    found = lint_text(PAIRED.replace("PAIR", pair), "clerk.ts", Settings(select=("PC501",))).findings
    assert [finding.code for finding in found] == expected
