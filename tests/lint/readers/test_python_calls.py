"""Calls with like arguments are run once, and told apart by all that could show in a prompt."""

from __future__ import annotations

import pytest

HELPER = """
import time, uuid
def dress(parts):
    return "You are a clerk of our company. Be brief. " + " ".join(str(part) for part in parts) + OATH
OATH = " Never promise a date, and never speak of prices that you do not know for sure."
class Desk:
    def __init__(self, name):
        self.name = name
"""


@pytest.mark.parametrize(
    ("plain", "volatile"),
    [
        ("dress(['Lark'])", "dress([uuid.uuid4()])"),
        ("dress([a, 'Lark'])", "dress([a, uuid.uuid4()])"),
        ("dress([['Lark']])", "dress([[uuid.uuid4()]])"),
        ("dress({'Lark': 1}.values())", "dress({'Lark': uuid.uuid4()}.values())"),
        ("dress([Desk('Lark').name])", "dress([Desk(uuid.uuid4()).name])"),
    ],
)
def test_only_the_call_that_is_given_something_volatile_is_blamed(codes, plain, volatile):
    for first, second in ((plain, volatile), (volatile, plain)):
        text = HELPER + f"def first_system_prompt(a):\n    return {first}\n"
        text += f"def second_system_prompt(a):\n    return {second}\n"
        rows = text.rstrip("\n").split("\n")
        blamed = next(row for row, line in enumerate(rows, 1) if f"return {volatile}" in line)
        assert [row for code, row in codes(text) if code == "PC102"] == [blamed - 1]


def test_a_long_list_is_told_from_another_of_the_same_length(codes):
    many = ", ".join(f"'desk {number}'" for number in range(60))
    text = HELPER + f"def first_system_prompt():\n    return dress([{many}])\n"
    other = many.replace("'desk 59'", "uuid.uuid4()")
    text += f"def second_system_prompt():\n    return dress([{other}])\n"
    assert [code for code, _ in codes(text)] == ["PC102"]


def test_what_is_known_of_a_package_is_let_go_with_it_and_learned_again(tree_codes, monkeypatch):
    files = {
        "shop/__init__.py": "",
        "shop/clock.py": "from datetime import datetime\ndef now():\n    return datetime.now()\n",
        "shop/clerk.py": """
            from shop.clock import now
            def system_prompt():
                return f"You are a clerk of our company. It is {now()}. Be brief and polite to all."
            """,
        "staff/__init__.py": "",
        "staff/guard.py": """
            from shop.clock import now
            def system_prompt():
                return f"You are a guard of our company. It is {now()}. Be brief and polite to all."
            """,
    }
    kept = tree_codes(files)
    assert [(path, code) for path, code, _ in kept] == [
        ("shop/clerk.py", "PC101"),
        ("staff/guard.py", "PC101"),
    ]
    monkeypatch.setattr("promptcache_lint.readers.python.program._MUCH", 0)
    assert tree_codes(files) == kept
