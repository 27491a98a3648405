"""A conversation for each user in a map or an object, and windows that are gone through."""

from __future__ import annotations

from textwrap import indent

import pytest

from promptcache_lint import Settings, lint_text

DESK = """
import OpenAI from "openai";
const client = new OpenAI();
const SYSTEM = { role: "system", content: "You help the readers of a library." };
export class Desk {
  private history: any[] = [];
  private byMap = new Map<string, any[]>();
  private talks: Record<string, any[]> = {};
  private seen: Record<string, any[]> = {};
  async ask(user: string, text: string) {
    const messages: any[] = [SYSTEM];
LINES
    const said = await client.chat.completions.create({ model: "gpt-4o", messages });
    KEEP
    return said;
  }
}
"""
ANSWER = '.push({ role: "assistant", content: said.choices[0].message.content });'
ADDS = 'this.talks[user] ??= [];\nthis.talks[user].push({ role: "user", content: text });\n'
SENDS = "\nmessages.push(...this.talks[user]);"
OBJECT = {
    "in its place": "this.talks[user] = this.talks[user].slice(-10);",
    "under a name": "const talk = this.talks[user];\n"
    "if (talk.length > 10) this.talks[user] = talk.slice(-10);",
    "shifted": "if (this.talks[user].length > 10) this.talks[user].shift();",
    "spliced": "if (this.talks[user].length > 10) this.talks[user].splice(0, 2);",
}
FINE = {
    "of what was seen": "this.seen[user] = this.seen[user].slice(-10);",
    "rarely, and far": "if (this.talks[user].length > 40) this.talks[user] = this.talks[user].slice(-20);",
    "looked at": "console.log(this.talks[user].slice(-10));",
}
MAP = {
    "set": 'const talk = this.byMap.get(user) ?? [];\ntalk.push({ role: "user", content: text });\n'
    "this.byMap.set(user, talk.slice(-10));\nmessages.push(...this.byMap.get(user)!);",
    "set under a name": "let talk = this.byMap.get(user) || [];\n"
    'talk.push({ role: "user", content: text });\nif (talk.length > 10) talk = talk.slice(-10);\n'
    "this.byMap.set(user, talk);\nmessages.push(...talk);",
}
WINDOWS = {
    "gone through": "const recent = this.history.slice(-20);\n"
    "for (const turn of recent) messages.push({ role: turn.role, content: turn.content });",
    "for each": "const recent = this.history.slice(-20);\nrecent.forEach((turn) => messages.push(turn));",
    "by a product": "messages.push(...this.history.slice(-10 * 2));",
}
LOOKED_AT = {
    "gone through": "const lines: string[] = [];\n"
    "for (const turn of this.history.slice(-20)) lines.push(turn.content);\nconsole.log(lines);",
    "for each": "this.history.slice(-20).forEach((turn) => console.log(turn));",
}


def _found(lines: str, keep: str) -> list[str]:
    text = DESK.replace("LINES", indent(lines, " " * 4)).replace("KEEP", keep)
    found = lint_text(text, "desk.ts", Settings()).findings
    return [str(each.severity) for each in found if each.code == "PC501"]


@pytest.mark.parametrize("lines", OBJECT.values(), ids=OBJECT)
def test_the_talk_of_each_reader_is_cut(lines: str) -> None:
    assert _found(ADDS + lines + SENDS, f"this.talks[user]{ANSWER}") == ["error"]


@pytest.mark.parametrize("lines", FINE.values(), ids=FINE)
def test_what_is_no_talk_or_costs_little_is_fine(lines: str) -> None:
    assert _found(ADDS + lines + SENDS, f"this.talks[user]{ANSWER}") == []


@pytest.mark.parametrize("lines", MAP.values(), ids=MAP)
def test_the_talk_of_each_reader_in_a_map(lines: str) -> None:
    assert _found(lines, f"this.byMap.get(user)!{ANSWER}") == ["error"]


@pytest.mark.parametrize("lines", WINDOWS.values(), ids=WINDOWS)
def test_a_window_is_gone_through_before_it_is_sent(lines: str) -> None:
    asked = 'this.history.push({ role: "user", content: text });\n'
    assert _found(asked + lines, f"this.history{ANSWER}") == ["error"]


@pytest.mark.parametrize("lines", LOOKED_AT.values(), ids=LOOKED_AT)
def test_a_window_that_is_only_looked_at_is_fine(lines: str) -> None:
    asked = 'this.history.push({ role: "user", content: text });\nmessages.push(...this.history);\n'
    assert _found(asked + lines, f"this.history{ANSWER}") == []


def test_another_name_of_the_conversation_is_cut_where_it_is_longer() -> None:
    lines = (
        'this.history.push({ role: "user", content: text });\nlet recent = this.history;\n'
        "if (recent.length > 20) recent = recent.slice(-20);\nmessages.push(...recent);"
    )
    assert _found(lines, f"this.history{ANSWER}") == ["warning"]


@pytest.mark.parametrize(
    ("used", "expected"),
    [("[SYSTEM, ...talks[user]]", ["error"]), ("[SYSTEM, { role: 'user', content: text }]", [])],
)
def test_a_table_of_the_module_is_cut_by_what_adds_to_it(used: str, expected: list[str]) -> None:
    text = (
        'import OpenAI from "openai";\nconst client = new OpenAI();\n'
        'const SYSTEM = { role: "system", content: "You help the readers of a library." };\n'
        "const talks: Record<string, any[]> = {};\n"
        "function remember(user: string, role: string, content: string) {\n"
        "  (talks[user] ||= []).push({ role, content });\n"
        "  if (talks[user].length > 20) talks[user] = talks[user].slice(-20);\n}\n"
        "export async function ask(user: string, text: string) {\n"
        '  remember(user, "user", text);\n'
        f'  const said = await client.chat.completions.create({{ model: "gpt-4o", messages: {used} }});\n'
        '  remember(user, "assistant", said.choices[0].message.content);\n  return said;\n}\n'
    )
    found = lint_text(text, "desk.ts", Settings()).findings
    assert [str(each.severity) for each in found if each.code == "PC501"] == expected
