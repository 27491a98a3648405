"""User data in front of what is shared, and of nothing but the labels of more of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

RULES = "Ask before you judge. Never comment on weight. Refer to a doctor when somebody mentions pain. "
_FIELDS = {
    "Name": "name",
    "Mail address": "email",
    "Home town": "town",
    "Daily goal in steps": "goal",
    "Allergies and intolerances": "allergies",
    "Last visit": "last_visit",
    "Favourite dishes": "dishes",
}
CARD = "\\\\n".join(f"{label}: {{user.{name}}}" for label, name in _FIELDS.items())
SENDS = """
from openai import OpenAI
client = OpenAI()

def ask(user, question):
    system = f"SYSTEM"
    messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
    return client.chat.completions.create(model="gpt-4o", messages=messages)
"""


@pytest.mark.parametrize(
    ("system", "expected"),
    [
        (f"You coach people. {RULES}{CARD}", []),
        (f"You coach people. {CARD} {RULES}", ["PC104"]),
        ("You coach {user.name}. Never forget: " + RULES + "Town: {user.town}", ["PC104"]),
        (f"You coach people. {CARD} Be kind.", []),
    ],
)
def test_labels_between_data_of_a_user(
    codes: Callable[..., list[tuple[str, int]]], system: str, expected: list[str]
) -> None:
    assert [code for code, _ in codes(SENDS.replace("SYSTEM", system))] == expected


def test_a_section_among_the_data_of_a_user(codes: Callable[..., list[tuple[str, int]]]) -> None:
    card = CARD.replace("{", "{{ ").replace("}", " }}").replace("\\n", "\n")
    text = f"You coach people. {RULES}\nNAME{card}\n"
    section = "{% if user.nick %}Nick: {{ user.nick }}\n{% endif %}"
    assert codes(text.replace("NAME", section), "system_prompt.j2") == []
    assert ("PC404", 2) in codes(text.replace("NAME", section) + RULES, "system_prompt.j2")
