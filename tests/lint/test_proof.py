"""An error takes every link from the value to the request; where one is not shown it is a warning."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from promptcache_lint import Settings, lint_text

RULES = (
    "You are the clerk of a ferry line. Answer politely, name the pier, the deck and the hour of departure, "
    "in the language of the question. Never promise a seat to anybody. Say so when you do not know."
)
PYTHON = f"""
import functools, time
from datetime import datetime
from openai import OpenAI
RULES = {RULES!r}
client = OpenAI()
def clock():
    return datetime.now().strftime("%H:%M")
def head():
    return f"It is {{clock()}}."
def early(guest):
    if guest.banned:
        return "You are a guard."
    return f"It is {{clock()}}."
@functools.lru_cache
def kept():
    return f"It is {{clock()}}."
@memoize
def memorized():
    return f"It is {{clock()}}."
def wanted(guest):
    if not guest.clock:
        return None
    return f"It is {{clock()}}."
def fallen(guest):
    if guest.clock:
        return f"It is {{clock()}}."
def written(now):
    return f"It is {{now}}."
def noted(text, note=None):
    return f"{{text}} It is {{note}}." if note else text
class Clerk:
    def prepare(self):
        self.head = f"It is {{clock()}}."
    def ask(self, history, guest, flags, notes, kind, started):
BODY
        messages = [{{"role": "system", "content": system}}, *history]
        return client.chat.completions.create(model="m", messages=messages)
"""
TYPESCRIPT = f"""
import OpenAI from "openai";
const RULES = {RULES!r};
const client = new OpenAI();
const clock = () => new Date().toISOString();
function head() {{
  return `It is ${{clock()}}.`;
}}
function early(guest: Guest) {{
  if (guest.banned) {{
    return "You are a guard.";
  }}
  return `It is ${{clock()}}.`;
}}
function wanted(guest: Guest) {{
  if (!guest.clock) return null;
  return `It is ${{clock()}}.`;
}}
function fallen(guest: Guest) {{
  if (guest.clock) {{
    return `It is ${{clock()}}.`;
  }}
}}
function written(now: string) {{
  return `It is ${{now}}.`;
}}
function noted({{ text, lastSeen }}: {{ text: string; lastSeen?: Date }}) {{
  return `${{text}} ${{lastSeen ? `It is ${{Date.now() - lastSeen.getTime()}} ms ago.` : ""}}`;
}}
class Clerk {{
  head = "";
  prepare() {{
    this.head = `It is ${{clock()}}.`;
  }}
  async ask(history: Message[], guest: Guest, flags: Flags, notes: Note[], kind: string, started: Date) {{
BODY
    const messages = [{{ role: "system", content: system }}, ...history];
    return client.chat.completions.create({{ model: "m", messages }});
  }}
}}
"""

SHOWN_IN_PYTHON = {
    "written out": 'system = f"{RULES} It is {datetime.now()}."',
    "by functions": 'system = head() + " " + RULES',
    "in a list that is joined": 'parts = [RULES]\nparts.append(head())\nsystem = "\\n".join(parts)',
    "through a parameter": "system = written(clock()) + RULES",
    "in a template": 'system = "{now} {rules}".format(now=clock(), rules=RULES)',
    "added to": "system = head()\nsystem += RULES\nif guest.old:\n    system += ' Be patient.'",
    "in front of a branch": "now = clock()\nif guest.old:\n    now = now.upper()\nsystem = f'{now} {RULES}'",
    "on the way to this request": "self.prepare()\nsystem = self.head + RULES",
}
NOT_SHOWN_IN_PYTHON = {
    "how long something has taken": 'system = f"{RULES} For {time.time() - self.started} s."',
    "a round number of that": 'system = f"{RULES} For {int(time.time() - self.started)} s."',
    "what a function makes of it": "system = RULES + since(clock(), started)",
    "one of several, by a key": 'system = RULES + {"hours": head(), "menu": "None."}[kind]',
    "where something is so": 'system = RULES + (head() if flags.clock else "")',
    "and something else": 'system = RULES + (flags.clock and head() or "")',
    "in a branch": "system = RULES\nif flags.clock:\n    system += head()",
    "after a failure": "try:\n    system = RULES + guest.rules\nexcept KeyError:\n    system = head()",
    "for each record": "system = RULES\nfor note in notes:\n    system += f'{note.text} {clock()}'",
    "of a function that may end before": "system = RULES + early(guest)",
    "of a function that keeps it": "system = RULES + kept()",
    "of a function that memorizes it": "system = RULES + memorized()",
    "of a function that may give nothing": "system = ' '.join(p for p in [wanted(guest), RULES] if p)",
    "of a function that may come to its end": "system = f'{RULES} {fallen(guest)}'",
    "a date in ISO's form": "system = RULES + datetime.now().isoformat()[:10]",
    "a date as Python writes it": "system = RULES + str(datetime.now())[:10]",
    "midnight": "day = datetime.now().replace(hour=0, minute=0)\nsystem = RULES + day.isoformat()",
    "an hour": "system = RULES + datetime.now().strftime('%H:00')",
    "an hour in a text": "system = f'{RULES} {datetime.now():%H} {datetime.now().hour} h'",
    "the beginning of an hour": "system = RULES + str(datetime.now().replace(minute=0))",
    "kept by the object": "system = RULES + self.head",
    "unless something takes its place": "system = RULES + head()\nif guest.rules:\n    system = guest.rules",
    "before the rounds": "system = RULES + head()\nfor step in range(9):\n    client.chat.completions.create("
    'model="m", messages=[{"role": "system", "content": system}, *history])\nsystem = RULES',
    "that nobody hands in": "system = noted(RULES)",
}
SHOWN_IN_TYPESCRIPT = {
    "written out": "const system = `${RULES} It is ${new Date().toISOString()}.`;",
    "by functions": 'const system = head() + " " + RULES;',
    "in a list that is joined": 'const p = [RULES];\np.push(head());\nconst system = p.join("\\n");',
    "through a parameter": "const system = written(clock()) + RULES;",
    "added to": 'let system = head();\nsystem += RULES;\nif (guest.old) system += " Be patient.";',
}
NOT_SHOWN_IN_TYPESCRIPT = {
    "how long something has taken": "const system = `${RULES} For ${Date.now() - started.getTime()} ms.`;",
    "a round number of that": "const system = `${RULES} For ${Math.round((Date.now() - started) / 60)} s.`;",
    "what a function makes of it": "const system = RULES + since(clock(), started);",
    "one of several, by a key": 'const system = RULES + ({ hours: head(), menu: "None." })[kind];',
    "where something is so": 'const system = RULES + (flags.clock ? head() : "");',
    "and something else": "const system = RULES + (flags.clock && head());",
    "in a branch": "let system = RULES;\nif (flags.clock) system += head();",
    "after a failure": "let system = RULES;\ntry {\n  check(guest);\n} catch {\n  system += head();\n}",
    "for each record": "let system = RULES;\nfor (const note of notes) system += `${note.text} ${clock()}`;",
    "of a function that may end before": "const system = RULES + early(guest);",
    "of a function that may give nothing": 'const system = [RULES, wanted(guest)].filter(Boolean).join(" ");',
    "of a function that may come to its end": "const system = `${RULES} ${fallen(guest)}`;",
    "an hour": "const system = `${RULES} ${new Date().getHours()} h`;",
    "kept by the object": "const system = RULES + this.head;",
    "unless something takes its place": "let system = RULES + head();\nif (guest.old) system = RULES;",
    "that nobody hands in": "const system = noted({ text: RULES });",
}


def _severities(program: str, body: str, name: str, room: int) -> set[str]:
    found = lint_text(program.replace("BODY", indent(dedent(body), " " * room)), name, Settings()).findings
    return {str(finding.severity) for finding in found if finding.code == "PC101"}


@pytest.mark.parametrize("body", SHOWN_IN_PYTHON.values(), ids=SHOWN_IN_PYTHON)
def test_what_python_shows_is_an_error(body):
    assert "error" in _severities(PYTHON, body, "clerk.py", 8)


@pytest.mark.parametrize("body", NOT_SHOWN_IN_PYTHON.values(), ids=NOT_SHOWN_IN_PYTHON)
def test_what_python_does_not_show_is_none(body):
    assert "error" not in _severities(PYTHON, body, "clerk.py", 8)


@pytest.mark.parametrize("body", SHOWN_IN_TYPESCRIPT.values(), ids=SHOWN_IN_TYPESCRIPT)
def test_what_typescript_shows_is_an_error(body):
    assert "error" in _severities(TYPESCRIPT, body, "clerk.ts", 4)


@pytest.mark.parametrize("body", NOT_SHOWN_IN_TYPESCRIPT.values(), ids=NOT_SHOWN_IN_TYPESCRIPT)
def test_what_typescript_does_not_show_is_none(body):
    assert "error" not in _severities(TYPESCRIPT, body, "clerk.ts", 4)


def test_names_that_are_made_of_each_other_many_times_over_end_soon():
    """Three times a name in each of twenty: a look at each use of each would be one at billions."""
    rows = [
        "v0 = since(clock(), started)",
        *(f"v{n} = f'{{v{n - 1}}}{{v{n - 1}}}{{v{n - 1}}}'" for n in range(1, 15)),
    ]
    assert "error" not in _severities(PYTHON, "\n".join([*rows, "system = RULES + v14"]), "clerk.py", 8)
    rows = ["const v0 = since(clock(), started);"]
    rows += [f"const v{n} = `${{v{n - 1}}}${{v{n - 1}}}${{v{n - 1}}}`;" for n in range(1, 15)]
    assert "error" not in _severities(
        TYPESCRIPT, "\n".join([*rows, "const system = RULES + v14;"]), "clerk.ts", 4
    )
