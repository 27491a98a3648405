"""Calls are read as they were written, however the text is cut, and grammars admit exactly such texts."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache_engine import Grammar
from promptcache_engine.constraints import GrammarCompiler
from promptcache_engine.tokenizer import ByteTokenizer
from promptcache_gateway.upstreams.engine_answer import Calls
from promptcache_gateway.upstreams.prompts import read_messages
from promptcache_gateway.upstreams.tool_calls import CallArguments, CallBegun, CallReader, Content
from promptcache_gateway.upstreams.tool_formats import (
    HERMES,
    LLAMA,
    MISTRAL,
    SMOLLM,
    ToolFormat,
    format_of,
    grammar,
)
from promptcache_gateway.upstreams.tool_messages import with_tools_in_words
from promptcache_gateway.upstreams.tools import read_tools

FORMATS = (HERMES, LLAMA, MISTRAL, SMOLLM)
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "required": ["city"],
                "additionalProperties": False,
            },
        },
    }
    for name in ("get_weather", "get_time")
]


def written(style: ToolFormat, calls: list[tuple[str, str]]) -> str:
    """Calls as a model of this kind writes them."""
    objects = [f'{{"name": "{name}", "{style.arguments}": {arguments}}}' for name, arguments in calls]
    if style.listed:
        return f"{style.begin}[{', '.join(objects)}]{style.end}"
    if not style.begin:
        return style.separator.join(objects)
    return style.separator.join(f"{style.begin}\n{each}\n{style.end}" for each in objects)


def read(style: ToolFormat, pieces: list[str]) -> tuple[str, list[tuple[str, str]]]:
    reader = CallReader(style)
    parts = [part for piece in pieces for part in reader.push(piece)] + reader.finish()
    text, calls = "", []
    for part in parts:
        match part:
            case Content():
                text += part.text
            case CallBegun():
                assert part.index == len(calls)
                calls.append((part.name, ""))
            case CallArguments():
                calls[part.index] = (calls[part.index][0], calls[part.index][1] + part.text)
    assert reader.calls == len(calls)
    return text, calls


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=12)
    | st.sampled_from(['}"', "</tool_call>", "\\", "[{"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(
    st.sampled_from(["name", "arguments", "parameters", "x", '"']), VALUES, max_size=3
)


@settings(max_examples=120)
@given(
    st.sampled_from(FORMATS),
    st.lists(st.tuples(st.sampled_from(["f", "get_weather"]), ARGUMENTS), min_size=1, max_size=3),
    st.sampled_from([None, 0, 2]),
    st.lists(st.integers(1, 9), min_size=1, max_size=5),
)
def test_calls_are_read_byte_for_byte_however_they_are_cut(style, calls, indent, cuts) -> None:
    made = [(name, json.dumps(arguments, indent=indent, ensure_ascii=False)) for name, arguments in calls]
    text = written(style, made)
    pieces, at, turn = [], 0, 0
    while at < len(text):
        size = cuts[turn % len(cuts)]
        pieces.append(text[at : at + size])
        at, turn = at + size, turn + 1
    assert read(style, pieces) == ("", made)


@pytest.mark.parametrize("style", FORMATS)
@pytest.mark.parametrize("whole", [False, True])
def test_a_forced_call_that_is_cut_off_leaves_no_text(style: ToolFormat, whole: bool) -> None:
    text = written(style, [("f", '{"a": 1}')])
    for size in range(len(text)):
        reader = Calls(style, forced=True, whole=whole).reader()
        parts = [part for char in text[:size] for part in reader.push(char)] + reader.finish()
        assert not [part for part in parts if isinstance(part, Content)], text[:size]


@settings(max_examples=100)
@given(st.sampled_from(FORMATS), st.text(alphabet="a <to_cl>[TOL\n", max_size=30), st.integers(1, 5))
def test_text_without_a_call_comes_through_whole(style: ToolFormat, text: str, size: int) -> None:
    if style.begin and style.begin in text:
        return
    assert read(style, [text[i : i + size] for i in range(0, len(text), size)]) == (text, [])


def test_text_before_a_call_is_content_and_space_between_is_nobody_s() -> None:
    text = "Let me look. \n" + written(HERMES, [("f", "{}"), ("g", '{"a": 1}')])
    assert read(HERMES, [text]) == ("Let me look.", [("f", "{}"), ("g", '{"a": 1}')])
    assert read(LLAMA, ["{x} is no call"])[1] == []
    assert read(LLAMA, ["see {x}"]) == ("see {x}", [])


def test_a_call_that_is_cut_off_keeps_what_came() -> None:
    assert read(HERMES, ['<tool_call>\n{"name": "f", "arguments": {"a": [1, ']) == ("", [("f", '{"a": [1, ')])
    assert read(HERMES, ['<tool_call>\n{"na']) == ("", [])


def test_arguments_may_come_before_the_name() -> None:
    assert read(MISTRAL, ['[TOOL_CALLS][{"arguments": {"a": 1}, "name": "f"}]']) == ("", [("f", '{"a": 1}')])


@pytest.mark.parametrize(
    ("template", "style"),
    [
        ("{% for m in messages %}{{ m.content }}{% endfor %}", SMOLLM),
        ("{% if tools %}<tools>{% endif %} within <tool_call></tool_call>", HERMES),
        ("{% if tools is not none %}[AVAILABLE_TOOLS]{% endif %}[TOOL_CALLS]", MISTRAL),
        ('{% if tools %}{{ \'{"name": "\' }}{{ \'"parameters": \' }}{% endif %}', LLAMA),
        ("{% if tools %}<|python_tag|>{% endif %}", LLAMA),
        ("{% if tools %}{{ tools | tojson }}{% endif %}", HERMES),
    ],
)
def test_a_template_shows_its_form(template: str, style: ToolFormat) -> None:
    assert format_of(template) is style


TOKENIZER = ByteTokenizer(("<|im_end|>", "[TOOL_CALLS]"))


def admits(source: str, text: str) -> bool:
    """Whether a grammar takes the whole of a text, and may end there."""
    compiler = GrammarCompiler(TOKENIZER, TOKENIZER.vocab_size)
    constraint = compiler.start(Grammar.lark(source))
    for token in TOKENIZER.encode(text):
        if not constraint.allowed(TOKENIZER.vocab_size)[token]:
            return False
        constraint.accept(token)
    return constraint.complete or bool(constraint.allowed(TOKENIZER.vocab_size)[256])


def control(text: str) -> int | None:
    return 257 if text == "[TOOL_CALLS]" else None


WEATHER, TIME = ("get_weather", '{"city": "Oslo"}'), ("get_time", '{"city": "Rome"}')
AS_NAMED = {"type": "function", "function": {"name": "get_time"}}


@pytest.mark.parametrize("style", FORMATS, ids=lambda style: style.name)
@pytest.mark.parametrize(
    ("more", "text", "one", "two", "other"),
    [
        ({}, True, True, True, True),
        ({"parallel_tool_calls": False}, True, True, False, True),
        ({"tool_choice": "required"}, False, True, True, True),
        ({"tool_choice": AS_NAMED}, False, False, False, True),
    ],
    ids=["auto", "alone", "required", "named"],
)
def test_grammars_admit_what_the_caller_allows(style, more, text, one, two, other) -> None:
    source = grammar(style, read_tools({"tools": TOOLS, **more}), control, None)
    assert admits(source, "It is sunny, I think.") is text
    assert admits(source, written(style, [WEATHER])) is one
    assert admits(source, written(style, [WEATHER, TIME])) is two
    assert admits(source, written(style, [TIME])) is other
    assert not admits(source, written(style, [("get_weather", '{"town": "Oslo"}')]))
    assert not admits(source, written(style, [("get_news", "{}")]))


@pytest.mark.parametrize("style", FORMATS, ids=lambda style: style.name)
def test_an_answer_s_schema_holds_beside_tools(style: ToolFormat) -> None:
    answer = {"type": "array", "items": {"type": "integer"}}
    source = grammar(style, read_tools({"tools": TOOLS}), control, answer)
    assert admits(source, "[1, 2]")
    assert admits(source, written(style, [WEATHER]))
    assert not admits(source, "It is sunny.")


def test_templates_that_know_no_tools_get_them_in_words() -> None:
    messages = read_messages(
        {
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Weather?"},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}},
                        {"id": "2", "type": "function", "function": {"name": "g", "arguments": ""}},
                    ],
                },
                {"role": "tool", "tool_call_id": "1", "content": "sun"},
                {"role": "tool", "tool_call_id": "2", "content": "rain"},
            ]
        }
    )
    told = with_tools_in_words(messages, TOOLS)
    assert [message["role"] for message in told] == ["system", "user", "assistant", "user"]
    assert told[0]["content"].endswith("\n\nBe brief.")
    assert json.dumps(TOOLS[1]) in told[0]["content"]
    assert read(SMOLLM, [told[2]["content"]]) == ("", [("f", '{"a":1}'), ("g", "{}")])
    assert told[3]["content"].count("<tool_response>") == 2
    alone = with_tools_in_words(messages[1:2], TOOLS)
    assert [message["role"] for message in alone] == ["system", "user"]
    assert with_tools_in_words(messages[:2], ()) == messages[:2]
