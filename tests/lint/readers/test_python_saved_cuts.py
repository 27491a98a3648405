"""A conversation that is cut when it is saved, and loaded again for the next turn."""

from __future__ import annotations

from textwrap import indent

import pytest

from promptcache_lint import Settings, Severity, lint_text

DESK = """
import json
from openai import OpenAI
client = OpenAI()
SYSTEM = {"role": "system", "content": "You help the readers of a library."}
class Desk:
    def __init__(self, store):
        self.store = store
        self.turns = self.load_turns("all")
    def load_turns(self, reader):
        return json.loads(self.store.get(reader) or "[]")
    def save_turns(self, reader, turns):
SAVE
    def ask(self, reader, text):
        turns = LOADED
        turns.append({"role": "user", "content": text})
        said = client.chat.completions.create(model="gpt-4o", messages=SENT)
        turns.append({"role": "assistant", "content": said.choices[0].message.content})
        self.save_turns(reader, turns)
        return said
"""
CUTS = {
    "under a name": "kept = turns[-20:]\nself.store.set(reader, json.dumps(kept))",
    "on the spot": "self.store.set(reader, json.dumps(turns[-20:]))",
    "only where it is longer": "if len(turns) > 20:\n    turns = turns[-20:]\n"
    "self.store.set(reader, json.dumps(turns))",
    "into a file": "with open(reader, 'w') as file:\n    json.dump(turns[-20:], file)",
}
LOADED, SENT = "self.load_turns(reader)", "[SYSTEM, *turns]"


def _found(save: str, loaded: str = LOADED, sent: str = SENT) -> list[tuple[str, str]]:
    text = DESK.replace("SAVE", indent(save, " " * 8)).replace("LOADED", loaded).replace("SENT", sent)
    report = lint_text(text, "desk.py", Settings(severity=Severity.WARNING))
    return [(found.code, str(found.severity)) for found in report.findings]


@pytest.mark.parametrize("save", CUTS.values(), ids=CUTS)
def test_what_is_cut_when_it_is_saved_is_sent_cut_in_the_next_turn(save: str) -> None:
    assert _found(save) == [("PC501", "warning")]


@pytest.mark.parametrize(
    ("save", "loaded", "sent"),
    [
        pytest.param("print(turns[-20:])", LOADED, SENT, id="only looked at"),
        pytest.param("self.store.set(reader, json.dumps(turns))", LOADED, SENT, id="saved whole"),
        pytest.param("self.store.set(reader, json.dumps(turns[-200:]))", LOADED, SENT, id="seldom filled"),
        pytest.param(CUTS["on the spot"], "[]", SENT, id="never loaded"),
        pytest.param(CUTS["on the spot"], "self.turns", SENT, id="loaded once, with the object"),
        pytest.param(CUTS["on the spot"], LOADED, "[SYSTEM, turns[-1]]", id="not sent"),
    ],
)
def test_what_no_turn_shows_is_fine(save: str, loaded: str, sent: str) -> None:
    assert _found(save, loaded, sent) == []
