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
    "gathered from it": "kept = []\nfor turn in self.history[-20:]:\n"
    "    if turn['content']:\n        kept.append(turn)\nmessages.extend(kept)",
    "under two names": "recent = self.history[-20:]\nturns = [*recent]\nmessages = [SYSTEM, *turns]",
}
NARROWED = {
    "the shorter one": ("recent = recent[-8:]", 18),
    "where it is longer": ("if len(recent) > 8:\n    recent = recent[-8:]", 19),
    "by one of two lengths": ("most = 6 if text else 8\nrecent = recent[-most:]", 19),
    "the longer one": ("recent = recent[-40:]", 17),
    "seldom": ("if len(recent) > 30:\n    recent = recent[-8:]", 17),
}
NOT_SENT = {
    "looked at": "recent = self.history[-20:]\nfor turn in recent:\n    print(turn)",
    "counted": "recent = self.history[-20:]\nsize = len(recent)",
    "written in a line": "recent = self.history[-20:]\nprint(' '.join(self.line(turn) for turn in recent))",
    "given to another helper": "recent = self.history[-20:]\nprint(self.headline(recent))",
    "told to somebody": "told = {}\nrecent = self.history[-20:]\n"
    "told['recent_messages'] = [turn for turn in recent]\nprint(told)",
    "of something else": "rows = self.load()\nrecent = rows[-20:]\nmessages.extend(self.described(recent))",
    "the last one alone": "recent = self.history[-1:]\nmessages.extend(recent)",
}


@pytest.mark.parametrize(("again", "row"), NARROWED.values(), ids=NARROWED)
def test_of_two_windows_under_a_name_the_shorter_is_told(again: str, row: int) -> None:
    lines = f"recent = self.history[-20:]\n{again}\nmessages.extend(recent)"
    text = DESK.replace("LINES", indent(lines, " " * 8))
    found = lint_text(text, "desk.py", Settings()).findings
    assert row in [each.place.row for each in found if each.code == "PC501"]
    assert row == 17 or 17 not in [each.place.row for each in found if each.code == "PC501"]


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


KEPT = """
from openai import OpenAI
client = OpenAI()
class Memory:
    def __init__(self):
        self.history = []
    def NAME(self):
        recent = self.history[-10:]
        return recent
    def add(self, text):
        self.history.append({"role": "assistant", "content": text})
    def hint(self, text):
        return USED
"""
SENDS = 'client.chat.completions.create(model="m", messages=self.recent_history())'


@pytest.mark.parametrize(
    ("name", "used", "expected"),
    [
        ("recent_history", "None", ["PC501"]),
        ("recent_history", '" ".join(turn["content"] for turn in self.recent_history())', []),
        ("recent_history", SENDS, ["PC501"]),
        ("headlines", "None", []),
    ],
)
def test_what_callers_of_the_same_module_make_of_it_decides(
    name: str, used: str, expected: list[str]
) -> None:
    text = KEPT.replace("NAME", name).replace("USED", used)
    assert [found.code for found in lint_text(text, "memory.py", Settings()).findings] == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [("summary = ask(older)", []), ("gist = summarize(older)", []), ("gist = ask(older)", ["PC501"])],
)
def test_a_window_beside_a_summary_of_the_rest(line: str, expected: list[str]) -> None:
    text = (
        "from openai import OpenAI\ndef shortened(messages, keep):\n"
        f"    older, recent = messages[:-keep], 0\n    recent = messages[-keep:]\n    {line}\n"
        '    kept = [{"role": "user", "content": "So far."}]\n    kept.extend(recent)\n'
        '    return OpenAI().chat.completions.create(model="m", messages=kept)\n'
    )
    assert [found.code for found in lint_text(text, "talk.py", Settings()).findings] == expected


@pytest.mark.parametrize(("name", "expected"), [("route_intent", []), ("answer", ["PC501"])])
def test_what_the_user_wants_is_asked_beside_the_conversation(name: str, expected: list[str]) -> None:
    text = (
        f"from openai import OpenAI\ndef {name}(messages, text):\n    recent = messages[-5:]\n"
        '    asked = [{"role": "system", "content": "Which of these?"}, *recent]\n'
        '    return OpenAI().chat.completions.create(model="m", messages=asked)\n'
    )
    assert [found.code for found in lint_text(text, "talk.py", Settings()).findings] == expected
