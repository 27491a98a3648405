"""What a module makes once and keeps in a constant is the same in each request, whatever it is called."""

from __future__ import annotations

import pytest

from promptcache_lint import Settings, lint_text

PROGRAM = """
import OpenAI from "openai";
import { settings } from "./settings";
const client = new OpenAI();
MODULE
export async function ask(history: any[], question: string, topic: string) {
  HERE
  const system = `You are a clerk. ${HEAD} It is ${new Date().toISOString()}.`;
  const messages = [{ role: "system", content: system }, ...history, { role: "user", content: question }];
  return client.chat.completions.create({ model: "m", messages });
}
"""
MAPPED = '`Ask about:\\n${settings.topics.map((topic) => `- ${topic}`).join("\\n")}`'


@pytest.mark.parametrize(
    ("module", "here", "severity"),
    [
        (f"const HEAD = {MAPPED};", "", "error"),
        (f"export const HEAD = {MAPPED};", "", "error"),
        ("const HEAD = `Ask about ${settings.topic}.`;", "", "error"),
        (
            "const HEAD = settings.sea ? `Ask about ${settings.topic}.` : `At ${settings.status}.`;",
            "",
            "error",
        ),
        (f"let HEAD = {MAPPED};", "", "warning"),
        ("", f"const HEAD = {MAPPED};", "warning"),
        ("", "const HEAD = `Ask about ${topic}.`;", "warning"),
        ("const head = (topic: string) => `Ask about ${topic}.`;", "const HEAD = head(topic);", "warning"),
        ("const started = `Up since ${new Date()}.`;", "const HEAD = `${started} ${topic}`;", "warning"),
    ],
)
def test_a_clock_behind_what_a_module_makes_once(module, here, severity):
    text = PROGRAM.replace("MODULE", module).replace("HERE", here)
    found = lint_text(text, "clerk.ts", Settings()).findings
    assert [str(each.severity) for each in found if each.code == "PC101"] == [severity]


AGENT = """
import { generateText, tool } from "ai";
import { model, settings } from "./settings";
KIND run = tool({ description: `Ask about:\\n${settings.topics.map((topic) => `- ${topic}`)}`, inputSchema });
export async function ask(history: any[]) {
  const system = `You are a clerk. It is ${new Date().toISOString()}.`;
  return generateText({ model, system, messages: history, tools: { run } });
}
"""


@pytest.mark.parametrize(("kind", "severity"), [("export const", "error"), ("let", "warning")])
def test_what_stands_in_a_tool_of_the_module(kind, severity):
    found = lint_text(AGENT.replace("KIND", kind), "clerk.ts", Settings()).findings
    assert [str(each.severity) for each in found if each.code == "PC101"] == [severity]


def test_a_placeholder_in_a_constant_is_filled_later():
    text = """
import { ChatPromptTemplate } from "@langchain/core/prompts";
const TEMPLATE = ChatPromptTemplate.fromMessages([
  ["system", "You are a clerk. Ask about {topic}. It is {now}."],
  ["placeholder", "{history}"],
]);
export async function ask(model: any, history: any[], topic: string) {
  const messages = await TEMPLATE.formatMessages({ topic, history, now: new Date().toISOString() });
  return model.invoke(messages);
}
"""
    found = lint_text(text, "clerk.ts", Settings()).findings
    assert {str(each.severity) for each in found if each.code == "PC101"} <= {"warning"}
