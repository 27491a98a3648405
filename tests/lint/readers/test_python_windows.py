"""A window on a conversation that a module keeps, shown to be one by the function that sends it."""

from __future__ import annotations

import pytest

from promptcache_lint import Settings, lint_text

WINDOW = """
from collections import deque
import litellm
{name} = {made}
SYSTEM = {{"role": "system", "content": "You are a clerk."}}
{function}
"""
SENDS = """
def ask(question):
    history.append({"role": "user", "content": question})
    return litellm.completion(model="gpt-4o", messages=[SYSTEM, *history])
"""


@pytest.mark.parametrize(
    ("name", "made", "function", "expected"),
    [
        ("history", "deque(maxlen=16)", SENDS, ["PC501"]),
        ("history", "deque([], 16)", SENDS, ["PC501"]),
        ("history: deque", "deque(maxlen=16)", SENDS, ["PC501"]),
        ("history", "deque()", SENDS, []),
        ("history", "deque(maxlen=None)", SENDS, []),
        ("prices", "deque(maxlen=16)", SENDS.replace("history", "talk"), []),
        ("history", "deque(maxlen=16)", SENDS.replace("ask(question)", "ask(question, history)"), []),
        (
            "history",
            "deque(maxlen=16)",
            SENDS.replace("    history.app", "    history = load()\n    history.app"),
            [],
        ),
    ],
)
def test_a_bounded_queue_of_the_module(codes, name, made, function, expected):
    text = WINDOW.format(name=name, made=made, function=function)
    assert [code for code, _ in codes(text)] == expected


HANDED_OUT = {
    "gone through": "        for turn in session.get_history(max_messages=16):\n"
    "            messages.append(turn)\n",
    "added": "        messages.extend(session.load_recent_messages(user, 10))\n",
    "put in front": "        messages = [*session.get_chat_history(limit=12), *messages]\n",
}
NOT_HANDED_OUT = {
    "the whole of it": HANDED_OUT["gone through"].replace("max_messages=16", ""),
    "longer than talks are": HANDED_OUT["added"].replace("10", "200"),
    "as long as the caller says": HANDED_OUT["put in front"].replace("12", "self.most"),
    "looked at": HANDED_OUT["gone through"].replace("messages.append", "print"),
    "the last one": HANDED_OUT["added"].replace("10", "1"),
    "of something else": HANDED_OUT["added"].replace("recent_messages", "prices"),
}


def _told(lines: str) -> str:
    return (
        "from openai import OpenAI\nclass Chat:\n    def ask(self, session, user, text):\n"
        f'        messages = [{{"role": "system", "content": "You are a clerk."}}]\n{lines}'
        '        messages.append({"role": "user", "content": text})\n'
        '        return OpenAI().chat.completions.create(model="m", messages=messages)\n'
    )


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        *(pytest.param(lines, ["PC501"], id=name) for name, lines in HANDED_OUT.items()),
        *(pytest.param(lines, [], id=name) for name, lines in NOT_HANDED_OUT.items()),
    ],
)
def test_a_window_that_a_store_hands_out(codes, lines, expected):
    assert [code for code, _ in codes(_told(lines))] == expected


@pytest.mark.parametrize(
    ("older", "expected"),
    [
        ("older = messages[1:-keep]\n    gist = summarize(older)", []),
        ("older = messages[1:-keep]\n    gist = count(older)", ["PC501"]),
        ("gist = summarize(messages)", ["PC501"]),
    ],
)
def test_what_is_summed_up_is_not_dropped(codes, older, expected):
    text = (
        "from openai import OpenAI\ndef shortened(messages, keep):\n"
        f"    recent: list[Message] = messages[-keep:]\n    {older}\n"
        '    kept = [{"role": "user", "content": gist}, *recent]\n'
        '    return OpenAI().chat.completions.create(model="m", messages=kept)\n'
    )
    assert [code for code, _ in codes(text)] == expected


SIDE = """
from openai import OpenAI
client = OpenAI()
def tail(messages):
    return messages[-6:]
class Talk:
    def __init__(self):
        self.kept = []
    def add(self, message):
        self.kept.append(message)
    def recent(self):
        return self.kept[-6:]
def grade(messages, talk: Talk) -> str:
    rules = {"role": "system", "content": "Grade it in one word."}
    r = client.chat.completions.create(model="m", messages=[rules, *SENT])
    return r.choices[0].message.content
"""
TURN = """
def turn(messages, talk: Talk, text):
    messages.append({"role": "user", "content": text})
    talk.add({"role": "user", "content": text})
    said = grade(messages, talk)
    BEHIND
"""


@pytest.mark.parametrize("sent", ["tail(messages)", "messages[-6:]", "talk.recent()"])
@pytest.mark.parametrize(
    ("behind", "severity"),
    [
        (None, "warning"),
        ("print(said)", "warning"),
        ("scores.append(said)", "warning"),
        ("return answer(messages) if said == 'fine' else None", "warning"),
        ("messages.append({'role': 'assistant', 'content': said})", "error"),
        ("save_message('assistant', said.strip())", "error"),
    ],
)
def test_a_window_is_an_error_where_the_answer_goes_on(sent, behind, severity):
    text = SIDE.replace("SENT", sent) + ("" if behind is None else TURN.replace("BEHIND", behind))
    found = lint_text(text, "judge.py", Settings(select=("PC501",))).findings
    assert [str(finding.severity) for finding in found] == [severity]


@pytest.mark.parametrize(("most", "expected"), [(5, []), (800, ["PC501"])])
@pytest.mark.parametrize("sent", ["tail(messages)", "messages[-6:]"])
def test_a_window_for_an_answer_of_one_word_is_information(codes, sent, most, expected):
    text = SIDE.replace("SENT", sent).replace('model="m"', f'model="m", max_tokens={most}')
    assert [code for code, _ in codes(text)] == expected
