"""A conversation for each user or channel in a table, cut where it is kept or where it is sent."""

from __future__ import annotations

from textwrap import indent

import pytest

from promptcache_lint import Settings, Severity, lint_text

DESK = """
from collections import deque
from openai import OpenAI
client = OpenAI()
SYSTEM = {"role": "system", "content": "You help the readers of a library."}
class Desk:
    def __init__(self):
        self.talks = {}
        self.seen = {}
        self.rooms = {}
    def ask(self, reader, text):
        if reader not in self.talks:
            self.talks[reader] = []
        self.talks[reader].append({"role": "user", "content": text})
LINES
        said = client.chat.completions.create(model="gpt-4o", messages=[SYSTEM, *SENT])
        self.talks[reader].append({"role": "assistant", "content": said.choices[0].message.content})
        return said
"""
CUT = {
    "in its place": "self.talks[reader] = self.talks[reader][-10:]",
    "only where it is longer": "if len(self.talks[reader]) > 10:\n"
    "    self.talks[reader] = self.talks[reader][-10:]",
    "under a name": "talk = self.talks[reader]\nif len(talk) > 10:\n    self.talks[reader] = talk[-10:]",
    "by a getter": "self.talks[reader] = self.talks.get(reader, [])[-10:]",
    "deleted": "del self.talks[reader][:-10]",
    "popped": "if len(self.talks[reader]) > 10:\n    self.talks[reader].pop(0)",
    "popped while it is longer": "while len(self.talks[reader]) > 10:\n    self.talks[reader].pop(0)",
    "a queue": "if not self.talks[reader]:\n    self.talks[reader] = deque(maxlen=10)",
}
FINE = {
    "of what was seen": "self.seen[reader] = self.seen[reader][-10:]",
    "rarely, and far": "if len(self.talks[reader]) > 40:\n    self.talks[reader] = self.talks[reader][-20:]",
    "looked at": "print(self.talks[reader][-10:])",
    "waiting lines": "self.seen[reader].pop(0)",
}


def _found(lines: str, sent: str = "self.talks[reader]") -> list[tuple[int, str]]:
    text = DESK.replace("LINES", indent(lines, " " * 8)).replace("SENT", sent)
    found = lint_text(text, "desk.py", Settings()).findings
    return [(each.place.row, str(each.severity)) for each in found if each.code == "PC501"]


@pytest.mark.parametrize("lines", CUT.values(), ids=CUT)
def test_the_talk_of_each_reader_is_cut(lines: str) -> None:
    assert [severity for _, severity in _found(lines)] == ["error"]


@pytest.mark.parametrize("lines", FINE.values(), ids=FINE)
def test_what_is_no_talk_or_costs_little_is_fine(lines: str) -> None:
    assert _found(lines) == []


@pytest.mark.parametrize(
    ("kept", "sent", "rows"),
    [("50", "[-8:]", [16]), ("8", "[-20:]", [15]), ("50", "", []), ("20", "", [15])],
)
def test_the_shorter_of_two_cuts_of_a_talk_is_told(kept: str, sent: str, rows: list[int]) -> None:
    lines = f"self.talks[reader] = self.talks[reader][-{kept}:]"
    assert [row for row, _ in _found(lines, f"self.talks[reader]{sent}")] == rows


@pytest.mark.parametrize(("sent", "rows"), [("[-6:]", [14]), ("", [10])])
def test_the_longer_cut_never_shows_behind_a_getter(sent: str, rows: list[int]) -> None:
    text = (
        "from openai import OpenAI\nclient = OpenAI()\nclass Desk:\n    def __init__(self):\n"
        "        self.talks = {}\n    def talk(self, key):\n        return self.talks[key]\n"
        '    def add(self, key, text):\n        self.talks[key].append({"role": "user", "content": text})\n'
        "        self.talks[key] = self.talks[key][-20:]\n"
        "    def ask(self, key, text):\n        self.add(key, text)\n        turns = self.talk(key)\n"
        f'        return client.chat.completions.create(model="m", messages=turns{sent})\n'
    )
    found = lint_text(text, "desk.py", Settings()).findings
    assert [each.place.row for each in found if each.code == "PC501"] == rows


def test_the_longer_cut_never_shows_where_the_talk_has_another_name() -> None:
    lines = "self.talks[reader] = self.talks[reader][-40:]\ntalk = self.talks[reader]"
    assert [row for row, _ in _found(lines, "talk[-8:]")] == [17]


@pytest.mark.parametrize(("key", "expected"), [('"turns"', ["error"]), ('"marks"', [])])
def test_a_talk_in_a_record_of_its_room(key: str, expected: list[str]) -> None:
    lines = (
        'self.rooms[reader]["turns"].append({"role": "user", "content": text})\n'
        f"self.rooms[reader][{key}] = self.rooms[reader][{key}][-10:]"
    )
    found = _found(lines, 'self.rooms[reader]["turns"]')
    assert [severity for _, severity in found] == expected


MODULE = """
from openai import OpenAI
client = OpenAI()
SYSTEM = {"role": "system", "content": "You help the readers of a library."}
talks = {}
def add_to_talk(reader, role, text):
    talks.setdefault(reader, []).append(ADDED)
    if len(talks[reader]) > 20:
        talks[reader] = talks[reader][-20:]
def ask(reader, text):
    add_to_talk(reader, "user", text)
    return client.chat.completions.create(model="gpt-4o", messages=SENT)
"""


@pytest.mark.parametrize(
    ("added", "sent", "expected"),
    [
        ('{"role": role, "content": text}', "[SYSTEM, *talks[reader]]", ["PC501"]),
        ('{"at": role, "what": text}', '[SYSTEM, {"role": "user", "content": text}]', []),
    ],
)
def test_a_table_of_the_module_is_cut_by_what_adds_to_it(added: str, sent: str, expected: list[str]) -> None:
    text = MODULE.replace("ADDED", added).replace("SENT", sent)
    assert [found.code for found in lint_text(text, "desk.py", Settings()).findings] == expected


MEMORY = """
class Memory:
    def __init__(self):
        self.talks = {}
    def turns(self, reader):
        return self.talks.get(reader, [])
    def add(self, reader, role, text):
        if reader not in self.talks:
            self.talks[reader] = []
        self.talks[reader].append({"role": role, "content": text})
        if len(self.talks[reader]) > 20:
            self.talks[reader] = self.talks[reader][-20:]
"""
ASKS = """
from openai import OpenAI
from memory import Memory
client = OpenAI()
memory = Memory()
SYSTEM = {"role": "system", "content": "You help the readers of a library."}
def ask(reader, text):
    memory.add(reader, "user", text)
    said = client.chat.completions.create(model="gpt-4o", messages=SENT)
    memory.add(reader, "assistant", said.choices[0].message.content)
    return said
"""


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ("[SYSTEM, *memory.turns(reader)]", Severity.ERROR),
        ('[SYSTEM, {"role": "user", "content": text}]', Severity.WARNING),
    ],
)
def test_a_table_that_an_object_of_another_module_keeps(tree_codes, sent, expected) -> None:
    files = {"memory.py": MEMORY, "ask.py": ASKS.replace("SENT", sent)}
    assert tree_codes(files) == [("memory.py", "PC501", 11)]
    assert bool(tree_codes(files, Severity.ERROR)) == (expected == Severity.ERROR)


@pytest.mark.parametrize(("item", "expected"), [("ChatMessage", ["PC501"]), ("discord.Message", [])])
def test_messages_that_people_send_each_other_are_no_conversation_with_a_model(item, expected) -> None:
    text = (
        "import discord\nfrom openai import OpenAI\ndeleted_messages = {}\n"
        "async def on_message_delete(message):\n    deleted_messages[message.at].append(message)\n"
        "    if len(deleted_messages[message.at]) > 10:\n        deleted_messages[message.at].pop(0)\n"
        f"def shown(at):\n    messages: list[{item}] = deleted_messages[at][::-1]\n    return messages\n"
    )
    assert [found.code for found in lint_text(text, "snipe.py", Settings()).findings] == expected
