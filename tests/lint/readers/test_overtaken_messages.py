"""Messages that are changed before the next one of their kind is added: each is sent in two forms."""

from __future__ import annotations

import pytest

from promptcache_lint import Settings, lint_text

PYTHON = """
from openai import OpenAI
client = OpenAI()

class Agent:
    def __init__(self):
        self.messages = [{"role": "system", "content": "You drive a browser."}]

    def next(self, shot):
        FIRST
        SECOND
        reply = client.chat.completions.create(model="gpt-4.1", messages=self.messages)
        self.messages.append({"role": "assistant", "content": reply.choices[0].message.content})
        return reply
"""
TYPESCRIPT = """
import OpenAI from "openai";
const client = new OpenAI();
export class Agent {
  private messages: any[] = [{ role: "system", content: "You drive a browser." }];
  async next(shot: string) {
    FIRST
    SECOND
    const reply = await client.chat.completions.create({ model: "gpt-4.1", messages: this.messages });
    this.messages.push({ role: "assistant", content: reply.choices[0].message.content });
    return reply;
  }
}
"""
STRIP = """for message in self.messages:
            if message["role"] == "user":
                message["content"] = [part for part in message["content"] if part["type"] != "image_url"]"""
ADD = """self.messages.append({"role": "user", "content": [{"type": "image_url", "image_url": shot}]})"""
ADD_TEXT = """self.messages.append({"role": "user", "content": [{"type": "text", "text": shot}]})"""
STRIP_TS = """for (const message of this.messages) {
      if (message.role === "user") {
        message.content = message.content.filter((part: any) => part.type !== "image_url");
      }
    }"""
ADD_TS = """this.messages.push({ role: "user", content: [{ type: "image_url", image_url: shot }] });"""
ADD_TEXT_TS = """this.messages.push({ role: "user", content: [{ type: "text", text: shot }] });"""


@pytest.mark.parametrize(
    ("name", "program", "first", "second", "expected"),
    [
        ("agent.py", PYTHON, STRIP, ADD, ["PC502"]),
        ("agent.py", PYTHON, ADD, STRIP, []),
        ("agent.py", PYTHON, STRIP, ADD_TEXT, []),
        ("agent.ts", TYPESCRIPT, STRIP_TS, ADD_TS, ["PC502"]),
        ("agent.ts", TYPESCRIPT, ADD_TS, STRIP_TS, []),
        ("agent.ts", TYPESCRIPT, STRIP_TS, ADD_TEXT_TS, []),
    ],
)
def test_what_is_added_behind_the_change(
    name: str, program: str, first: str, second: str, expected: list[str]
) -> None:
    if name.endswith(".ts"):
        pytest.importorskip("tree_sitter_typescript")
    text = program.replace("FIRST", first).replace("SECOND", second)
    assert [each.code for each in lint_text(text, name, Settings(select=("PC502",))).findings] == expected
