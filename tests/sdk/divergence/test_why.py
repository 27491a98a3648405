"""Why two requests part: one row a situation, with the causes in the order they are reported."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from promptcache.divergence import compare_requests
from promptcache.usage import Usage
from tests.sdk.bodies import RULES, TOOLS, anthropic, chat, text

TALK = ("hello, what is the weather?", "It is sunny in Oslo today.", "and tomorrow?")
LONG = tuple(f"{'answer' if n % 2 else 'question'} number {n} about topic {n * 7}" for n in range(11))
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1, "b": 2}'}}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "ok"}


def tools_with(place: int, **function: Any) -> list[dict[str, Any]]:
    changed = copy.deepcopy(TOOLS)
    changed[place]["function"].update(function)
    return changed


def called(arguments: str) -> dict[str, Any]:
    call = {**CALL, "function": {"name": "f", "arguments": arguments}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def used(**arguments: Any) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "u", "name": "f", "input": arguments}],
    }


def results(*contents: str) -> dict[str, Any]:
    return user(*({"type": "tool_result", "content": content} for content in contents))


def turns(texts: Any) -> list[dict[str, Any]]:
    """Texts of user and assistant in alternation, as messages."""
    return [{"role": "assistant" if n % 2 else "user", "content": t} for n, t in enumerate(texts)]


def system(text: str) -> dict[str, Any]:
    return {"role": "system", "content": text}


def named(name: str | None) -> list[dict[str, Any]]:
    """A conversation in which the answer carries a name."""
    first, answer, newest = turns(TALK)
    return [first, answer | ({"name": name} if name else {}), newest]


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def image(**source: Any) -> dict[str, Any]:
    return {"type": "image_url", "image_url": source}


def grown(*turns: Any) -> tuple[Any, ...]:
    """The same turns with an answer and a new question behind them."""
    return (*turns, {"role": "assistant", "content": "as you like"}, {"role": "user", "content": "go on"})


PARAMETERS = TOOLS[1]["function"]["parameters"]
SHUFFLED_KEYS = tools_with(1, parameters=dict(reversed(PARAMETERS.items())))
SHUFFLED_ARRAY = tools_with(1, parameters={**PARAMETERS, "required": ["limit", "path"]})
THINKING = {"type": "thinking", "thinking": "hm", "signature": "s"}
SUMMARY = {"role": "user", "content": "Summary of the conversation so far: we spoke about topics."}

THOUGHT = {"type": "thinking", "thinking": "Let me see."}

SITUATIONS: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    # nothing to blame
    "a new question": (chat(RULES, "about cats"), chat(RULES, "what of dogs"), []),
    "nothing shared": (chat("Poet " * 50, "x"), chat("Lawyers judge " * 50, "y"), []),
    "no system prompt": (
        {"messages": [user(text("Summarize this incident report in one paragraph."))]},
        {"messages": [user(text("Write a one-paragraph summary of this incident report."))]},
        [],
    ),
    "another conversation": (chat(RULES, *LONG), chat(RULES, "a tale", "Once upon a time", "of the sea"), []),
    "the clock in the newest turn": (chat(RULES, "10:00:01 hi"), chat(RULES, "10:07:31 hi"), []),
    "sampling parameters": (chat(RULES, "a", temperature=1), chat(RULES, "a", "b", "c", temperature=0), []),
    "a default spelled out": (chat(RULES, "a"), chat(RULES, "a", "b", "c", tool_choice="auto"), []),
    # volatile values
    "a clock before static text": (
        chat("Time: 2031-03-04T10:00:11Z\n" + RULES, *TALK),
        chat("Time: 2031-03-04T10:05:40Z\n" + RULES, *TALK),
        ["PC101", "PC401"],
    ),
    "a clock at the end": (
        chat(RULES + "Time: 2031-03-04T10:00:11Z", *TALK),
        chat(RULES + "Time: 2031-03-04T10:05:40Z", *TALK),
        ["PC101"],
    ),
    "a clock in a message sent before": (
        chat(RULES, "now=2031-03-04T10:00:11Z hello"),
        chat(RULES, "now=2031-03-04T10:07:31Z hello", "hi", "more"),
        ["PC101"],
    ),
    "two volatile values": (
        chat("Time: 2031-03-04T10:00:11Z\nSession 6f1c3b1e-7c1f-4b58-a111-1e2d3c4b5a69", *TALK),
        chat("Time: 2031-03-04T10:05:40Z\nSession 0a1c3b1e-7c1f-4b58-a111-1e2d3c4b5a70", *TALK),
        ["PC101", "PC102"],
    ),
    "static text behind the clock in the newest turn": (
        chat("", "Time: 10:00:01\n" + RULES),
        chat("", "Time: 10:07:31\n" + RULES),
        ["PC101", "PC401"],
    ),
    "every breakpoint behind the clock": (
        anthropic([text("Time: 10:00:01", marked=True)], "hi"),
        anthropic([text("Time: 10:07:31", marked=True)], "hi"),
        ["PC101", "PC601"],
    ),
    "the clock in the instructions of a response": (
        {"instructions": "Time: 10:00:01", "input": "hi"},
        {"instructions": "Time: 10:00:09", "input": "hi"},
        ["PC101"],
    ),
    # serialization
    "keys of a tool": (chat(RULES, tools=TOOLS), chat(RULES, tools=SHUFFLED_KEYS), ["PC201"]),
    "keys in the prompt": (
        chat('Context: {"a": 1, "b": [1, 2]}', "hi"),
        chat('Context: {"b": [1, 2], "a": 1}', "hi"),
        ["PC201"],
    ),
    "array of a tool": (chat(RULES, tools=TOOLS), chat(RULES, tools=SHUFFLED_ARRAY), ["PC202"]),
    "a set on one line": (
        chat("Tags: red, green, blue.\n" + RULES, "hi"),
        chat("Tags: blue, red, green.\n" + RULES, "hi"),
        ["PC202"],
    ),
    "a listing of files": (
        chat("Files:\n- src/a.py\n- src/b.py\n" + RULES, "hi"),
        chat("Files:\n- src/b.py\n- src/a.py\n" + RULES, "hi"),
        ["PC203"],
    ),
    "rows of a query": (
        chat('Rows: [{"id": 1}, {"id": 2}]', "hi"),
        chat('Rows: [{"id": 2}, {"id": 1}]', "hi"),
        ["PC204"],
    ),
    "lines of a loop": (
        chat("Skills:\n- cook\n- bake\n" + RULES, "hi"),
        chat("Skills:\n- bake\n- cook\n" + RULES, "hi"),
        ["PC204"],
    ),
    "numbers written otherwise": (chat('{"t": 1}', "hi"), chat('{"t": 1.0}', "hi"), ["PC205"]),
    "white space": (chat(RULES + "\n", "hi"), chat(RULES, "hi"), ["PC206"]),
    "line ends": (chat("a\r\nb\r\n" * 9, "hi"), chat("a\nb\n" * 9, "hi"), ["PC206"]),
    "Unicode forms": (chat("café " * 9, "hi"), chat("cafe\u0301 " * 9, "hi"), ["PC206"]),
    "a trimmed answer": (
        chat(RULES, "a haiku", "Rain on tin\n\n", "again"),
        chat(RULES, *grown("a haiku", "Rain on tin", "again")),
        ["PC206"],
    ),
    "a list became a string": (
        chat(RULES, user(text("hi there", marked=True))),
        chat(RULES, *grown("hi there")),
        ["PC206"],
    ),
    "a system string became a list": (anthropic(RULES, "hi"), anthropic([text(RULES)], "hi"), ["PC206"]),
    # tools
    "tools in another order": (chat(RULES, tools=TOOLS), chat(RULES, tools=TOOLS[::-1]), ["PC301"]),
    "a tool less": (chat(RULES, tools=TOOLS), chat(RULES, tools=TOOLS[:2]), ["PC302"]),
    "tools gone": (chat(RULES, tools=TOOLS), chat(RULES), ["PC302"]),
    "another set in another order": (
        chat(RULES, tools=TOOLS[:3]),
        chat(RULES, tools=[TOOLS[3], TOOLS[1], TOOLS[0]]),
        ["PC302", "PC301"],
    ),
    "a definition edited": (
        chat(RULES, tools=TOOLS),
        chat(RULES, tools=tools_with(1, description="beta does other things entirely")),
        ["PC302"],
    ),
    "a definition with another parameter": (
        chat(RULES, tools=TOOLS),
        chat(RULES, tools=tools_with(1, parameters={"type": "object", "properties": {"x": {}}})),
        ["PC302"],
    ),
    "a name in a definition": (
        chat(RULES, tools=tools_with(1, description="Books a room for Ada. Ask for the dates first.")),
        chat(RULES, tools=tools_with(1, description="Books a room for Robert. Ask for the dates first.")),
        ["PC303"],
    ),
    "a live list to choose from": (
        chat(RULES, tools=tools_with(1, parameters={"properties": {"room": {"enum": ["red", "blue"]}}})),
        chat(RULES, tools=tools_with(1, parameters={"properties": {"room": {"enum": ["red", "ash"]}}})),
        ["PC303"],
    ),
    "a default that is put in": (
        chat(RULES, tools=tools_with(1, parameters={"properties": {"n": {"type": "integer", "default": 5}}})),
        chat(RULES, tools=tools_with(1, parameters={"properties": {"n": {"type": "integer", "default": 7}}})),
        ["PC303"],
    ),
    "a date in a definition": (
        chat(RULES, tools=tools_with(1, description="Today is 2031-03-04.")),
        chat(RULES, tools=tools_with(1, description="Today is 2031-03-05.")),
        ["PC109", "PC303"],
    ),
    "results in another order": (
        chat(RULES, "do", used(), results("A", "B")),
        chat(RULES, *grown("do", used(), results("B", "A"))),
        ["PC304"],
    ),
    "tools and clock": (
        chat("Time: 10:00:01", "hi", tools=TOOLS),
        chat("Time: 10:07:31", "hi", tools=TOOLS[::-1]),
        ["PC301", "PC101"],
    ),
    # layout
    "retrieved documents before the rules": (
        chat("<documents>\nCats purr when content.\n</documents>\n" + RULES, "hi"),
        chat("<documents>\nDogs bark at night.\nThey run.\n</documents>\n" + RULES, "hi"),
        ["PC402", "PC401"],
    ),
    "an edited system prompt": (
        chat(RULES + "Be kind to all of them.", "hi"),
        chat(RULES + "Be rude to some of them.", "hi"),
        ["PC403"],
    ),
    **{
        f"a value in another's place: {old}": (
            chat(f"{lead}\n{old}\n{RULES}", "hi"),
            chat(f"{lead}\n{new}\n{RULES}", "hi"),
            causes,
        )
        for lead in ("You serve the help desk.",)
        for old, new, causes in (
            ("Allowed tags: red, green, blue", "Allowed tags: blue, red, green", ["PC202"]),
            (
                "Allowed tags: red, green, blue. Use one: no more.",
                "Allowed tags: blue, red, green. Use one: no more.",
                ["PC202"],
            ),
            ("Tag with red, green or blue.", "Tag with blue, red or green.", ["PC202"]),
            ("Read only a.py, b.py and c.md.", "Read only c.md, a.py and b.py.", ["PC203"]),
            ("seed 0.8374", "seed 0.1923", ["PC103", "PC401"]),
            ("0.8374", "0.1923", ["PC103", "PC401"]),
            ("The threshold 0.8374 applies.", "The threshold 0.1923 applies.", ["PC401"]),
            ("The user's name is Alice.", "The user's name is Bob.", ["PC104", "PC401"]),
            ("You are talking to Alice.", "You are talking to Bob.", ["PC104", "PC401"]),
            ("Hello Alice, welcome.", "Hello Bob, welcome.", ["PC401"]),
            ("Mood: happy", "Mood: very sad today", ["PC401"]),
            ("Plans: ask Alice Smith from Leeds.", "Plans: ask Bob Jones from York.", ["PC401"]),
            ("Always answer in German.", "Always answer in German. Never in verse.", ["PC404", "PC401"]),
            (
                "Context used: 5,000/10,000 tokens\nMood: calm",
                "Context used: 6,100/10,000 tokens\nMood: calm",
                ["PC107", "PC401"],
            ),
            (
                "Context used: much of it, as of now\nMood: calm",
                "Context used: much of it, as of now\nMood: bad",
                ["PC401"],
            ),
        )
    },
    "a second system message before a conversation that is the same": (
        chat(RULES, *TALK),
        {
            **chat(RULES),
            "messages": [system(RULES), system("Be careful."), *turns((*TALK, "Dry.", "and then?"))],
        },
        ["PC404"],
    ),
    "a second system message, and a name on an answer": (
        {"messages": [system(RULES), *named(None)]},
        {"messages": [system(RULES), system("Be careful."), *named("bot")]},
        ["PC404", "PC502"],
    ),
    "an edited line before static text": (
        chat("You serve plan A.\n" + RULES, "hi"),
        chat("You serve the new plan B now.\n" + RULES, "hi"),
        ["PC403", "PC401"],
    ),
    "a word of a sentence before static text": (
        chat(RULES.replace(RULES.split()[20], "carefully", 1), "hi"),
        chat(RULES.replace(RULES.split()[20], "warmly", 1), "hi"),
        ["PC403", "PC401"],
    ),
    "keys in another order before a question about a summary": (
        chat('Plan: {"a": 1, "b": 2}\n' + RULES, "Please summarize the terms.", "Gladly.", "go on"),
        chat(
            'Plan: {"b": 2, "a": 1}\n' + RULES, "Please summarize the terms.", "Gladly.", "Summarize again."
        ),
        ["PC201"],
    ),
    "a memory that grows": (
        chat(RULES + "\n- likes tea", "hi"),
        chat(RULES + "\n- likes tea\n- lives in Oslo", "hi"),
        ["PC403"],
    ),
    "a section that went": (
        chat(RULES + "\n## Beta\nBe bold.\n\nThe end.", "hi"),
        chat(RULES + "\nThe end.", "hi"),
        ["PC404"],
    ),
    "a sentence that came": (
        chat("Be kind. Never lie. " + RULES, "hi"),
        chat("Be kind. Now plan only. Never lie. " + RULES, "hi"),
        ["PC404", "PC401"],
    ),
    "a block that went": (
        anthropic([text(RULES), text("Plan mode is on.")], "hi"),
        anthropic([text(RULES)], "hi"),
        ["PC404"],
    ),
    # conversation
    "trimmed from the front": (chat(RULES, *LONG), chat(RULES, *grown(*LONG[2:])), ["PC501"]),
    "edited": (
        chat(RULES, *LONG),
        chat(RULES, *grown(*LONG[:4], "now quite different", *LONG[5:])),
        ["PC502"],
    ),
    "dropped in the middle": (chat(RULES, *LONG), chat(RULES, *grown(*LONG[:6], *LONG[8:])), ["PC502"]),
    "a reminder put in": (
        chat(RULES, *turns(LONG)),
        chat(RULES, *turns(LONG)[:1], user(text("todo: empty")), *grown(*turns(LONG)[1:])),
        ["PC502"],
    ),
    "asked again otherwise": (chat(RULES, *TALK), chat(RULES, *TALK[:2], "and on Sunday?"), ["PC502"]),
    "rolled back": (chat(RULES, *LONG), chat(RULES, *LONG[:7]), ["PC502"]),
    "another model": (chat(RULES, *TALK), {**chat(RULES, *grown(*TALK)), "model": "n"}, ["PC503"]),
    "another model and tools": (
        chat(RULES, tools=TOOLS),
        {**chat(RULES, tools=TOOLS[::-1]), "model": "n"},
        ["PC503", "PC301"],
    ),
    "another effort": (
        chat(RULES, "a", reasoning_effort="low"),
        chat(RULES, "a", "b", "c", reasoning_effort="high"),
        ["PC504"],
    ),
    "thinking blocks dropped": (
        chat(RULES, "do", {"role": "assistant", "content": [THINKING, text("done")]}, "next"),
        chat(RULES, *grown("do", {"role": "assistant", "content": [text("done")]}, "next")),
        ["PC505"],
    ),
    "a reasoning field dropped": (
        chat(RULES, "do", {"role": "assistant", "content": "done", "reasoning_content": "hm"}, "next"),
        chat(RULES, *grown("do", "done", "next")),
        ["PC505"],
    ),
    "think tags dropped": (
        chat(RULES, "do", "<think>hm</think>\ndone", "next"),
        chat(RULES, *grown("do", "done", "next")),
        ["PC505"],
    ),
    "compacted": (chat(RULES, *LONG), chat(RULES, SUMMARY, "Understood.", "go on"), ["PC506"]),
    "compacted with a tail": (
        chat(RULES, *LONG),
        chat(RULES, SUMMARY, *grown(*turns(LONG)[7:])),
        ["PC506"],
    ),
    "summarized elsewhere": (
        chat(RULES, *LONG),
        chat("You summarize conversations.", *LONG, "the last answer", "Summarize the above."),
        ["PC506"],
    ),
    **{
        f"summarized: {ask[:40]}": (
            chat(RULES, *LONG),
            chat("You sum up conversations.", *LONG, "the last answer", ask),
            ["PC506"],
        )
        for ask in (
            "Summarize now.",
            "Your task is to create a detailed summary of the conversation so far, with every file.",
            "CONTEXT CHECKPOINT COMPACTION. Write down what another model needs to resume the task.",
            "Distill the above chat messages into a single message. Keep numbers.",
            f"Keep to the point.\n{RULES}\nNow condense everything above.",
        )
    },
    **{
        f"handed over: {ask}": (
            chat(RULES, *LONG, tools=TOOLS[:1]),
            chat("You are the billing agent. Summarize what you did.", *LONG, "see", ask, tools=tools),
            ["PC302", "PC403"],
        )
        for ask, tools in (
            ("What are my open invoices?", TOOLS[1:]),
            ("Can you summarize my open invoices?", TOOLS[1:]),
            ("Please make that table more compact.", TOOLS[1:]),
            ("Summarize our conversation so far.", TOOLS[1:]),
            ("Can you summarize my order history?", []),
            ("Condense the second paragraph above, please.", []),
        )
    },
    **{
        f"{line} before {newest['role']}: {newest['content']}": (
            chat(line % first + RULES, "do", called("{}"), RESULT),
            chat(line % second + RULES, "do", called("{}"), RESULT, "done", newest),
            [code, "PC401"],
        )
        for line, first, second, code in (
            ("Now: %s\n", "2026-11-30T12:00:01Z", "2026-11-30T12:00:31Z", "PC101"),
            ("The user is %s.\n", "Ann Lee", "Bob Ray", "PC104"),
        )
        for newest in (
            {"role": "user", "content": "Summarize the conversation above."},
            {"role": "user", "content": "Please summarize what this function does."},
            {"role": "tool", "content": "Create a summary of the conversation so far."},
        )
    },
    "arguments written again": (
        chat(RULES, "do", called('{"a": 1, "b": 2}'), RESULT),
        chat(RULES, *grown("do", called('{"b":2,"a":1}'), RESULT)),
        ["PC507"],
    ),
    "input of a tool written again": (
        chat(RULES, "do", used(a=1, b=2), user({"type": "tool_result", "content": "ok"})),
        chat(RULES, *grown("do", used(b=2, a=1), user({"type": "tool_result", "content": "ok"}))),
        ["PC507"],
    ),
    # provider and media
    "the breakpoint lost": (
        anthropic([text(RULES, marked=True)], "hi"),
        anthropic([text(RULES)], *grown("hi")),
        ["PC602"],
    ),
    "a long history without breakpoints": (
        anthropic([text(RULES, marked=True)], "x " * 3000),
        anthropic([text(RULES, marked=True)], *grown("x " * 3000)),
        ["PC602"],
    ),
    "a breakpoint that stands still": (
        anthropic("", user(text("a", marked=True)), "long " * 2000, "b"),
        anthropic("", *grown(user(text("a", marked=True)), "long " * 2000, "b")),
        ["PC610"],
    ),
    "another cache key": (chat(RULES, prompt_cache_key="a"), chat(RULES, prompt_cache_key="b"), ["PC607"]),
    "an image signed again": (
        chat(RULES, user(image(url="https://x/y.png?sig=1"))),
        chat(RULES, *grown(user(image(url="https://x/y.png?sig=2")))),
        ["PC701"],
    ),
    "another detail": (
        chat(RULES, user(image(url="https://x/y.png", detail="low"))),
        chat(RULES, *grown(user(image(url="https://x/y.png", detail="high")))),
        ["PC702"],
    ),
    "an output schema whose keys came in another order": (
        chat(RULES, user("hi"))
        | {"response_format": {"type": "json_schema", "json_schema": {"a": 1, "b": 2}}},
        chat(RULES, user("hi"))
        | {"response_format": {"type": "json_schema", "json_schema": {"b": 2, "a": 1}}},
        ["PC201"],
    ),
    "a thought that came back without its signature": (
        chat(
            RULES, user("hi"), {"role": "assistant", "content": [THOUGHT | {"signature": "c2ln"}, text("a")]}
        ),
        chat(RULES, *grown(user("hi"), {"role": "assistant", "content": [THOUGHT, text("a")]})),
        ["PC505"],
    ),
    "an image replaced by words": (
        chat(RULES, user(image(url="https://x/y.png"), text("what is it, please?"))),
        chat(RULES, *grown(user(text("[image]"), text("what is it, please?")))),
        ["PC502"],
    ),
}


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_causes_are_named_in_order(name: str) -> None:
    earlier, later, causes = SITUATIONS[name]
    found = compare_requests(earlier, later)
    assert list(found.causes) == causes


def severity(name: str) -> str | None:
    earlier, later, _ = SITUATIONS[name]
    return compare_requests(earlier, later).severity


def test_severity_follows_what_ordinary_traffic_loses() -> None:
    assert severity("a clock before static text") == "error"
    assert severity("edited") == "error"
    assert severity("a date in a definition") == "warning"
    assert severity("a section that went") == "warning"
    assert severity("asked again otherwise") == "info"
    assert severity("a new question") == "info"


def test_what_stands_behind_the_last_breakpoint_is_a_warning() -> None:
    first = anthropic([text(RULES, marked=True), text("Time: 10:00:01")], "hi")
    second = anthropic([text(RULES, marked=True), text("Time: 10:07:31")], "hi")
    found = compare_requests(first, second)
    assert (found.cause, found.severity, found.alarm) == ("PC101", "warning", True)


def test_a_change_of_shape_is_harmless_where_the_provider_takes_both() -> None:
    first, second, _ = SITUATIONS["a list became a string"]
    found = compare_requests({**first, "model": "claude-opus-5"}, {**second, "model": "claude-opus-5"})
    assert (found.cause, found.severity, found.alarm) == ("PC206", "info", False)


def test_details_say_what_the_cause_knows() -> None:
    tools = compare_requests(chat(RULES, tools=TOOLS[:2]), chat(RULES, tools=[TOOLS[1], TOOLS[2]])).details
    assert (tools["added"], tools["removed"]) == (["gamma"], ["alpha"])
    trimmed = compare_requests(*SITUATIONS["trimmed from the front"][:2]).details
    assert trimmed["dropped_messages"] == 2
    effort = compare_requests(*SITUATIONS["another effort"][:2])
    assert effort.details["parameter"] == "reasoning_effort"
    assert (effort.before, effort.after) == ("low", "high")
    clock = compare_requests(*SITUATIONS["a clock before static text"][:2])
    assert clock.details["stranded_chars"] == len(RULES)


def test_a_block_that_moved_is_followed() -> None:
    note = "\n<reminder>You may edit files.</reminder>"
    found = compare_requests(
        chat(RULES, "add a test" + note, "done"), chat(RULES, "add a test", "done", "hi" + note)
    )
    assert (found.details["pattern"], found.details["to"]) == ("block_moved", "messages[3]")


def far_marks(blocks: int) -> tuple[dict[str, Any], dict[str, Any]]:
    first = anthropic("", user(text("task", marked=True)))
    notes = [text(f"note {n}") for n in range(blocks - 1)]
    second = anthropic(
        "", user(text("task")), {"role": "assistant", "content": notes}, user(text("go", marked=True))
    )
    return first, second


def test_lookback_counts_blocks_from_the_breakpoint() -> None:
    assert compare_requests(*far_marks(19)).cause is None
    found = compare_requests(*far_marks(20))
    assert (found.append_only, found.cause) == (True, "PC605")
    assert found.details["blocks_between_marks"] == 20
    assert found.details["limit"] == 20


def test_a_usage_record_refutes_what_breakpoints_suggest() -> None:
    first, second = far_marks(25)
    read = Usage.from_response(
        {"input_tokens": 1, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 10}
    )
    missed = Usage.from_response(
        {"input_tokens": 1, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 910}
    )
    assert compare_requests(first, second, usage=read).cause is None
    assert compare_requests(first, second, usage=missed).cause == "PC605"


def test_tool_choice_matters_only_where_the_provider_says_so() -> None:
    first, second = chat(RULES, "a"), chat(RULES, "a", "b", "c", tool_choice="none")
    assert compare_requests(first, second).cause == "PC504"
    model = {"model": "gpt-5.6"}
    assert compare_requests({**first, **model}, {**second, **model}).cause is None


CLOCK = "2026-11-29T21:%02d:11Z"


@pytest.mark.parametrize(
    ("line", "first", "second", "causes"),
    [
        ("Request #%s at %s. ", "1701", "1702", ("PC102", "PC101", "PC401")),
        ("Weather: %s. Date %s. ", "rain", "sun", ("PC401", "PC101")),
        ("lang=%s t=%s ", "en", "de", ("PC401", "PC101")),
        ("The user is %s. It is %s. ", "Alice", "Bob", ("PC104", "PC101", "PC401")),
    ],
)
def test_a_clock_behind_another_difference_is_named_too(
    line: str, first: str, second: str, causes: tuple[str, ...]
) -> None:
    before, after = line % (first, CLOCK % 4) + RULES, line % (second, CLOCK % 9) + RULES
    assert compare_requests(chat(before, "hello"), chat(after, "hello")).causes == causes


def test_a_clock_in_other_words_is_none_of_theirs() -> None:
    """Two texts that have nothing in common are not searched for values."""
    before = f"Invoice of Alice, paid {CLOCK % 4}. She asked for a refund of a coat in March."
    after = f"Reply in French only. Never quote law. The desk closed {CLOCK % 9}, so apologize."
    assert "PC101" not in compare_requests(chat(before, "hello"), chat(after, "hello")).causes


def test_examples_that_change_places_in_pairs_are_drawn_and_not_edited() -> None:
    pairs = [
        ({"role": "user", "content": f"Ticket {word} came in."}, {"role": "assistant", "content": word})
        for word in ("alpha", "beta", "gamma", "delta")
    ]
    asked = {"role": "user", "content": "And now?"}
    bodies = [
        {"model": "m", "messages": [*(message for pair in order for message in pair), asked]}
        for order in (pairs, pairs[::-1], [*pairs[1::-1], *pairs[:1:-1]])
    ]
    assert compare_requests(bodies[0], bodies[1]).causes == ("PC103",)
    assert compare_requests(bodies[0], bodies[2]).causes == ("PC103",)  # in two runs
    turned = {"model": "m", "messages": [*pairs[0][::-1], *pairs[1][::-1], asked]}
    straight = {"model": "m", "messages": [*pairs[0], *pairs[1], asked]}
    assert compare_requests(straight, turned).causes == ("PC502",)


def test_a_part_of_a_message_is_left_out_later() -> None:
    """What was sent beside a question is missing from the history; the message is the same one."""
    documents, asked = f"# Found\n{RULES}", "Which of these terms holds in Oslo and in Bergen?"
    sides = ([documents, asked], [asked, documents], [f"{documents}\n{asked}"], [asked[:20], asked[20:]])
    for parts, code in zip(sides, ("PC502", "PC502", "PC502", "PC206"), strict=True):
        newest = user(*({"type": "text", "text": text} for text in parts))
        later = [*grown(user({"type": "text", "text": asked}))]
        found = compare_requests(
            {"model": "m", "messages": [system(RULES), newest]},
            {"model": "m", "messages": [system(RULES), *later]},
        )
        assert found.causes == (code,), (parts, found)
