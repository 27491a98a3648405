"""What programs do to conversations by way of helpers, dicts of options and loops within loops."""

from __future__ import annotations

from textwrap import dedent

import pytest

from promptcache_lint import Severity, lint_text

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


THINKS = """
def loop(messages, tools, run):
    while True:
        r = client.messages.create(model="m", thinking={THINKING}, tools=tools, messages=messages)
        BODY
        messages.append({"role": "user", "content": [run(b) for b in r.content if b.type == "tool_use"]})
"""
ENABLED = '{"type": "enabled", "budget_tokens": 4000}'
KEPT = 'messages.append({"role": "assistant", "content": [b for b in r.content if TEST]})'
IN_A_LOOP = """parts = []
for b in r.content:
    if b.type == "text":
        parts.append({"type": "text", "text": b.text})
    elif b.type == "tool_use":
        parts.append(b.model_dump())
messages.append({"role": "assistant", "content": parts})"""
DROPPED = {
    "either": KEPT.replace("TEST", 'b.type == "text" or b.type == "tool_use"'),
    "one of": KEPT.replace("TEST", 'b.type in ("text", "tool_use")'),
    "one of a set": KEPT.replace("TEST", 'b.get("type") in {"text", "tool_use"}'),
    "of a class": KEPT.replace("TEST", "isinstance(b, (TextBlock, ToolUseBlock))"),
    "dumped": KEPT.replace("[b for", "[b.model_dump() for").replace("TEST", 'b.type in ["text", "tool_use"]'),
    "by a name": 'kept = [b for b in r.content if b.type in ("text", "tool_use")]\n'
    'messages.append({"role": "assistant", "content": kept})',
    "in a loop": IN_A_LOOP,
}
NOT_DROPPED = {
    "all": 'messages.append({"role": "assistant", "content": r.content})',
    "with the thinking": KEPT.replace("TEST", 'b.type in ("text", "tool_use", "thinking")'),
    "shown": 'print([b for b in r.content if b.type == "text"])',
    "the rest too": IN_A_LOOP.replace('elif b.type == "tool_use"', "else"),
    "the text is joined for show": 'show("".join(b.text for b in r.content if b.type == "text"))',
}


def _thought(body: str, thinking: str = ENABLED) -> list[str]:
    return _codes(
        HEAD + THINKS.replace("{THINKING}", thinking).replace("BODY", body.replace("\n", "\n        "))
    )


@pytest.mark.parametrize("body", DROPPED.values(), ids=DROPPED)
def test_reasoning_that_is_dropped_by_what_is_kept(body):
    assert _thought(body) == ["PC505"]
    assert _thought(body, "None") == []


@pytest.mark.parametrize("body", NOT_DROPPED.values(), ids=NOT_DROPPED)
def test_reasoning_that_is_not(body):
    assert _thought(body) == []


RUN_ALL = """
import asyncio
async def turn(messages, calls, run):
    async def one(c):
        out = await run(c)
        messages.append({"role": "tool", "tool_call_id": c.id, "content": out})
    BODY
    return await client.messages.create(model="m", max_tokens=9, messages=messages)
async def other(talk, c):
    talk.append({"role": "tool", "tool_call_id": c.id, "content": await c()})
async def given(c):
    return {"role": "tool", "tool_call_id": c.id, "content": await c()}
"""
AT_ONCE = {
    "gathered": "await asyncio.gather(*(one(c) for c in calls))",
    "tasks": "tasks = [asyncio.create_task(one(c)) for c in calls]\nawait asyncio.gather(*tasks)",
    "coroutines by a name": "jobs = [one(c) for c in calls]\nawait asyncio.gather(*jobs)",
    "a group": "async with TaskGroup() as group:\n    for c in calls:\n        group.create_task(one(c))",
    "a function of the module": "await asyncio.gather(*[other(messages, c) for c in calls])",
    "threads": "def now(c):\n    messages.append({'role': 'tool', 'tool_call_id': c.id, 'content': run(c)})\n"
    "with ThreadPoolExecutor() as pool:\n    list(pool.map(now, calls))",
}
IN_ORDER = {
    "one by one": "for c in calls:\n    await one(c)",
    "given back": "messages.extend(await asyncio.gather(*(given(c) for c in calls)))",
    "a single one": "await asyncio.gather(one(calls[0]), log(calls))",
    "before it waits": "async def first(c):\n    messages.append({'role': 'user', 'content': c.text})\n"
    "    await run(c)\nawait asyncio.gather(*(first(c) for c in calls))",
    "something else": "async def note(c):\n    timings.append(await run(c))\n"
    "await asyncio.gather(*(note(c) for c in calls))",
}


@pytest.mark.parametrize("body", AT_ONCE.values(), ids=AT_ONCE)
def test_results_that_are_added_as_they_finish(body):
    assert _codes(HEAD + RUN_ALL.replace("BODY", body.replace("\n", "\n    "))) == ["PC304"]


@pytest.mark.parametrize("body", IN_ORDER.values(), ids=IN_ORDER)
def test_results_that_are_added_in_order(body):
    assert _codes(HEAD + RUN_ALL.replace("BODY", body.replace("\n", "\n    "))) == []


AGENT = """
class Agent:
    def __init__(self):
        self.active = MADE
    def register(self, name):
        self.active.add(name)
    def tools(self):
        return LISTED
    def step(self, messages):
        r = client.messages.create(model="m", messages=messages, tools=GIVEN)
        for c in r.content:
            GROWS
        messages.append({"role": "assistant", "content": r.content})
"""
NAMED = "[{'name': n, 'input_schema': {}} for n in self.active]"
ENABLE = """self.enable(c.name)
    def enable(self, name):
        self.active.add(name)
    def note(self, messages, r):
        pass"""
GROWING = {
    "by a method": ("set()", NAMED, "self.tools()", "self.active.add(c.name)"),
    "sorted": (
        "set()",
        NAMED.replace("self.active", "sorted(self.active)"),
        "self.tools()",
        "self.active.add(c.name)",
    ),
    "in place": ("set()", "[]", "[TOOLS[n] for n in self.active]", "self.active.update(c.names)"),
    "a list": ("[]", "[]", "self.active", "self.active.append(c.tool)"),
    "a dict": ("{}", "[]", "list(self.active.values())", "self.active[c.name] = c.tool"),
    "joined": ("set()", NAMED, "self.tools()", "self.active |= {c.name}"),
    "by another method": ("set()", NAMED, "self.tools()", ENABLE),
}
FIXED = {
    "only when registered": (
        "set(NAMES)",
        NAMED.replace("self.active", "sorted(self.active)"),
        "self.tools()",
        "print(c)",
    ),
    "something else grows": ("['a']", NAMED, "self.tools()", "self.used.add(c.name)"),
    "of the module": ("['a']", "TOOLS", "self.tools()", "self.active.append(c.name)"),
}


def _agent(made: str, listed: str, given: str, grows: str) -> list[str]:
    text = (
        AGENT.replace("MADE", made).replace("LISTED", listed).replace("GIVEN", given).replace("GROWS", grows)
    )
    return [code for code in _codes(HEAD + text) if code != "PC301"]


@pytest.mark.parametrize(("made", "listed", "given", "grows"), GROWING.values(), ids=GROWING)
def test_tools_that_grow_with_the_conversation(made, listed, given, grows):
    assert _agent(made, listed, given, grows) == ["PC302"]


@pytest.mark.parametrize(("made", "listed", "given", "grows"), FIXED.values(), ids=FIXED)
def test_tools_that_do_not(made, listed, given, grows):
    assert _agent(made, listed, given, grows) == []


CHOSEN = """
ALL = {"search": {"name": "search"}, "mail": {"name": "mail"}}
def turn(messages, question, user_tools, topics):
    BEFORE
    tools = [tool for name, tool in sorted(ALL.items()) if TEST]
    r = client.messages.create(model="m", messages=messages, tools=tools)
    messages.append({"role": "assistant", "content": r.content})
"""


@pytest.mark.parametrize(
    ("before", "test", "expected"),
    [
        ("allowed = set(user_tools) | {'search'}", "name in allowed", []),
        ("pass", "name in user_tools", []),
        ("allowed = pick(question)", "name in allowed", ["PC302"]),
        ("pass", "name in topics_of(messages)", ["PC302"]),
        ("pass", "fits(tool, question)", ["PC302"]),
        ("relevant = find(messages)", "name in relevant", ["PC302"]),
    ],
)
def test_tools_that_are_chosen_for_a_turn_and_those_of_a_user(before, test, expected):
    text = HEAD + CHOSEN.replace("BEFORE", before).replace("TEST", test)
    assert [code for code in _codes(text) if code == "PC302"] == expected


PICKED = """
def turn(messages, question):
    names = ["search", "mail"]
    r = client.messages.create(model="m", messages=messages, tools=TOOLS)
    messages.append({"role": "assistant", "content": r.content})
"""


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        ('pick_tools(["search", "mail"])', []),
        ('pick_tools({"search": True, "mail": -1}, ("a", "b"))', []),
        ("pick_tools(names)", []),
        ("pick_tools(ALL_NAMES)", []),
        ('pick_tools(["search", question])', ["PC302"]),
        ("pick_tools(question)", ["PC302"]),
        ("pick_tools(query=question)", ["PC302"]),
        ("pick_tools(limit=most)", []),
    ],
)
def test_tools_that_are_picked_by_what_is_written_and_by_what_is_said(tools, expected):
    text = HEAD + PICKED.replace("TOOLS", tools, 1)
    assert [code for code in _codes(text) if code == "PC302"] == expected


ROUNDS = """
def run(question, tools, max_steps):
    messages = [{"role": "user", "content": question}]
    step = 0
    while step < max_steps:
        step += 1
        tools = None if TEST else tools
        r = client.messages.create(model="m", messages=messages, tools=tools, cache_control=MARK)
        messages.append({"role": "assistant", "content": r.content})
"""


@pytest.mark.parametrize(
    ("test", "severity"),
    [
        ("step == max_steps", Severity.WARNING),
        ("step >= self.last_step", Severity.WARNING),
        ("step == 1", Severity.WARNING),
        ("step % 2 == 0", Severity.ERROR),
        ("step > 2 and step < 9", Severity.ERROR),
    ],
)
def test_tools_that_are_left_out_of_one_round_only(test, severity):
    found = lint_text(HEAD + ROUNDS.replace("TEST", test), "app.py").findings
    assert [(finding.code, finding.severity) for finding in found] == [("PC302", severity)]
