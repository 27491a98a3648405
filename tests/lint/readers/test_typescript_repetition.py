"""What TypeScript makes anew for each request, and what it makes once: only the first is an error."""

from __future__ import annotations

import pytest

from promptcache_lint import Settings, lint_text

RULES = (
    "You are the clerk of a ferry line. Answer politely, name the pier, the deck and the hour of departure, "
    "in the language of the question. Never promise a seat to anybody. Say so when you do not know."
)
TEXT = f"`It is ${{new Date().toISOString()}}. {RULES} {RULES} {RULES}`"
SEND = "client.chat.completions.create({ model, messages })"

CASES = {
    "for each request": (
        f"""export async function ask(client, model, talk) {{
  const messages = [{{ role: "system", content: {TEXT} }}, ...talk];
  return {SEND};
}}
""",
        "error",
    ),
    "in the options of a request": (
        f"""export async function ask(talk) {{
  return generateText({{ model, system: {TEXT}, messages: talk }});
}}
""",
        "error",
    ),
    "with an object": (
        f"""import OpenAI from "openai";
export function support() {{
  return new Agent({{ name: "clerk", instructions: {TEXT} }});
}}
""",
        "warning",
    ),
    "by a function that makes an agent": (
        f"""import OpenAI from "openai";
export function support() {{
  return createAgent({{ name: "clerk", instructions: {TEXT} }});
}}
""",
        "warning",
    ),
    "stored on an object": (
        f"""import OpenAI from "openai";
class Talk {{
  begin() {{
    this.messages = [{{ role: "system", content: {TEXT} }}];
  }}
}}
""",
        "warning",
    ),
    "only where there is nothing yet": (
        f"""import OpenAI from "openai";
export async function ask(client, model, messages) {{
  if (!messages.length) {{
    messages.push({{ role: "system", content: {TEXT} }});
  }}
  return {SEND};
}}
""",
        "warning",
    ),
    "in a constructor": (
        f"""import OpenAI from "openai";
class Talk {{
  constructor() {{
    const first = {{ role: "system", content: {TEXT} }};
    this.begin(first);
  }}
}}
""",
        "warning",
    ),
    "by a name alone": (
        f"""import OpenAI from "openai";
export function systemPrompt() {{
  return {TEXT};
}}
""",
        "warning",
    ),
}


@pytest.mark.parametrize(("text", "severity"), CASES.values(), ids=CASES)
def test_only_what_is_made_anew_and_sent_is_an_error(text, severity):
    report = lint_text(text, "clerk.ts", Settings())
    assert [(found.code, str(found.severity)) for found in report.findings] == [("PC101", severity)]


def test_a_test_is_no_error():
    text = CASES["for each request"][0]
    report = lint_text(text, "clerk.test.ts", Settings())
    assert [str(found.severity) for found in report.findings] == ["warning"]
