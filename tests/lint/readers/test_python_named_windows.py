"""Windows that have a name before they are sent, and what else a window may be cut from or put into."""

from __future__ import annotations

from textwrap import indent

import pytest

from promptcache_lint import Settings, lint_text

DESK = """
from openai import OpenAI
client = OpenAI()
SYSTEM = {"role": "system", "content": "You help the readers of a library."}
class Desk:
    def __init__(self):
        self.history = []
    def line(self, turn):
        return turn["content"]
    def with_system(self, turns):
        return [SYSTEM, *turns]
    def headline(self, turns):
        return " ".join(turn["content"] for turn in turns)
    def ask(self, text):
        self.history.append({"role": "user", "content": text})
        messages = [SYSTEM]
LINES
        response = client.chat.completions.create(model="gpt-4o", messages=messages)
        self.history.append({"role": "assistant", "content": response.choices[0].message.content})
        return response
"""
SENT = {
    "extended": "recent = self.history[-20:]\nmessages.extend(recent)",
    "added": "recent = self.history[-20:]\nmessages += recent",
    "added at once": "messages += self.history[-20:]",
    "joined": "recent = self.history[-20:]\nmessages = messages + recent",
    "unpacked": "recent = self.history[-20:]\nmessages = [SYSTEM, *recent]",
    "gone through": "recent = self.history[-20:]\nfor turn in recent:\n    messages.append(turn)",
    "turned round": "recent = list(reversed(self.history[-20:]))\nmessages.extend(reversed(recent))",
    "where there is one": "recent = self.history[-20:] or []\nmessages.extend(recent)",
    "only where it is longer": "recent = self.history\n"
    "if len(recent) > 20:\n    recent = recent[-20:]\nmessages.extend(recent)",
    "of a copy": "recent = list(self.history)\nrecent = recent[-20:]\nmessages.extend(recent)",
    "of what is left": "recent = [turn for turn in self.history if turn['content']][-20:]\n"
    "messages.extend(recent)",
    "behind the first": "messages = [self.history[0], *self.history[1:][-20:]]",
    "by a product": "messages.extend(self.history[-10 * 2:])",
    "each made anew": "messages.extend([dict(turn) for turn in self.history[-20:]])",
    "given to a helper": "messages = self.with_system(self.history[-20:])",
    "named and given": "recent = self.history[-20:]\nmessages = self.with_system(turns=recent)",
    "under two names": "recent = self.history[-20:]\nturns = [*recent]\nmessages = [SYSTEM, *turns]",
}
NOT_SENT = {
    "looked at": "recent = self.history[-20:]\nfor turn in recent:\n    print(turn)",
    "counted": "recent = self.history[-20:]\nsize = len(recent)",
    "written in a line": "recent = self.history[-20:]\nprint(' '.join(self.line(turn) for turn in recent))",
    "given to another helper": "recent = self.history[-20:]\nprint(self.headline(recent))",
    "of something else": "rows = self.load()\nrecent = rows[-20:]\nmessages.extend(self.described(recent))",
    "the last one alone": "recent = self.history[-1:]\nmessages.extend(recent)",
}


def _found(lines: str) -> list[tuple[str, str]]:
    report = lint_text(DESK.replace("LINES", indent(lines, " " * 8)), "desk.py", Settings())
    return [(found.code, str(found.severity)) for found in report.findings]


@pytest.mark.parametrize("lines", SENT.values(), ids=SENT)
def test_a_window_is_told_by_whatever_way_it_is_sent(lines: str) -> None:
    assert _found(lines) == [("PC501", "error")]


@pytest.mark.parametrize("lines", NOT_SENT.values(), ids=NOT_SENT)
def test_a_window_that_is_not_sent_is_fine(lines: str) -> None:
    assert _found(lines) == []


GETTER = """
from openai import OpenAI
client = OpenAI()
SYSTEM = {"role": "system", "content": "You help the readers of a library."}
def get_history(db, session):
    rows = db.execute("select role, content from talk where session = ? order by id", (session,))
    return [{"role": row[0], "content": row[1]} for row in rows]
def ask(db, session, question):
    turns = get_history(db, session)WINDOW
    asked = [SYSTEM] + turns + [{"role": "user", "content": question}]
    reply = client.chat.completions.create(model="gpt-4o", messages=asked).choices[0].message.content
    KEEP
    return reply
"""


@pytest.mark.parametrize(
    ("window", "keep", "expected"),
    [
        ("[-10:]", 'save_message(db, session, "assistant", reply)', ["error"]),
        ("[-10:]", "print(reply)", ["warning"]),
        ("", 'save_message(db, session, "assistant", reply)', []),
    ],
)
def test_the_end_of_what_a_getter_gives(window: str, keep: str, expected: list[str]) -> None:
    text = GETTER.replace("WINDOW", window).replace("KEEP", keep)
    found = lint_text(text, "desk.py", Settings()).findings
    assert [str(each.severity) for each in found if each.code == "PC501"] == expected
