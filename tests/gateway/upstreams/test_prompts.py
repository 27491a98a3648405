"""Messages and prompts for the built-in engine; each fault is named with its path."""

import pytest

from promptcache_engine.models import ChatTemplate
from promptcache_gateway.errors import ApiError
from promptcache_gateway.upstreams.prompts import read_messages, read_prompt


def call_of(**function: object) -> dict[str, object]:
    return {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}", **function}}


ASKED = {"role": "assistant", "content": None, "tool_calls": [call_of()]}


def test_tool_calls_and_results_are_read_and_keep_their_bytes() -> None:
    written = '{"b":1,  "a": 1.50}'
    call, result = read_messages(
        {
            "messages": [
                {"role": "assistant", "content": None, "tool_calls": [call_of(arguments=written)]},
                {"role": "tool", "content": "ok", "tool_call_id": "c"},
            ]
        }
    )
    assert call["content"] == ""
    arguments = call["tool_calls"][0]["function"]["arguments"]
    assert arguments == {"b": 1, "a": 1.5}
    assert arguments.json_text == written
    assert result == {"role": "tool", "content": "ok", "tool_call_id": "c"}
    assert (
        ChatTemplate("{{ messages[0].tool_calls[0].function.arguments | tojson }}").render([call]) == written
    )


def test_text_parts_are_joined_and_developer_is_system() -> None:
    messages = [
        {"role": "developer", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "user", "content": "c", "name": "n"},
        {"role": "assistant", "content": "d", "tool_calls": [], "refusal": None},
    ]
    assert read_messages({"messages": messages}) == [
        {"role": "system", "content": "a\nb"},
        {"role": "user", "content": "c"},
        {"role": "assistant", "content": "d"},
    ]


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


@pytest.mark.parametrize(
    ("messages", "path"),
    [
        (None, "messages"),
        ("hi", "messages"),
        ([], "messages"),
        (["hi"], "messages[0]"),
        ([{"content": "hi"}], "messages[0].role"),
        ([{"role": "robot", "content": "hi"}], "messages[0].role"),
        ([{"role": ["user"], "content": "hi"}], "messages[0].role"),
        ([{"role": "user", "content": "hi"}, {"role": "user"}], "messages[1].content"),
        ([{"role": "user", "content": 3}], "messages[0].content"),
        ([{"role": "user", "content": ["hi"]}], "messages[0].content[0]"),
        ([{"role": "user", "content": [{"text": "x"}]}], "messages[0].content[0].type"),
        ([{"role": "user", "content": [{"type": "text", "text": 1}]}], "messages[0].content[0].text"),
        ([{"role": "user", "content": [{"type": "text", "text": "x"}, IMAGE]}], "messages[0].content[1]"),
        ([{"role": "assistant", "content": None, "tool_calls": [{"id": "c"}]}], "messages[0].tool_calls[0]"),
        ([{"role": "assistant", "content": None}], "messages[0].content"),
        ([{"role": "user", "content": "x", "tool_calls": [{}]}], "messages[0].tool_calls"),
        ([{"role": "assistant", "tool_calls": [call_of(name=3)]}], "messages[0].tool_calls[0].function.name"),
        (
            [{"role": "assistant", "tool_calls": [call_of(arguments="{")]}],
            "messages[0].tool_calls[0].function.arguments",
        ),
        (
            [{"role": "assistant", "tool_calls": [call_of(arguments="[1]")]}],
            "messages[0].tool_calls[0].function.arguments",
        ),
        ([{"role": "tool", "content": "x", "tool_call_id": 3}], "messages[0].tool_call_id"),
        ([{"role": "tool", "content": "x", "tool_call_id": "c"}], "messages[0].tool_call_id"),
        ([ASKED, {"role": "tool", "content": "x", "tool_call_id": "d"}], "messages[1].tool_call_id"),
        ([{"role": "tool", "content": "x", "tool_call_id": "c"}, ASKED], "messages[0].tool_call_id"),
    ],
)
def test_a_fault_in_messages_names_its_path(messages: object, path: str) -> None:
    with pytest.raises(ApiError) as caught:
        read_messages({"messages": messages})
    assert (caught.value.status, caught.value.param) == (400, path)


@pytest.mark.parametrize(
    "messages",
    [
        [ASKED, {"role": "tool", "content": "x", "tool_call_id": "c"}],
        [ASKED, {"role": "user", "content": "and"}, {"role": "tool", "content": "x", "tool_call_id": "c"}],
        [ASKED, {"role": "tool", "content": "x"}],
        [
            {"role": "assistant", "tool_calls": [call_of() | {"id": None}]},
            {"role": "tool", "content": "x", "tool_call_id": "c"},
        ],
    ],
    ids=["the call is there", "further up", "no id", "calls without an id"],
)
def test_results_of_calls_that_were_made(messages: list[dict[str, object]]) -> None:
    assert len(read_messages({"messages": messages})) == len(messages)


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [("a", "a"), (["a"], "a"), ([1, 2], [1, 2]), ([[1, 2]], [1, 2])],
)
def test_a_prompt_is_text_or_tokens(prompt: object, expected: object) -> None:
    assert read_prompt({"prompt": prompt}) == expected


@pytest.mark.parametrize("prompt", [None, "", [], [[]], ["a", "b"], [1, "a"], [True], 3, {"a": 1}])
def test_any_other_prompt_is_refused(prompt: object) -> None:
    with pytest.raises(ApiError) as caught:
        read_prompt({"prompt": prompt})
    assert (caught.value.status, caught.value.param) == (400, "prompt")
