"""Cuts that no request shows: of a name that nothing reads again, and the longer one of two."""

from __future__ import annotations

import pytest

from promptcache_lint import Settings, lint_text

KEPT = """
from openai import OpenAI
client = OpenAI()
class Clerk:
    def __init__(self):
        self.talks = {}
    def ask(self, person, question):
        history = self.talks.get(person)
        if not history:
            history = []
            self.talks[person] = history
        history.append({"role": "user", "content": question})
        reply = client.chat.completions.create(model="m", messages=SENT)
        history.append({"role": "assistant", "content": reply.choices[0].message.content})
        END
"""
CUT = "if len(history) > 10: history = history[-10:]"


@pytest.mark.parametrize(
    ("end", "rows"),
    [
        (f"{CUT}\n        return reply", []),
        (f"{CUT}\n        self.talks[person] = history\n        return reply", [15]),
        ("history = history[-10:]\n        return history", [15]),
        ("history[:] = history[-10:]\n        return reply", [15]),
    ],
)
def test_a_name_that_nothing_reads_again(end, rows):
    found = lint_text(KEPT.replace("END", end).replace("SENT", "history"), "clerk.py", Settings()).findings
    assert [each.place.row for each in found if each.code == "PC501"] == rows


def test_a_name_that_a_function_of_its_own_reads():
    end = "def last(): return history\n        history = history[-10:]\n        return last"
    found = lint_text(KEPT.replace("END", end).replace("SENT", "history"), "clerk.py", Settings()).findings
    assert [each.place.row for each in found if each.code == "PC501"] == [16]


CHAT = """
from collections import deque
from openai import OpenAI
client = OpenAI()
class Chat:
    def __init__(self):
        self.history = []
    def ask(self, question):
        messages = [{"role": "system", "content": "You are a clerk."}]
        for turn in self.history[-SENT:]:
            messages.append(turn)
        messages.append({"role": "user", "content": question})
        reply = client.chat.completions.create(model="m", messages=messages)
        self.history.append({"role": "user", "content": question})
        self.history.append({"role": "assistant", "content": reply.choices[0].message.content})
        if len(self.history) > MARK:
            self.history = self.history[-KEPT:]
        return reply
    def show(self):
        SHOW
"""


@pytest.mark.parametrize(
    ("sent", "kept", "show", "expected"),
    [
        ("10", "20", "print(len(self.history))", [(10, "error")]),
        ("10", "10", "print(self.history[-1])", [(10, "error")]),
        ("20", "10", "print(self.history[0])", [(17, "error")]),
        ("20", "200 10", "print(self.history[0])", [(10, "error")]),
        ("10", "20", "return self.history", [(10, "error"), (17, "warning")]),
        ("10", "20", "return self.history[:3]", [(10, "error"), (17, "warning")]),
        ("self.most", "20", "print(len(self.history))", [(10, "warning"), (17, "error")]),
    ],
)
def test_the_shorter_of_two_cuts_hides_the_other(sent, kept, show, expected):
    text = (
        CHAT.replace("SENT", sent)
        .replace("MARK", kept.split()[0])
        .replace("KEPT", kept.split()[-1])
        .replace("SHOW", show)
    )
    found = lint_text(text, "chat.py", Settings()).findings
    assert [(each.place.row, str(each.severity)) for each in found if each.code == "PC501"] == expected


QUEUED = """
from collections import deque
from openai import OpenAI
client = OpenAI()
class Chat:
    def __init__(self):
        self.turns = deque(maxlen=KEPT)
    def ask(self, question):
        self.turns.append({"role": "user", "content": question})
        recent = list(self.turns)SENT
        reply = client.chat.completions.create(model="m", messages=recent)
        self.turns.append({"role": "assistant", "content": reply.choices[0].message.content})
    def summarize(self):
        return list(self.turns)
"""


@pytest.mark.parametrize(("kept", "sent", "row"), [("20", "[-6:]", 10), ("6", "[-20:]", 7), ("20", "", 7)])
def test_a_queue_that_only_a_shorter_window_shows(kept, sent, row):
    text = QUEUED.replace("KEPT", kept).replace("SENT", sent)
    found = lint_text(text, "chat.py", Settings()).findings
    assert row in [each.place.row for each in found if each.code == "PC501"]
    assert sent != "[-6:]" or 7 not in [each.place.row for each in found]


@pytest.mark.parametrize(("item", "rows"), [("Turn", [7]), ("TurnResult", []), ("dict", [7])])
def test_a_queue_of_what_was_done_holds_no_conversation(item, rows):
    text = QUEUED.replace("self.turns = ", f"self.turns: deque[{item}] = ").replace("SENT", "")
    found = lint_text(text.replace("KEPT", "20"), "chat.py", Settings()).findings
    assert [each.place.row for each in found if each.code == "PC501"] == rows
