"""A list handed to the program's own function that asks a model: what is cut in it is cut for the model."""

from __future__ import annotations

import pytest

from promptcache_lint import Severity

ERROR, WARNING = Severity.ERROR, Severity.WARNING

DESK = """
from openai import OpenAI
client = OpenAI()
RULES = "You are the concierge of a chain of huts."
class Desk:
    def __init__(self):
        self.talk = []
    def say(self, messages):
        SENDS
    def answer(self, text):
        self.talk.append({"role": "user", "content": text})
        said = SAID
        KEEPS
        return said
"""
SENDS = "return client.chat.completions.create(model='gpt-4o', messages=messages).choices[0].message.content"
SAID = "self.say([{'role': 'system', 'content': RULES}, *self.talk[-10:]])"
KEEPS = "self.talk.append({'role': 'assistant', 'content': said})"


def _desk(sends: str = SENDS, said: str = SAID, keeps: str = KEEPS) -> str:
    return DESK.replace("SENDS", sends).replace("SAID", said).replace("KEEPS", keeps)


FAULTY = {
    "spread": _desk(),
    "added": _desk(said="self.say([{'role': 'system', 'content': RULES}] + self.talk[-10:])"),
    "by its name": _desk(said="self.say(messages=[{'role': 'system', 'content': RULES}, *self.talk[-10:]])"),
    "behind a copy": _desk(sends="sent = list(messages)\n        " + SENDS.replace("=messages", "=sent")),
    "in a body": _desk(
        sends="return requests.post(URL, json={'model': 'gpt-4o', 'messages': messages}).json()['text']"
    ),
    "handed on": _desk(
        sends="return self.send(messages)\n    def send(self, lines):\n        " + SENDS
    ).replace("=messages)", "=lines)"),
}


@pytest.mark.parametrize("text", FAULTY.values(), ids=FAULTY)
def test_a_window_handed_to_a_function_that_asks(codes, text):
    assert [code for code, _ in codes(text, severity=ERROR)] == ["PC501"]


UNPROVEN = {
    "the answer is kept nowhere": _desk(keeps="print(said)"),
    "something else is kept": _desk(keeps="self.talk.append({'role': 'assistant', 'content': 'Done.'})"),
}


@pytest.mark.parametrize("text", UNPROVEN.values(), ids=UNPROVEN)
def test_an_answer_that_does_not_go_on_is_a_warning(codes, text):
    assert [code for code, _ in codes(text, severity=WARNING)] == ["PC501"]
    assert codes(text, severity=ERROR) == []


SOUND = {
    "the whole of it": _desk(said=SAID.replace("[-10:]", "")),
    "the function sends none of it": _desk(sends="return str(len(messages))"),
    "the function sums it up": _desk().replace("say(", "summarize("),
    "the function makes a text of it": _desk(sends="return client.models.list(str(messages))"),
    "another argument is sent": _desk(
        sends=SENDS.replace("=messages", "=self.talk"), said="self.say(self.talk[-10:])"
    ),
}


@pytest.mark.parametrize("text", SOUND.values(), ids=SOUND)
def test_what_is_not_sent_loses_nothing(codes, text):
    assert codes(text) == []


def test_the_function_may_stand_in_another_module(tree_codes):
    files = {
        "model.py": "from openai import OpenAI\ndef say(messages):\n    "
        + SENDS.replace("client", "OpenAI()")
        + "\n",
        "desk.py": _desk(said=SAID.replace("self.say", "say")).replace(
            "class", "from model import say\nclass", 1
        ),
    }
    assert [(path, code) for path, code, _ in tree_codes(files, ERROR)] == [("desk.py", "PC501")]


HELPER = """
from openai import OpenAI
client = OpenAI()
TALKS = {}
RULES = "You are the concierge of a chain of huts."
def lines(talk, most=10):
    BODY
def answer(guest, text):
    talk = TALKS.setdefault(guest, [])
    talk.append({"role": "user", "content": text})
    said = client.chat.completions.create(model="gpt-4o", messages=lines(talk)).choices[0].message.content
    talk.append({"role": "assistant", "content": said})
    return said
"""
CHOSEN = "kept = talk[-most:] if len(talk) > most else talk\n    "
COPIED = """clean = []
    for m in KEPT:
        one = m.copy()
        clean.append(one)
    return [{"role": "system", "content": RULES}] + clean
"""
MADE = {
    "a choice": CHOSEN + 'return [{"role": "system", "content": RULES}, *kept]',
    "a choice, given back": "return talk[-10:] if len(talk) > 10 else talk",
    "a loop that copies": COPIED.replace("KEPT", "talk[-10:]"),
    "a loop over a choice": CHOSEN + COPIED.replace("KEPT", "kept"),
}


@pytest.mark.parametrize("body", MADE.values(), ids=MADE)
def test_a_helper_that_chooses_or_copies_message_by_message(codes, body):
    assert [code for code, _ in codes(HELPER.replace("BODY", body), severity=ERROR)] == ["PC501"]


WHOLE = {
    "a choice between two wholes": "kept = list(talk) if most else talk\n    return kept",
    "a loop that copies all": COPIED.replace("KEPT", "talk"),
    "a loop that only looks": "for m in talk[-10:]:\n        print(m)\n    return talk",
    "a loop that adds something else": (
        "seen = list(talk)\n    for m in talk[-2:]:\n        seen.append({'role': 'user', 'content': 'Go'})\n"
        "    return seen"
    ),
}


@pytest.mark.parametrize("body", WHOLE.values(), ids=WHOLE)
def test_a_helper_that_leaves_nothing_out(codes, body):
    assert "PC501" not in [code for code, _ in codes(HELPER.replace("BODY", body))]
