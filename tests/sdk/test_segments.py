"""Cutting: every dialect, the order of matching, what counts as text and what does not."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptcache.errors import MalformedRequestError
from promptcache.segments import chain_hashes, cut_request, newest_turn_start
from tests.sdk.bodies import MARK, TOOLS, anthropic, chat, conversations, sampled, text, wild_bodies


def paths(body: dict[str, Any]) -> list[str]:
    return [segment.path for segment in cut_request(body)]


def test_a_chat_body_is_cut_into_tools_then_messages() -> None:
    body = chat("Rules.", "hi", "hello", tools=TOOLS[:1])
    segments = cut_request(body)
    assert [(s.path, s.kind, s.role) for s in segments] == [
        ("tools[0]", "tool", ""),
        ("messages[0]", "message", "system"),
        ("messages[1]", "message", "user"),
        ("messages[2]", "message", "assistant"),
    ]
    assert segments[1].text == "system\nRules."
    assert segments[1].body == "Rules."
    assert segments[0].text.startswith('{"type":"function","function":{"name":"alpha"')


def test_an_anthropic_body_puts_system_blocks_before_the_messages() -> None:
    body = anthropic([text("A"), text("B", marked=True)], {"role": "user", "content": [text("hi")]})
    segments = cut_request(body)
    assert [s.path for s in segments] == ["system[0]", "system[1]", "messages[0].content[0]"]
    assert [s.text for s in segments] == ["A", "B", "user\nhi"]
    assert [s.breakpoint for s in segments] == [None, {"type": "ephemeral"}, None]


def test_a_system_string_is_one_segment() -> None:
    assert paths(anthropic("Rules.", "hi")) == ["system", "messages[0]"]


def test_responses_and_completions_are_cut_too() -> None:
    assert paths({"instructions": "Be kind.", "input": "hi"}) == ["instructions", "input"]
    items = [
        {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "4"},
    ]
    segments = cut_request({"input": items})
    assert [(s.path, s.role) for s in segments] == [
        ("input[0].content[0]", "user"),
        ("input[1]", "assistant"),
        ("input[2]", "tool"),
    ]
    assert paths({"prompt": "once upon"}) == ["prompt"]
    assert paths({"prompt": ["a", "b"]}) == ["prompt[0]", "prompt[1]"]
    assert cut_request({"prompt": [1, 23]})[0].text == "1,23,"


def test_blocks_that_are_no_text_are_compact_json_in_the_clients_key_order() -> None:
    block = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "é"}}
    (segment,) = cut_request(chat("", {"role": "user", "content": [block]}))[1:]
    assert (
        segment.text
        == 'user\n{"type":"image","source":{"type":"base64","media_type":"image/png","data":"é"}}'
    )


def test_each_tool_call_of_a_message_is_a_segment() -> None:
    calls = [{"id": i, "type": "function", "function": {"name": "f", "arguments": "{}"}} for i in ("a", "b")]
    message = {"role": "assistant", "content": "let me see", "tool_calls": calls}
    assert paths(chat("", "go", message))[2:] == [
        "messages[2]",
        "messages[2].tool_calls[0]",
        "messages[2].tool_calls[1]",
    ]


def test_breakpoints_are_no_content() -> None:
    plain = anthropic(
        [text("A")], {"role": "user", "content": [{"type": "tool_result", "content": [text("x")]}]}
    )
    marked = copy.deepcopy(plain)
    marked["system"][0].update(MARK)
    marked["messages"][0]["content"][0]["content"][0].update(MARK)
    marked["tools"] = [{**TOOLS[0], **MARK}]
    plain["tools"] = [TOOLS[0]]
    assert [s.text for s in cut_request(marked)] == [s.text for s in cut_request(plain)]
    assert chain_hashes(cut_request(marked)) == chain_hashes(cut_request(plain))
    assert all(s.breakpoint for s in cut_request(marked))


def test_a_null_breakpoint_is_none_and_no_content() -> None:
    tool = {**TOOLS[0], "cache_control": None}
    (segment,) = cut_request({"tools": [tool], "messages": []})
    assert segment.breakpoint is None
    assert "cache_control" not in segment.text


def test_a_breakpoint_at_the_top_stands_on_the_last_block() -> None:
    segments = cut_request(anthropic("S", "hi", **MARK))
    assert [bool(s.breakpoint) for s in segments] == [False, True]


def test_the_other_fields_of_a_message_count_without_length() -> None:
    first, second = (
        cut_request(chat("", {"role": "tool", "tool_call_id": name, "content": "4"}))[1] for name in "ab"
    )
    assert first.text == second.text == "tool\n4"
    assert not first.same_as(second)
    assert chain_hashes([first]) != chain_hashes([second])


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ([], "$"),
        ({}, "$"),
        ({"messages": None}, "messages"),
        ({"messages": "hi"}, "messages"),
        ({"messages": ["hi"]}, "messages[0]"),
        ({"messages": [{"content": "hi"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": 5}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages[0].content[0].text"),
        ({"messages": [{"role": "user", "content": [7]}]}, "messages[0].content[0]"),
        ({"messages": [], "tools": {"name": "f"}}, "tools"),
        ({"messages": [], "tools": ["f"]}, "tools[0]"),
        ({"messages": [], "system": 5}, "system"),
        ({"input": [3]}, "input[0]"),
        ({"prompt": None}, "prompt"),
        ({"prompt": [{}]}, "prompt[0]"),
    ],
)
def test_a_malformed_body_names_the_place(body: Any, path: str) -> None:
    with pytest.raises(MalformedRequestError) as caught:
        cut_request(body)
    assert caught.value.path == path


def test_what_orjson_refuses_is_still_cut() -> None:
    tool = {"name": "\ud800", "limit": 2**70}
    (segment,) = cut_request({"tools": [tool], "messages": []})
    assert str(2**70) in segment.text
    assert len(chain_hashes([segment])[0]) == 16


@sampled
@given(conversations())
def test_no_text_is_lost_or_doubled(body: dict[str, Any]) -> None:
    segments = cut_request(body)
    joined = "".join(segment.text for segment in segments)
    assert sum(len(segment.text) for segment in segments) == len(joined)
    expected = 0
    for message in body["messages"]:
        content = message["content"]
        parts = [content] if isinstance(content, str) else [b["text"] for b in content if b["type"] == "text"]
        assert all(part in joined for part in parts)
        expected += 1 if isinstance(content, str) else len(content)
    assert len([s for s in segments if s.kind == "message"]) == expected


@sampled
@given(conversations(), st.data())
def test_hashes_agree_exactly_as_far_as_segments_do(body: dict[str, Any], data: st.DataObject) -> None:
    segments = cut_request(body)
    other = list(segments)
    place = data.draw(st.integers(0, len(segments) - 1))
    other[place] = type(other[place])(
        path=other[place].path, kind=other[place].kind, role=other[place].role, text=other[place].text + "x"
    )
    first, second = chain_hashes(segments), chain_hashes(other)
    assert [a == b for a, b in zip(first, second, strict=True)] == [i < place for i in range(len(first))]


@pytest.mark.parametrize(
    ("body", "newest"),
    [
        (chat("S", "hi"), "messages[1]"),
        (chat("S", "hi", "hello", "more"), "messages[3]"),
        (chat("S", "hi", "hello", {"role": "tool", "tool_call_id": "a", "content": "4"}), "messages[3]"),
        (chat("S", "hi", "hello", "more", {"role": "system", "content": "now 9:00"}), "messages[3]"),
        (
            chat("S", "hi", "hello", {"role": "user", "content": [text("a"), text("b")]}),
            "messages[3].content[0]",
        ),
        (chat("S", "hi", "{"), "messages[1]"),
        (anthropic("S", "hi"), "messages[0]"),
    ],
)
def test_the_newest_turn_begins_at_the_last_user_message(body: dict[str, Any], newest: str) -> None:
    segments = cut_request(body)
    assert segments[newest_turn_start(segments)].path == newest


@sampled
@given(wild_bodies)
def test_any_json_is_cut_or_refused_with_a_place(value: Any) -> None:
    refused = None
    try:
        chain_hashes(cut_request(value))
    except MalformedRequestError as error:
        refused = error
    assert refused is None or refused.path


def test_a_block_whose_type_is_no_word_is_json() -> None:
    (segment,) = cut_request(chat("", {"role": "user", "content": [{"type": []}]}))[1:]
    assert segment.body == '{"type":[]}'
