"""A window on a conversation that a module keeps, shown to be one by the function that sends it."""

from __future__ import annotations

import pytest

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
