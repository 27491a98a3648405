"""Cuts that no request shows: of a name that nothing reads again, and the longer one of two."""

from __future__ import annotations

import pytest

from promptcache_lint import Settings, lint_text

KEPT = """
import OpenAI from "openai";
const client = new OpenAI();
const SYSTEM = "You are a clerk.";
const talks = new Map<string, any[]>();
export async function ask(person: string, question: string) {
  let history = talks.get(person) ?? [];
  talks.set(person, history);
  history.push({ role: "user", content: question });
  const messages = [{ role: "system", content: SYSTEM }, ...history];
  const reply = await client.chat.completions.create({ model: "m", messages });
  history.push({ role: "assistant", content: reply.choices[0].message.content });
  END
}
"""
CUT = "if (history.length > 10) history = history.slice(-10);"


@pytest.mark.parametrize(
    ("end", "rows"),
    [
        (f"{CUT} return reply;", []),
        (f"{CUT} talks.set(person, history); return reply;", [13]),
        (f"const last = () => history; {CUT} return last;", [13]),
        ("for (const each of [1, 2]) { history = history.slice(-10); } return reply;", [13]),
    ],
)
def test_a_name_that_nothing_reads_again(end, rows):
    found = lint_text(KEPT.replace("END", end), "clerk.ts", Settings()).findings
    assert [each.place.row for each in found if each.code == "PC501"] == rows


CHAT = """
import OpenAI from "openai";
const client = new OpenAI();
const KEEP = 20;
class Chat {
  private history: any[] = [];
  async ask(question: string) {
    const system = { role: "system", content: "You are a clerk." };
    const messages = [system, ...this.history.slice(-SENT), { role: "user", content: question }];
    const reply = await client.chat.completions.create({ model: "m", messages });
    this.history.push({ role: "user", content: question });
    this.history.push({ role: "assistant", content: reply.choices[0].message.content });
    if (this.history.length > MARK) {
      this.history = this.history.slice(-KEPT);
    }
    return reply;
  }
  show() {
    SHOW
  }
}
"""


@pytest.mark.parametrize(
    ("sent", "kept", "show", "expected"),
    [
        ("10", "20", "console.log(this.history.length);", [(9, "error")]),
        ("10", "KEEP", "console.log(this.history[0]);", [(9, "error")]),
        ("20", "10", "console.log(this.history.at(-1));", [(14, "error")]),
        ("30", "KEEP", "console.log(this.history.at(-1));", [(14, "error")]),
        ("30", "200 KEEP", "console.log(this.history.at(-1));", [(9, "error")]),
        ("10", "20", "return this.history;", [(9, "error"), (14, "warning")]),
        ("10", "20", "return this.history.map(String);", [(9, "error"), (14, "warning")]),
        ("(KEEP + 30)", "40", "console.log(this.history.at(-1));", [(14, "error")]),
        ("(KEEP)", "40", "console.log(this.history.at(-1));", [(9, "error")]),
        ("most", "20", "console.log(this.history.length);", [(9, "warning"), (14, "error")]),
    ],
)
def test_the_shorter_of_two_cuts_hides_the_other(sent, kept, show, expected):
    text = (
        CHAT.replace("SENT", sent)
        .replace("MARK", kept.split()[0])
        .replace("KEPT", kept.split()[-1])
        .replace("SHOW", show)
    )
    found = lint_text(text, "chat.ts", Settings()).findings
    assert [(each.place.row, str(each.severity)) for each in found if each.code == "PC501"] == expected
