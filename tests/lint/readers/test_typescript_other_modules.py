"""Conversations of TypeScript that pass through functions and classes of other modules."""

from __future__ import annotations

import pytest

from promptcache_lint import Settings, lint_paths

pytest.importorskip("tree_sitter")

CHAT = """
import OpenAI from "openai";
{imports}
const client = new OpenAI();
export class Agent {{
  private messages: any[] = [];
  {made}
  async ask(text: string) {{
    this.messages.push({{ role: "user", content: text }});
    {before}
    return await client.chat.completions.create({{ model: "m", messages: {sent} }});
  }}
}}
"""


def agent(imports: str, sent: str = "this.messages", before: str = "", made: str = "") -> str:
    return CHAT.format(imports=imports, sent=sent, before=before, made=made)


TRIM = 'import { recent } from "./memory";'
CUT = "export function recent(items: any[]) {\n  return items.slice(-20);\n}\n"
MEMORY = """
export class Memory {{
  private kept: any[] = [];
  add(item: any) {{
    this.kept.push(item);
    {cut}
  }}
  window() {{
    return {given};
  }}
}}
"""
CLASS = 'import { Memory } from "./memory";'
MADE = "private memory = new Memory();"
SENT = "this.memory.window()"


@pytest.mark.parametrize(
    ("chat", "memory"),
    [
        pytest.param(agent(TRIM, sent="recent(this.messages)"), CUT, id="a function"),
        pytest.param(agent(TRIM, before="this.messages = recent(this.messages);"), CUT, id="kept"),
        pytest.param(
            agent('import { recent as r } from "./memory.js";', sent="[SYSTEM, ...r(this.messages)]"),
            CUT,
            id="by another name",
        ),
        pytest.param(
            agent('import * as memory from "./memory";', sent="memory.recent(this.messages)"),
            CUT,
            id="through its module",
        ),
        pytest.param(
            agent(TRIM, before="recent(this.messages);"),
            "export const recent = (items: any[]) => {\n  if (items.length > 20) items.shift();\n};\n",
            id="in place",
        ),
        pytest.param(
            agent(CLASS, SENT, 'this.memory.add({ role: "user", content: text });', MADE),
            MEMORY.format(cut="", given="this.kept.slice(-20)"),
            id="a method's result",
        ),
        pytest.param(
            agent(CLASS, sent=SENT, made="constructor(private readonly memory: Memory) {}"),
            MEMORY.format(cut="if (this.kept.length > 20) this.kept.shift();", given="this.kept"),
            id="cut where it is added to",
        ),
        pytest.param(
            agent('import { memory } from "./memory";', "memory.window()", "memory.add(text);"),
            MEMORY.format(cut="", given="this.kept.slice(-20)") + "export const memory = new Memory();\n",
            id="an object that is imported",
        ),
    ],
)
def test_a_window_in_another_module(tmp_path, chat, memory):
    assert found(tmp_path, {"agent.ts": chat, "memory.ts": memory}) == [("agent.ts", "PC501", "error")]


@pytest.mark.parametrize(
    "before",
    ["function recent(items: any[]) { return items; }", "const recent = (items: any[]) => items;"],
)
def test_a_name_of_the_function_itself_is_no_import(tmp_path, before):
    chat = agent(TRIM, "recent(this.messages)", before)
    assert found(tmp_path, {"agent.ts": chat, "memory.ts": CUT}) == []
    given = chat.replace("(text: string)", "(text: string, recent: any)").replace(before, "")
    assert found(tmp_path, {"agent.ts": given, "memory.ts": CUT}) == []


@pytest.mark.parametrize(
    ("imports", "sent"),
    [
        ("{ recent }", "recent(this.messages)"),
        ("* as memory", "memory.recent(this.messages)"),
        ("{ cuts }", "cuts.recent(this.messages)"),
    ],
)
def test_a_window_behind_an_index(tmp_path, imports, sent):
    files = {
        "agent.ts": agent(f'import {imports} from "./memory";', sent=sent),
        "memory/index.ts": 'export * from "./cuts";\nexport * as cuts from "./cuts";\n',
        "memory/cuts.ts": CUT,
    }
    assert found(tmp_path, files) == [("agent.ts", "PC501", "error")]


def found(folder, files: dict[str, str]) -> list[tuple[str, str, str]]:
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    report = lint_paths([folder], Settings())
    return [(each.place.path.rpartition("/")[2], each.code, str(each.severity)) for each in report.findings]


@pytest.mark.parametrize(
    ("chat", "memory"),
    [
        pytest.param(agent(TRIM, before="console.log(recent(this.messages));"), CUT, id="for a log"),
        pytest.param(agent(TRIM, before="setShown(recent(this.messages));"), CUT, id="for a display"),
        pytest.param(agent(TRIM, sent="recent(this.messages)"), CUT.replace("20", "200"), id="long"),
        pytest.param(
            agent(TRIM, sent="recent(this.messages)"), CUT.replace("slice(-20)", "slice()"), id="a copy"
        ),
        pytest.param(
            agent(TRIM, sent="recent(this.messages)"),
            CUT.replace("return", "const gist = summarize(items);\n  return"),
            id="summed up",
        ),
        pytest.param(
            agent(TRIM, sent="recent(this.messages)").replace("ask(", "suggestTitle("), CUT, id="for a title"
        ),
        pytest.param(
            agent(CLASS, sent=SENT, made=MADE),
            MEMORY.format(cut="", given="this.kept").replace(
                "window() {", "shown() {\n    return this.kept.slice(-9);\n  }\n  window() {"
            ),
            id="another method, for others",
        ),
        pytest.param(
            agent('import { recent } from "memory";', sent="recent(this.messages)"), CUT, id="a package"
        ),
    ],
)
def test_what_other_modules_do_without_harm(tmp_path, chat, memory):
    assert found(tmp_path, {"agent.ts": chat, "memory.ts": memory}) == []


def test_each_call_of_one_helper_is_told(tmp_path):
    chat = agent(TRIM, "recent(this.messages)")
    again = chat[chat.index("export") :].replace("Agent", "Other")
    assert (
        found(tmp_path, {"agent.ts": chat + again, "memory.ts": CUT}) == [("agent.ts", "PC501", "error")] * 2
    )


ROUTE = """
import OpenAI from "openai";
import { fit } from "./fit";
const client = new OpenAI();
export async function POST(request: Request) {
  const body = await request.json();
  const messages = fit(body.messages ?? []);
  const system = { role: "system", content: "Be brief." };
  return client.chat.completions.create({ model: "m", messages: [system, ...messages] });
}
"""
BUDGET = """
export function fit(messages: any[]) {
  const kept: any[] = [];
  let left = 9000;
  for (let i = messages.length - 1; i >= 0; i--) {
    left -= messages[i].content.length;
    if (left < 0) break;
    kept.unshift(messages[i]);
  }
  return kept;
}
"""
AGED = """
export function fit(messages: any[]) {
  return messages.map((m, i) => (messages.length - i > 6 ? { ...m, content: m.content.slice(0, 99) } : m));
}
"""


@pytest.mark.parametrize(
    ("fit", "code"),
    [
        pytest.param(
            "export const fit = (messages: any[]) => messages.slice(-(20 - 2));\n", "PC501", id="cut"
        ),
        pytest.param(BUDGET, "PC501", id="a budget"),
        pytest.param(AGED, "PC502", id="aged"),
    ],
)
def test_the_conversation_of_a_request_that_is_handed_on(tmp_path, fit, code):
    assert found(tmp_path, {"route.ts": ROUTE, "fit.ts": fit}) == [("route.ts", code, "warning")]


def test_the_documents_of_a_request_that_are_handed_on(tmp_path):
    chat = ROUTE.replace("body.messages", "body.documents")
    assert found(tmp_path, {"route.ts": chat, "fit.ts": BUDGET.replace("messages", "documents")}) == []
