"""Histories that are cut at a high mark down to a low one, and those that slide; cuts that a helper makes."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from promptcache_lint import Settings, Severity, lint_text

CHAT = """
from openai import OpenAI
client = OpenAI()
HIGH, LOW = 200, 100
BATCH = 60
class Chat:
    MOST = 80
    def __init__(self, least=30):
        self.least = least
        self.messages = []
    def ask(self, text):
        self.messages.append({"role": "user", "content": text})
CUT
        return client.chat.completions.create(model="m", messages=self.messages)
"""
RARE = {
    "a run of many": "if len(self.messages) > 200: del self.messages[1:101]",
    "a batch": "if len(self.messages) >= HIGH: del self.messages[:BATCH]",
    "half of it": "if len(self.messages) > self.limit: del self.messages[1 : len(self.messages) // 2]",
    "down to the low mark": "if len(self.messages) > HIGH: del self.messages[1:-LOW]",
    "written over": "if len(self.messages) > HIGH: self.messages[:] = self.messages[-LOW:]",
    "settings": "if len(self.messages) > self.MOST:\n    self.messages = self.messages[-self.least :]",
    "popped down": "if len(self.messages) > HIGH:\n    while len(self.messages) > 90: self.messages.pop(1)",
    "popped so often": "if len(self.messages) > HIGH:\n    for _ in range(50):\n        self.messages.pop(0)",
    "by tokens": "if tokens(self.messages) > 90000:\n"
    "    while tokens(self.messages) > 40000:\n        self.messages.pop(0)",
    "of a share": "if self.used_tokens > self.budget:\n"
    "    while tokens(self.messages) > self.budget * 0.5:\n        self.messages.pop(0)",
    "by a name": "n = len(self.messages)\nif HIGH < n:\n    self.messages = self.messages[n - LOW :]\n",
    "now and then": "self.turn += 1\nif self.turn % 20 == 0:\n    self.messages = self.messages[-8:]",
}
SLIDES = {
    "one turn": "if len(self.messages) > 30: del self.messages[1:3]",
    "down to the mark": "if len(self.messages) > HIGH: self.messages = self.messages[-HIGH:]",
    "each turn": "self.messages = self.messages[-LOW:]",
    "popped to the mark": "while len(self.messages) > HIGH: self.messages.pop(0)",
    "popped close to the mark": "if len(self.messages) > HIGH:\n"
    "    while len(self.messages) > 38:\n        self.messages.pop(0)",
    "popped once": "if len(self.messages) > HIGH: self.messages.pop(0)",
    "tokens, to the mark": "while tokens(self.messages) > 40000: self.messages.pop(0)",
    "the mark is another list's": "if len(self.tools) > HIGH: del self.messages[1:101]",
}


def _found(text: str) -> list[tuple[str, str]]:
    report = lint_text(dedent(text), "chat.py", Settings(severity=Severity.INFO))
    return [(finding.code, str(finding.severity)) for finding in report.findings]


@pytest.mark.parametrize("cut", RARE.values(), ids=RARE)
def test_what_is_cut_far_at_a_mark_is_information(cut):
    found = _found(CHAT.replace("CUT", indent(cut, " " * 8)))
    assert found in ([], [("PC501", "info")])


@pytest.mark.parametrize("cut", SLIDES.values(), ids=SLIDES)
def test_what_slides_is_an_error(cut):
    text = CHAT.replace("200, 100", "40, 20")  # a longer one is seldom filled
    assert _found(text.replace("CUT", indent(cut, " " * 8))) == [("PC501", "error")]


@pytest.mark.parametrize(
    ("given_back", "severity"),
    [("return messages", "info"), ("store(messages)", "info"), ("return reply", "error")],
)
def test_a_cut_that_the_caller_never_sees_slides(given_back, severity):
    text = f"""
    from openai import OpenAI
    HIGH, LOW = 40, 20
    def chat(messages, text):
        messages.append({{"role": "user", "content": text}})
        if len(messages) > HIGH:
            messages = messages[:1] + messages[-LOW:]
        reply = OpenAI().chat.completions.create(model="m", messages=messages)
        {given_back}
    """
    assert _found(text) == [("PC501", severity)]


HELPED = """
from openai import OpenAI
client = OpenAI()
HELPER
def chat(history, text):
    history.append({"role": "user", "content": text})
    reply = client.chat.completions.create(model="gpt-4.1", messages=SENT)
    history.append({"role": "assistant", "content": reply.choices[0].message.content})
    return reply
"""
RECENT = "def recent(history, n=12):\n    return history[-n:]"
TO_FIT = """
def fit(messages, limit=8000):
    out, total = [], 0
    for m in reversed(messages):
        total += len(m["content"]) // 4
        if total > limit:
            break
        out.append(m)
    return out[::-1]
"""
SLIDING_HELPERS = {
    "a window": (RECENT, "recent(history)"),
    "behind the system prompt": (RECENT, "[SYSTEM, *recent(history)]"),
    "by a name": (f"{RECENT}\ndef view(talk):\n    kept = recent(talk)\n    return kept", "view(history)"),
    "popped in the list": (
        "def shorten(items):\n    while len(items) > 40:\n        items.pop(0)\n    return items",
        "shorten(history)",
    ),
    "by tokens": (TO_FIT, "fit(history)"),
    "by tokens, in front": (
        TO_FIT.replace("out.append(m)", "out.insert(0, m)").replace("out[::-1]", "[SYSTEM] + out"),
        "fit(history)",
    ),
    "by tokens, turned": (
        TO_FIT.replace("reversed(messages)", "messages[::-1]").replace(
            "return out[::-1]", "out.reverse()\n    return out"
        ),
        "fit(history)",
    ),
    "by a deque": (
        TO_FIT.replace("out, total = [], 0", "out, total = deque(), 0")
        .replace("out.append(m)", "out.appendleft(m)")
        .replace("out[::-1]", "list(out)"),
        "[SYSTEM, *fit(history)]",
    ),
}
QUIET_HELPERS = {
    "looked at": (RECENT, "note(recent(history)) or history"),
    "of something else": (
        "def recent(prices, n=12):\n    return prices[-n:]",
        "history + facts(recent(quotes))",
    ),
    "the last turn": (
        TO_FIT.replace("total > limit", "m['role'] == 'user'"),
        "history[:] + ask_about(fit(history))",
    ),
    "counted": (TO_FIT.replace("return out[::-1]", "return total"), "log(fit(history)) or history"),
    "for a summary": (TO_FIT.replace("def fit", "def for_summary_messages"), "history"),
    "never called": (TO_FIT.replace("fit(", "_sized_(").replace("messages", "rows"), "history"),
}


@pytest.mark.parametrize(("helper", "sent"), SLIDING_HELPERS.values(), ids=SLIDING_HELPERS)
def test_a_helper_that_slides(helper, sent):
    found = _found(HELPED.replace("HELPER", helper).replace("SENT", sent))
    assert found == [("PC501", "error")]


@pytest.mark.parametrize(("helper", "sent"), QUIET_HELPERS.values(), ids=QUIET_HELPERS)
def test_a_helper_that_does_not(helper, sent):
    found = _found(HELPED.replace("HELPER", helper).replace("SENT", sent))
    assert [each for each in found if each[1] != "info"] == []


def test_a_helper_whose_cut_takes_the_place_of_the_history():
    text = """
    from openai import OpenAI
    class Chat:
        def _fit(self, messages):
            if len(messages) <= 200:
                return messages
            return messages[:1] + messages[-30:]
        def ask(self, text):
            self.messages.append({"role": "user", "content": text})
            self.messages = self._fit(self.messages)
            return OpenAI().chat.completions.create(model="m", messages=self.messages)
    """
    assert _found(text) == [("PC501", "info")]
    anew = text.replace("self.messages = self._fit(self.messages)", "pass")
    assert _found(anew.replace("messages=self.messages)", "messages=self._fit(self.messages))")) == [
        ("PC501", "error")
    ]


SERVED = """
from openai import OpenAI
client = OpenAI()
def trim(history: list[dict], most: int = 20) -> list[dict]:
    if len(history) <= most:
        return history
    return history[-most:]
def name(messages):
    return " ".join(each["content"] for each in messages)
def stream(history):
    messages = [{"role": "system", "content": "You are a clerk."}] + history
    reply = client.chat.completions.create(model="m", messages=messages)
    history.append({"role": "assistant", "content": reply.choices[0].message.content})
def serve(socket):
    history = []
    for text in socket:
        history.append({"role": "user", "content": text})
        USE
        stream(history)
"""


@pytest.mark.parametrize(
    ("use", "expected"),
    [("history = trim(history)", [("PC501", "error")]), ("print(name(trim(history)))", [])],
)
def test_a_conversation_is_sent_by_the_function_it_is_handed_to(use, expected):
    assert _found(SERVED.replace("USE", use)) == expected


TELEGRAM = """
from collections import deque
from openai import OpenAI
client = OpenAI()

def turns_of(context):
    return context.chat_data.setdefault("turns", MADE)

def talk(update, context):
    turns = turns_of(context)
    turns.append({"role": "user", "content": update.text})
    reply = client.chat.completions.create(model="m", messages=[{"role": "system", "content": "Hi."}, *turns])
    turns.append({"role": "assistant", "content": reply.choices[0].message.content})
"""


@pytest.mark.parametrize(("made", "expected"), [("deque(maxlen=16)", ["PC501"]), ("deque()", []), ("[]", [])])
def test_a_queue_that_a_helper_takes_out_of_a_table(made, expected):
    found = lint_text(TELEGRAM.replace("MADE", made), "bot.py", Settings(select=("PC501",))).findings
    assert [finding.code for finding in found] == expected
