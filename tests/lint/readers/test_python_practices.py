"""What programs do to conversations by way of helpers, dicts of options and loops within loops."""

from __future__ import annotations

from textwrap import dedent

import pytest

from promptcache_lint import lint_text

HEAD = "import anthropic\nclient = anthropic.Anthropic()\n"
ASKS = """
def turn(messages, text, shorten=False):
    messages.append({"role": "user", "content": text})
    BODY
    reply = client.messages.create(model="m", max_tokens=9, system="Be brief.", messages=SENT)
    messages.append({"role": "assistant", "content": reply.content})
    return reply
"""


def _codes(text: str) -> list[str]:
    return [found.code for found in lint_text(dedent(text), "talk.py").findings]


def _asked(body: str = "pass", sent: str = "messages", helper: str = "") -> list[str]:
    return _codes(HEAD + helper + ASKS.replace("BODY", body.replace("\n", "\n    ")).replace("SENT", sent))


NESTED = """for m in messages[:-3]:
    for block in m["content"]:
        if block["type"] == "tool_result":
            block["content"] = "[removed]\""""
SHRINK = "def shrink(talk, keep=3):\n    " + NESTED.replace("messages[:-3]", "talk[:-keep]").replace(
    "\n", "\n    "
)
CLEAN = "def clean(m):\n    return {**m, 'content': 'removed'}\n"
EDITED = {
    "blocks": (NESTED, "messages", ""),
    "blocks by get": (NESTED.replace('m["content"]', 'm.get("content", [])'), "messages", ""),
    "blocks by a name": (
        NESTED.replace('    for block in m["content"]', "    parts = m.content\n    for block in parts"),
        "messages",
        "",
    ),
    "blocks of enumerated": (
        NESTED.replace("m in messages[:-3]", "i, m in enumerate(messages[: len(messages) - 3])"),
        "messages",
        "",
    ),
    "in a helper": ("shrink(messages)", "messages", SHRINK),
    "in a method's way": ("if shorten:\n    shrink(messages, 5)", "messages", SHRINK),
    "cleaned": ("pass", "[clean(m) for m in messages[:-1]] + messages[-1:]", CLEAN),
    "cleaned, by names": ("older = [clean(m) for m in messages[:-2]]", "[*older, *messages[-2:]]", CLEAN),
    "mapped": ("pass", "[*map(clean, messages[:-1]), messages[-1]]", CLEAN),
    "written": ("pass", "[{**m, 'content': 'gone'} for m in messages[:-4]] + messages[-4:]", ""),
}
UNTOUCHED = {
    "all alike": ("pass", "[clean(m) for m in messages]", CLEAN),
    "copies": ("pass", "[dict(m) for m in messages[:-1]] + messages[-1:]", ""),
    "the newest": (NESTED.replace("messages[:-3]", "messages[-1:]"), "messages", ""),
    "counted": (NESTED.replace('block["content"] = "[removed]"', "print(block)"), "messages", ""),
    "when there are too many tokens": (
        "if tokens(messages) > 90000:\n    " + NESTED.replace("\n", "\n    "),
        "messages",
        "",
    ),
    "looked at": ("show([clean(m) for m in messages[:-1]])\nsave(messages[-1:])", "messages", CLEAN),
}


@pytest.mark.parametrize(("body", "sent", "helper"), EDITED.values(), ids=EDITED)
def test_earlier_messages_that_are_changed(body, sent, helper):
    assert _asked(body, sent, helper) == ["PC502"]


@pytest.mark.parametrize(("body", "sent", "helper"), UNTOUCHED.values(), ids=UNTOUCHED)
def test_earlier_messages_that_are_not(body, sent, helper):
    assert _asked(body, sent, helper) == []


REMEMBER = "def remember(talk, fact):\n    talk[0]['content'] += f' Remember: {fact}'\n"


def test_a_helper_that_writes_into_the_system_prompt():
    assert _asked("if 'remember' in text:\n    remember(messages, text)", helper=REMEMBER) == ["PC403"]
    fresh = "messages = [{'role': 'system', 'content': RULES}]\nremember(messages, 'a fact')"
    assert _asked(fresh, helper=REMEMBER) == []


WHY = "if 'why' in text:\n    options['thinking'] = {'type': 'enabled', 'budget_tokens': 2000}"
OPTIONS = {
    "stored": f"options = {{}}\n{WHY}",
    "updated": "options = {}\nif len(text) > 200:\n    options.update(thinking={'type': 'enabled'})",
    "joined": "options = {}\nif text.startswith('hm'):\n    options |= {'tool_choice': {'type': 'any'}}",
    "by the length of the talk": "options = {}\nif len(messages) > 8:\n    options['thinking'] = LONG",
}
SETTINGS = {
    "the caller's": "options = {}\nif shorten:\n    options['thinking'] = {'type': 'enabled'}",
    "always": "options = {'thinking': {'type': 'enabled', 'budget_tokens': 2000}}",
    "of the output": "options = {}\nif 'why' in text:\n    options['max_tokens'] = 900",
    "of another call": f"options = {{}}\n{WHY}\nprint(**options)\noptions = {{}}".replace(
        "options[", "others["
    ),
}


@pytest.mark.parametrize("body", OPTIONS.values(), ids=OPTIONS)
def test_options_that_the_turn_decides_on(body):
    assert _asked(body, "messages, **options") == ["PC504"]


def test_options_that_are_chosen_in_place():
    chosen = "messages, **({'thinking': DEEP} if 'why' in text else {})"
    assert _asked("pass", chosen) == ["PC504"]


@pytest.mark.parametrize("body", SETTINGS.values(), ids=SETTINGS)
def test_options_that_hold(body):
    assert _asked(body, "messages, **options") == []
