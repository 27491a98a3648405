"""Values that are left where others find them: context variables, thread-locals, Flask's ``g``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

GUIDE = (
    "You are the concierge of a hotel by the lake. Breakfast is from seven. Never promise a late check-out."
)
APP = f"""
from contextvars import ContextVar
from datetime import datetime
from threading import local
import threading
from flask import g
from openai import OpenAI

llm = OpenAI()
GUIDE = "{GUIDE}"
moment: ContextVar[str] = ContextVar("moment", default="")
kept = threading.local()

def before(request):
    SET

def instructions():
    return f"Now: {{GET}}. {{GUIDE}}"

def chat(request, history):
    before(request)
    messages = [{{"role": "system", "content": instructions()}}, *history]
    return llm.chat.completions.create(model="gpt-4o", messages=messages)
"""
LEFT = {
    "a context variable": ("moment.set(datetime.now().isoformat())", "moment.get()"),
    "a token of it": ("token = moment.set(str(datetime.now()))", "moment.get('')"),
    "a thread-local": ("kept.now = datetime.now().isoformat()", "kept.now"),
    "flask's g": ("g.now = datetime.now().isoformat()", "g.now"),
    "in a function inside": (
        "def inner():\n        moment.set(datetime.now().isoformat())\n    inner()",
        "moment.get()",
    ),
}
HARMLESS = {
    "nothing is left": ("print(datetime.now())", "moment.get()"),
    "the caller's": ("moment.set(request.zone)", "moment.get()"),
    "something else": ("kept.then = datetime.now()", "kept.now"),
    "a variable of the function": ("kept.now = datetime.now()", "(lambda kept: kept.now)(request)"),
    "used for a log": ("moment.set(datetime.now().isoformat())", "GUIDE[:10]"),
}


def _found(codes: Callable[..., list[tuple[str, int]]], left: str, read: str) -> list[str]:
    return [code for code, _ in codes(APP.replace("SET", left).replace("GET", read), "app.py")]


@pytest.mark.parametrize(("left", "read"), LEFT.values(), ids=LEFT)
def test_what_one_function_leaves_another_finds(
    codes: Callable[..., list[tuple[str, int]]], left: str, read: str
) -> None:
    assert _found(codes, left, read) == ["PC101"]


@pytest.mark.parametrize(("left", "read"), HARMLESS.values(), ids=HARMLESS)
def test_what_is_harmless_is_no_fault(
    codes: Callable[..., list[tuple[str, int]]], left: str, read: str
) -> None:
    assert _found(codes, left, read) == []


def test_where_one_function_leaves_what_lasts_nothing_is_known(
    codes: Callable[..., list[tuple[str, int]]],
) -> None:
    other = '\ndef open_shop():\n    moment.set("Monday")\n'
    text = APP.replace("SET", "moment.set(str(datetime.now()))").replace("GET", "moment.get()")
    assert codes(text + other, "app.py") == []


def test_a_context_variable_of_another_module(
    tree_codes: Callable[..., list[tuple[str, str, int]]],
) -> None:
    context = """
        from contextvars import ContextVar
        from datetime import datetime
        moment = ContextVar("moment")

        def remember():
            moment.set(datetime.now().isoformat())
    """
    chat = f"""
        from openai import OpenAI
        from context import moment

        def chat(history):
            system = f"Now: {{moment.get()}}. {GUIDE}"
            return OpenAI().chat.completions.create(
                model="gpt-4o", messages=[{{"role": "system", "content": system}}, *history]
            )
    """
    assert tree_codes({"context.py": context, "chat.py": chat}) == [("chat.py", "PC101", 5)]


SKILLS = """
from functools import cached_property
from datetime import datetime
from pathlib import Path
from openai import OpenAI

class Skills:
    def __init__(self, root: Path):
        self.root = root

    @cached_property
    def listing(self):
        return LISTING

    @cached_property
    def system(self):
        return f"You are an engineer. {self.listing} Never push to main. Never tag without a green build."

def run(skills: Skills, history):
    messages = [{"role": "system", "content": skills.system}, *history]
    return OpenAI().chat.completions.create(model="gpt-4o", messages=messages)
"""


@pytest.mark.parametrize(
    ("listing", "expected"),
    [
        ('", ".join(path.stem for path in self.root.glob("*.md"))', ["PC203"]),
        ('", ".join(sorted(path.stem for path in self.root.glob("*.md")))', []),
        ('", ".join({"read", "write"})', ["PC202"]),
        ("str(datetime.now())", ["PC101"]),
    ],
)
def test_a_cached_property_lasts_as_long_as_its_object(
    codes: Callable[..., list[tuple[str, int]]], listing: str, expected: list[str]
) -> None:
    assert [code for code, _ in codes(SKILLS.replace("LISTING", listing), "app.py")] == expected
