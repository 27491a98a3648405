"""What an error costs: what would be sent again, up to the next value that may change."""

from __future__ import annotations

import pytest

from promptcache_lint import Settings, lint_text

RULES = (
    "You are the clerk of a ferry line. Answer politely, name the pier, the deck and the hour of departure, "
    "in the language of the question. Never promise a seat to anybody. Say so when you do not know."
)
LONG = " ".join([RULES] * 24)
PYTHON = f"""
from datetime import datetime
from openai import OpenAI
client = OpenAI()
RULES = {RULES!r}
LONG = {LONG!r}
class Clerk:
    def ask(self, history, question, ticket, intent, clerk_name):
        system = f"SYSTEM"
        messages = [{{"role": "system", "content": system}}, TALK{{"role": "user", "content": question}}]
        return client.chat.completions.create(model="m", messages=messages)
"""
TYPESCRIPT = f"""
import OpenAI from "openai";
const client = new OpenAI();
const RULES = {RULES!r};
const LONG = {LONG!r};
export async function ask(history: M[], question: string, ticket: any, intent: string, clerkName: any) {{
  const system = `SYSTEM`;
  const messages = [{{ role: "system", content: system }}, TALK{{ role: "user", content: question }}];
  return client.chat.completions.create({{ model: "m", messages }});
}}
"""
NOW = {"clerk.py": "{datetime.now()}", "clerk.ts": "${new Date().toISOString()}"}
CASES = {
    "a conversation": ("NOW {RULES}", True, "error"),
    "a conversation, behind who answers": ("{clerk_name}. NOW {RULES}", True, "error"),
    "a conversation, behind what the turn is about": ("Of {intent}. NOW {RULES}", True, "warning"),
    "a conversation, the turn's own id in front of it": ("NOW {RULES} Ticket {ticket}.", True, "warning"),
    "much text, then the turn's own id": ("NOW {LONG} Ticket {ticket}.", True, "error"),
    "one question, and much text": ("NOW {LONG}", False, "error"),
    "one question, and little text": ("NOW {RULES}", False, "warning"),
    "one question, most of it behind the turn's own id": ("NOW {RULES} {ticket} {LONG}", False, "warning"),
}


@pytest.mark.parametrize("name", NOW)
@pytest.mark.parametrize(("system", "talks", "severity"), CASES.values(), ids=CASES)
def test_what_is_lost_for_certain(name, system, talks, severity):
    written = system.replace("NOW", NOW[name]) if name.endswith("py") else system.replace("{", "${")
    written = written.replace("NOW", NOW[name]).replace(
        "clerk_name", "clerkName" if "ts" in name else "clerk_name"
    )
    talk = {"clerk.py": "*history, ", "clerk.ts": "...history, "}[name] if talks else ""
    program = {"clerk.py": PYTHON, "clerk.ts": TYPESCRIPT}[name]
    text = program.replace("SYSTEM", written).replace("TALK", talk)
    found = lint_text(text, name, Settings()).findings
    assert [str(each.severity) for each in found if each.code == "PC101"] == [severity]


WINDOW = f"""
from openai import OpenAI
client = OpenAI()
RULES = {RULES!r}
class Clerk:
    def ask(self, question, found):
        self.talk.append({{"role": "user", "content": question}})
        self.talk = self.talk[-MOST:]
        messages = [{{"role": "system", "content": SYSTEM}}, *self.talk]
        reply = client.chat.completions.create(model="m", messages=messages)
        self.talk.append({{"role": "assistant", "content": reply.choices[0].message.content}})
"""


@pytest.mark.parametrize(
    ("system", "most", "severity"),
    [
        ("RULES", "12", "error"),
        ("RULES", "self.most", "warning"),
        ('RULES + f" Found: {found}"', "12", "warning"),
        ("render(found)", "12", "warning"),
    ],
)
def test_a_window_counts_behind_a_system_prompt_that_stays(system, most, severity):
    text = WINDOW.replace("MOST", most).replace("SYSTEM", system)
    found = lint_text(text, "clerk.py", Settings()).findings
    assert [str(each.severity) for each in found if each.code == "PC501"] == [severity]
