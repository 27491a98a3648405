"""A conversation behind what TypeScript sends, as functions and classes write it out."""

# ruff: noqa: E501 - programs as people write them
from __future__ import annotations

import pytest

from promptcache_lint import Settings, lint_text

GROWS = {
    "kept by the object": """
import Anthropic from "@anthropic-ai/sdk";
export class ChatSession {
  private client = new Anthropic();
  private history: Anthropic.MessageParam[] = [];
  private buildSystemPrompt(): string {
    return ["You are a tutor.", `Now: ${new Date().toISOString()}`, "Explain step by step."].join("\\n");
  }
  async send(text: string) {
    this.history.push({ role: "user", content: text });
    const response = await this.client.messages.create({
      model: "claude-sonnet-4-5",
      max_tokens: 1024,
      cache_control: { type: "ephemeral" },
      system: this.buildSystemPrompt(),
      messages: this.history,
    });
    this.history.push({ role: "assistant", content: response.content });
    return response;
  }
}
""",
    "in a list with its head": """
import OpenAI from "openai";
export class Bot {
  private messages: OpenAI.ChatCompletionMessageParam[] = [];
  constructor(private client: OpenAI) {}
  async ask(text: string) {
    this.messages.push({ role: "user", content: text });
    const r = await this.client.chat.completions.create({
      model: "gpt-4o",
      messages: [{ role: "system", content: `You are a clerk. It is ${new Date().toISOString()}.` }, ...this.messages],
    });
    this.messages.push(r.choices[0].message);
    return r;
  }
}
""",
    "that its rounds add to": """
import Anthropic from "@anthropic-ai/sdk";
const client = new Anthropic();
export async function agent(task: string) {
  const messages: Anthropic.MessageParam[] = [{ role: "user", content: task }];
  while (true) {
    const r = await client.messages.create({
      model: "claude-sonnet-4-5", max_tokens: 9, cache_control: { type: "ephemeral" },
      system: `You are an agent. It is ${new Date().toISOString()}.`,
      messages,
    });
    messages.push({ role: "assistant", content: r.content });
    if (r.stop_reason !== "tool_use") return r;
    messages.push({ role: "user", content: await runTools(r) });
  }
}
""",
    "put behind its head": """
import OpenAI from "openai";
const client = new OpenAI();
export async function reply(conversation: Turn[], text: string) {
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "system", content: `You are a clerk. It is ${new Date().toISOString()}.` }];
  for (const turn of conversation) {
    messages.push({ role: turn.role, content: turn.text });
  }
  messages.push({ role: "user", content: text });
  return client.chat.completions.create({ model: "gpt-4o", messages });
}
""",
}
DOES_NOT = {
    "that begins anew each time": """
import OpenAI from "openai";
export class Asker {
  private messages: OpenAI.ChatCompletionMessageParam[] = [];
  constructor(private client: OpenAI) {}
  private reset() { this.messages = []; }
  async ask(text: string) {
    this.reset();
    this.messages.push({ role: "user", content: text });
    const r = await this.client.responses.create({ model: "gpt-5", instructions: `You are a clerk. It is ${new Date().toISOString()}.`, input: this.messages });
    this.messages.push({ role: "assistant", content: r.output_text });
    return r;
  }
}
""",
    "that is kept with its head": """
import OpenAI from "openai";
export class Bot {
  private messages: OpenAI.ChatCompletionMessageParam[];
  private readonly head = `You are a clerk. It is ${new Date().toISOString()}.`;
  constructor(private client: OpenAI) { this.messages = [{ role: "system", content: `You are a clerk. Began ${new Date().toISOString()}.` }]; }
  async ask(text: string) {
    this.messages.push({ role: "user", content: text });
    const r = await this.client.chat.completions.create({ model: "gpt-5", messages: [{ role: "system", content: this.head }, ...this.messages] });
    this.messages.push(r.choices[0].message);
    return r;
  }
}
""",
    "of documents": """
import OpenAI from "openai";
const client = new OpenAI();
export async function names(documents: Doc[]) {
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "system", content: `Find names. It is ${new Date().toISOString()}.` }];
  for (const document of documents) messages.push({ role: "user", content: document.text });
  return client.chat.completions.create({ model: "gpt-4o", messages });
}
""",
    "behind a head of all rounds": """
import Anthropic from "@anthropic-ai/sdk";
const client = new Anthropic();
export async function agent(task: string) {
  const messages: Anthropic.MessageParam[] = [{ role: "user", content: task }];
  const system = `You are an agent. It is ${new Date().toISOString()}.`;
  for (let step = 0; step < 20; step++) {
    const r = await client.messages.create({ model: "claude-sonnet-4-5", max_tokens: 9, system, messages });
    messages.push({ role: "assistant", content: r.content });
    if (r.stop_reason !== "tool_use") return r;
  }
}
""",
    "that a task begins": """
import OpenAI from "openai";
const client = new OpenAI();
export async function agent(task: string) {
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "system", content: `You are an agent. Began ${new Date().toISOString()}.` }, { role: "user", content: task }];
  while (true) {
    const r = await client.chat.completions.create({ model: "gpt-4o", messages });
    messages.push(r.choices[0].message);
    if (!r.choices[0].message.tool_calls) return r;
  }
}
""",
    "that gets a title": """
import { openai } from "@ai-sdk/openai";
import { generateText, type ModelMessage } from "ai";
export async function generateTitle(messages: ModelMessage[]) {
  return generateText({ model: openai("gpt-4o"), system: `Write a title. Now: ${new Date().toISOString()}.`, messages });
}
""",
}


def _severities(program: str) -> set[str]:
    found = lint_text(program, "clerk.ts", Settings()).findings
    return {str(finding.severity) for finding in found if finding.code == "PC101"}


@pytest.mark.parametrize("program", GROWS.values(), ids=GROWS)
def test_a_conversation_that_is_seen_to_grow_makes_an_error(program):
    assert "error" in _severities(program)


@pytest.mark.parametrize("program", DOES_NOT.values(), ids=DOES_NOT)
def test_one_that_may_not_makes_none(program):
    assert _severities(program) == {"warning"}


WINDOW = """
import OpenAI from "openai";
const client = new OpenAI();
const sessions = new Map<string, OpenAI.ChatCompletionMessageParam[]>();
export async function handle(id: string, text: string) {
  const history = sessions.get(id) ?? [];
  history.push({ role: "user", content: text });
  const r = await client.chat.completions.create({
    model: "gpt-4o",
    messages: [{ role: "system", content: "You are a clerk of a ferry line. Be kind." }, ...history.slice(-10)],
  });
  history.push(r.choices[0].message);
  sessions.set(id, history);
  return r;
}
"""


@pytest.mark.parametrize(
    ("program", "severity"), [(WINDOW, "error"), (WINDOW.replace("sessions.set", "log"), "warning")]
)
def test_a_window_over_a_conversation_of_a_map(program, severity):
    found = lint_text(program, "clerk.ts", Settings()).findings
    assert [str(each.severity) for each in found if each.code == "PC501"] == [severity]
