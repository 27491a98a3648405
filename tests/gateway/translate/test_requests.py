"""Requests from one API to another: golden pairs, marks, order, and what has no counterpart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache_gateway.errors import ApiError
from promptcache_gateway.translate.chat_to_messages import chat_to_messages
from promptcache_gateway.translate.flavor import BY_BLOCKS, ENGINE, LENIENT, STRICT, Flavor, flavor_of
from promptcache_gateway.translate.messages_to_chat import message_path, messages_to_chat, refuse_begun

CASES = Path(__file__).parents[2] / "cases"
MARK = {"type": "ephemeral"}
SCHEMA = {"type": "object", "properties": {"z": {"type": "string"}, "a": {"type": "integer"}}}
PIXEL = "iVBORw0KGgo="

ANTHROPIC: dict[str, Any] = {
    "model": "alias",
    "max_tokens": 100,
    "system": [
        {"type": "text", "text": "You are terse."},
        {"type": "text", "text": "Rules.", "cache_control": MARK},
    ],
    "tools": [{"name": "t", "description": "d", "input_schema": SCHEMA, "cache_control": MARK}],
    "tool_choice": {"type": "tool", "name": "t", "disable_parallel_tool_use": True},
    "stop_sequences": ["END"],
    "temperature": 0.5,
    "stream": True,
    "metadata": {"user_id": "u"},
    "messages": [
        {"role": "user", "content": "Hi"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "sig"},
                {"type": "text", "text": "Looking."},
                {"type": "tool_use", "id": "c1", "name": "t", "input": {"z": "é", "a": 1}},
                {"type": "tool_use", "id": "c2", "name": "t", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "one"},
                {
                    "type": "tool_result",
                    "tool_use_id": "c2",
                    "content": [
                        {"type": "text", "text": "two"},
                        {
                            "type": "image",
                            "source": {"type": "base64", "media_type": "image/png", "data": PIXEL},
                        },
                    ],
                    "cache_control": MARK,
                },
                {"type": "text", "text": "And?", "cache_control": MARK},
            ],
        },
    ],
}
CHAT: dict[str, Any] = {
    "model": "m",
    "tools": [
        {
            "type": "function",
            "function": {"name": "t", "description": "d", "parameters": SCHEMA},
            "cache_control": MARK,
        }
    ],
    "tool_choice": {"type": "function", "function": {"name": "t"}},
    "parallel_tool_calls": False,
    "max_tokens": 100,
    "stop": ["END"],
    "stream": True,
    "stream_options": {"include_usage": True},
    "temperature": 0.5,
    "messages": [
        {
            "role": "system",
            "content": [
                {"type": "text", "text": "You are terse."},
                {"type": "text", "text": "Rules.", "cache_control": MARK},
            ],
        },
        {"role": "user", "content": "Hi"},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "Looking."}],
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "t", "arguments": '{"z":"é","a":1}'}},
                {"id": "c2", "type": "function", "function": {"name": "t", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {
            "role": "tool",
            "tool_call_id": "c2",
            "content": [{"type": "text", "text": "two", "cache_control": MARK}],
        },
        {
            "role": "user",
            "content": [
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
                {"type": "text", "text": "And?", "cache_control": MARK},
            ],
        },
    ],
}


def test_anthropic_to_chat() -> None:
    translated = messages_to_chat(ANTHROPIC, "m", LENIENT)
    assert translated == CHAT
    assert list(translated) == list(CHAT), "tools first and messages last, whatever the caller's order"


def test_a_strict_server_gets_no_marks_and_its_own_limit() -> None:
    translated = messages_to_chat({**ANTHROPIC, "top_k": 3}, "m", STRICT)
    assert "cache_control" not in json.dumps(translated)
    assert (translated["max_completion_tokens"], "top_k" in translated) == (100, False)
    assert messages_to_chat({**ANTHROPIC, "top_k": 3}, "m", ENGINE)["top_k"] == 3


def test_what_this_api_does_not_know_is_the_upstream_s() -> None:
    assert messages_to_chat({**ANTHROPIC, "cache_salt": "s"}, "m", LENIENT)["cache_salt"] == "s"
    assert chat_to_messages({"messages": [], "top_k": 2, "thinking": {"type": "x"}}, "m")["top_k"] == 2
    assert "temperature" not in chat_to_messages({"messages": [], "temperature": None}, "m")


@pytest.mark.parametrize(
    ("kind", "url", "flavor"),
    [
        ("engine", "", ENGINE),
        ("openai", "https://api.openai.com/v1", STRICT),
        ("openai", "https://x.openai.azure.com/v1", STRICT),
        ("openai", "http://127.0.0.1:8000/v1", LENIENT),
        ("openai", "https://notopenai.com/v1", LENIENT),
        ("anthropic", "https://api.anthropic.com", BY_BLOCKS),
    ],
)
def test_flavors(kind: str, url: str, flavor: object) -> None:
    assert flavor_of(kind, url, "m") == flavor


def test_our_own_thoughts_go_back_and_others_do_not() -> None:
    content = [
        {"type": "thinking", "thinking": "mine", "signature": ""},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "text", "text": "a"},
    ]
    chat = messages_to_chat({"messages": [{"role": "assistant", "content": content}]}, "m", LENIENT)
    assert chat["messages"] == [
        {"role": "assistant", "content": [{"type": "text", "text": "a"}], "reasoning_content": "mine"}
    ]


def test_documents_and_formats() -> None:
    content = [
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "T"}},
        {
            "type": "document",
            "title": "a.pdf",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "JV"},
        },
        {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}},
    ]
    body = {
        "messages": [{"role": "user", "content": content}],
        "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
    }
    chat = messages_to_chat(body, "m", LENIENT)
    assert chat["messages"][0]["content"] == [
        {"type": "text", "text": "T"},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JV"}},
        {"type": "image_url", "image_url": {"url": "https://x/y.png"}},
    ]
    assert chat["response_format"]["json_schema"]["schema"] == SCHEMA
    back = chat_to_messages(chat, "m")
    assert back["messages"][0]["content"][1:] == [content[1], content[2]]
    assert back["output_config"] == body["output_config"]


def test_what_both_apis_know_is_said_in_the_other_s_words() -> None:
    tool = {"name": "t", "input_schema": SCHEMA, "strict": True}
    config = {"effort": "high"}
    form = {"type": "json_schema", "schema": SCHEMA}
    asked = {"messages": [], "tools": [tool], "output_config": config, "output_format": form}
    chat = messages_to_chat(asked, "m", LENIENT)
    assert chat["tools"][0]["function"]["strict"] is True
    assert (chat["reasoning_effort"], chat["response_format"]["json_schema"]["schema"]) == ("high", SCHEMA)
    back = chat_to_messages(chat, "m")
    assert (back["tools"], back["output_config"]) == ([tool], {"effort": "high", "format": form})
    assert "reasoning_effort" not in messages_to_chat(asked, "m", ENGINE), "it has none"
    for effort in ("xhigh", "max"):
        said = chat_to_messages({"messages": [], "reasoning_effort": effort}, "m")
        assert said["output_config"] == {"effort": effort}
    unthinking = chat_to_messages({"messages": [], "reasoning_effort": "none"}, "m")
    assert (unthinking["thinking"], "output_config" in unthinking) == ({"type": "disabled"}, False)
    loose = chat_to_messages(
        {"messages": [], "tools": [{"type": "function", "function": {**tool, "strict": False}}]}, "m"
    )
    assert "strict" not in loose["tools"][0]


@pytest.mark.parametrize("flavor", [LENIENT, ENGINE, STRICT])
def test_the_beginning_of_an_answer_is_gone_on_with_or_refused(flavor: Flavor) -> None:
    begun = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "He"}]}
    chat = messages_to_chat(begun, "m", flavor)
    asked = {name: chat[name] for name in ("continue_final_message", "add_generation_prompt") if name in chat}
    if flavor is LENIENT:
        assert asked == {"continue_final_message": True, "add_generation_prompt": False}
        refuse_begun(begun, flavor)
        own = messages_to_chat({**begun, "continue_final_message": False}, "m", flavor)
        assert own["continue_final_message"] is False
    else:
        assert asked == {}
        with pytest.raises(ApiError, match=r"messages\[1\]"):
            refuse_begun(begun, flavor)
    ended = {"messages": begun["messages"] + begun["messages"][:1]}
    refuse_begun(ended, flavor)
    assert "continue_final_message" not in messages_to_chat(ended, "m", flavor)


@pytest.mark.parametrize(
    ("data", "source"),
    [
        ("w6k=", {"type": "text", "media_type": "text/plain", "data": "é"}),
        ("gA==", {"type": "base64", "media_type": "text/plain", "data": "gA=="}),
        ("?", {"type": "base64", "media_type": "text/plain", "data": "?"}),
    ],
)
def test_a_plain_text_s_file_is_a_document_as_it_reads(data: str, source: dict[str, str]) -> None:
    """Anthropic takes no text in Base64; what is none is for it to refuse."""
    part = {"type": "file", "file": {"file_data": f"data:text/plain;charset=utf-8;base64,{data}"}}
    (turn,) = chat_to_messages({"messages": [{"role": "user", "content": [part]}]}, "m")["messages"]
    assert turn["content"] == [{"type": "document", "source": source}]


@pytest.mark.parametrize(
    ("edits", "refused"),
    [
        ([{"type": "clear_thinking_20251015", "keep": "all"}], False),
        ([], False),
        ([{"type": "clear_thinking_20251015"}, {"type": "clear_tool_uses_20250919"}], True),
        ([{"type": "compact_20260112"}], True),
        ([None], True),
        (None, True),
    ],
)
def test_of_a_context_only_thoughts_may_be_cut(edits: Any, refused: bool) -> None:
    """They are not sent; to cut anything else would be another prompt."""
    asked = {"messages": [{"role": "user", "content": "Hi"}], "context_management": {"edits": edits}}
    if refused:
        with pytest.raises(ApiError, match="'context_management'"):
            messages_to_chat(asked, "m", LENIENT)
    else:
        assert set(messages_to_chat(asked, "m", LENIENT)) == {"model", "messages"}


def test_results_come_first_behind_their_calls() -> None:
    """A chat lets an instruction stand between; Anthropic refuses results behind a text."""
    calls = [
        {"id": f"c{n}", "type": "function", "function": {"name": "t", "arguments": "{}"}} for n in (1, 2)
    ]
    messages = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "system", "content": "Mind."},
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "tool", "tool_call_id": "c2", "content": "two"},
    ]
    last = chat_to_messages({"messages": messages}, "m")["messages"][-1]
    assert [block.get("content") or block["text"] for block in last["content"]] == ["one", "two", "Mind."]


def test_results_in_several_messages_are_all_right_behind_their_calls() -> None:
    """Anthropic takes neighbours of one role for one turn; a chat refuses what stands between its results."""
    image = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
    uses = [{"type": "tool_use", "id": name, "name": "t", "input": {}} for name in ("c1", "c2")]
    shown, told = ({"type": "tool_result", "tool_use_id": name, "content": "r"} for name in ("c1", "c2"))
    asked = {
        "messages": [
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": uses},
            {"role": "user", "content": [{**shown, "content": [image]}]},
            {"role": "system", "content": "Mind."},
            {"role": "user", "content": [told]},
        ]
    }
    chat = messages_to_chat(asked, "m", LENIENT)["messages"]
    assert [turn["role"] for turn in chat] == ["user", "assistant", "tool", "tool", "user", "system"]
    assert [turn["tool_call_id"] for turn in chat[2:4]] == ["c1", "c2"]
    for number, place in enumerate(["0", "1", "2.content.0", "4.content.0", "2", "3"]):
        assert message_path(f"messages[{number}]", asked, LENIENT) == f"messages.{place}"


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"messages": "x"}, "messages"),
        ({"messages": [3]}, "messages[0]"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": [{"type": "search_result"}]}]}, "messages[0].content[0]"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages[0].content[0].text"),
        ({"messages": [], "tools": [{"type": "web_search_20250305"}]}, "tools[0]"),
        ({"messages": [], "tools": [{}]}, "tools[0].name"),
        ({"messages": [], "tool_choice": {"type": "x"}}, "tool_choice.type"),
        ({"messages": [], "mcp_servers": [{}]}, "mcp_servers"),
        ({"messages": [], "system": [{"type": "text"}]}, "system[0].text"),
        (
            {
                "messages": [
                    {"role": "user", "content": [{"type": "image", "source": {"type": "file", "id": "f"}}]}
                ]
            },
            "messages[0].content[0].source",
        ),
    ],
)
def test_what_cannot_be_said_in_chat_names_its_place(body: dict[str, Any], param: str) -> None:
    with pytest.raises(ApiError) as caught:
        messages_to_chat(body, "m", LENIENT)
    assert (caught.value.status, caught.value.param) == (400, param)


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "messages"),
        ({"messages": [{"role": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]}, "messages[0].content[0]"),
        ({"messages": [{"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]}]},
         "messages[0].content[0].file"),
        ({"messages": [], "n": 2}, "n"),
        ({"messages": [], "logprobs": True}, "logprobs"),
        ({"messages": [], "response_format": {"type": "json_object"}}, "response_format"),
        ({"messages": [], "reasoning_effort": "minimal"}, "reasoning_effort"),
        ({"messages": [], "tools": [{"type": "custom"}]}, "tools[0]"),
        ({"messages": [], "tool_choice": "maybe"}, "tool_choice"),
        ({"messages": [], "modalities": ["text", "audio"]}, "modalities"),
        ({"messages": [], "functions": [{}], "audio": {"voice": "x"}, "logprobs": True}, "logprobs"),
        ({"messages": [{"role": "assistant", "function_call": {"name": "t"}}]}, "messages[0].function_call"),
        ({"messages": [{"role": "assistant", "audio": {"id": "a"}}]}, "messages[0].audio"),
        ({"messages": [{"role": "assistant", "thinking_blocks": ["x"]}]}, "messages[0].thinking_blocks[0]"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages[0].tool_call_id"),
        ({"messages": [{"role": "assistant", "tool_calls": [
            {"id": "c", "function": {"name": "t", "arguments": "[1"}}]}]},
         "messages[0].tool_calls[0].function.arguments"),
    ],
)  # fmt: skip
def test_what_cannot_be_said_in_messages_names_its_place(body: dict[str, Any], param: str) -> None:
    with pytest.raises(ApiError) as caught:
        chat_to_messages(body, "m")
    assert (caught.value.status, caught.value.param) == (400, param)


def test_chat_to_anthropic() -> None:
    translated = chat_to_messages(CHAT, "claude")
    expected = {
        "model": "claude",
        "tools": ANTHROPIC["tools"],
        "tool_choice": ANTHROPIC["tool_choice"],
        "max_tokens": 100,
        "stop_sequences": ["END"],
        "stream": True,
        "temperature": 0.5,
        "system": ANTHROPIC["system"],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
            {"role": "assistant", "content": ANTHROPIC["messages"][1]["content"][1:]},
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": "one"},
                    {
                        "type": "tool_result",
                        "tool_use_id": "c2",
                        "content": [{"type": "text", "text": "two"}],
                        "cache_control": MARK,
                    },
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/png", "data": PIXEL},
                    },
                    {"type": "text", "text": "And?", "cache_control": MARK},
                ],
            },
        ],
    }
    assert translated == expected
    assert list(translated) == list(expected)


def test_what_was_said_instead_of_an_answer_stays_in_the_conversation() -> None:
    refused = {"role": "assistant", "content": None, "refusal": "I will not."}
    asked = {"messages": [{"role": "user", "content": "Hi"}, refused, {"role": "user", "content": "And?"}]}
    roles = [(turn["role"], turn["content"][0]["text"]) for turn in chat_to_messages(asked, "c")["messages"]]
    assert roles == [("user", "Hi"), ("assistant", "I will not."), ("user", "And?")]


def test_what_was_thought_goes_back_as_it_came_whole_or_streamed() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    for told in (thought, {"index": 0, **thought}):
        said = {"role": "assistant", "content": "a", "thinking_blocks": [told]}
        turns = chat_to_messages({"messages": [said]}, "c")["messages"]
        assert turns[0]["content"] == [thought, {"type": "text", "text": "a"}]


@pytest.mark.parametrize(
    ("said", "becomes"),
    [
        ({"tool_choice": "auto"}, {"type": "auto"}),
        ({"tool_choice": "required"}, {"type": "any"}),
        ({"tool_choice": "none"}, {"type": "none"}),
        ({"parallel_tool_calls": False}, {"type": "auto", "disable_parallel_tool_use": True}),
        ({"parallel_tool_calls": False, "tool_choice": "none"}, {"type": "none"}),
        ({"tools": [], "tool_choice": "auto", "parallel_tool_calls": True}, None),
        ({"tools": None, "tool_choice": "none"}, None),
        ({"tools": [], "tool_choice": "required"}, {"type": "any"}),
    ],
)
def test_choices_of_tools(said: dict[str, Any], becomes: dict[str, Any] | None) -> None:
    asked = {"messages": [], "tools": CHAT["tools"], **said}
    assert chat_to_messages(asked, "m").get("tool_choice") == becomes


def test_openai_s_own_breakpoint_becomes_a_mark() -> None:
    part = {"type": "text", "text": "a", "prompt_cache_breakpoint": {"mode": "explicit"}}
    translated = chat_to_messages({"messages": [{"role": "system", "content": [part]}]}, "m")
    assert translated["system"] == [{"type": "text", "text": "a", "cache_control": MARK}]


def test_a_system_message_in_mid_conversation_stays_where_it_stands() -> None:
    """Hoisted to the head, as others do, it would lose the whole cache whenever it changes."""
    folder = CASES / "B038"
    body = json.loads((folder / "openai_in.json").read_text())
    expected = json.loads((folder / "expected.json").read_text())["expected"]
    translated = chat_to_messages(body, "claude-x")
    assert "".join(block["text"] for block in translated["system"]) == expected["anthropic_system_text"]
    last = translated["messages"][-1]
    assert last["role"] == "user"
    assert [block["text"] for block in last["content"]] == ["next", "now=09:31; inbox=3"]


# --- what holds for any conversation ---

TEXTS = st.text(min_size=1, max_size=8)
TURN = st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", "system"]), "content": TEXTS})
TURNS = st.lists(TURN, max_size=8)


@settings(max_examples=60)
@given(TURNS, TURNS)
def test_what_is_appended_changes_nothing_before_it(history: list[Any], more: list[Any]) -> None:
    """A translated conversation that grows has the shorter one's translation as its prefix."""
    first = messages_to_chat({"messages": history}, "m", LENIENT)["messages"]
    second = messages_to_chat({"messages": history + more}, "m", LENIENT)["messages"]
    assert second[: len(first)] == first
    head = [{"role": "user", "content": "q"}]  # a system message at the very head is a head of its own
    earlier = _texts(chat_to_messages({"messages": head + history}, "m"))
    later = _texts(chat_to_messages({"messages": head + history + more}, "m"))
    assert later[: len(earlier)] == earlier


def _texts(body: dict[str, Any]) -> list[tuple[str, str]]:
    blocks = [("system", block["text"]) for block in body.get("system", ())]
    for message in body["messages"]:
        blocks += [(message["role"], block["text"]) for block in message["content"]]
    return blocks


@pytest.mark.parametrize(
    ("there", "here"),
    [
        ("stop", "stop_sequences"),
        ("stop_token_ids", "stop_token_ids"),
        ("reasoning_effort", "output_config.effort"),
        ("response_format.json_schema.schema.properties.stop", "output_config.format.schema.properties.stop"),
        ("tools[1].function.parameters.properties.a", "tools[1].input_schema.properties.a"),
        ("tools[0].function.name", "tools[0].name"),
        ("messages", "messages"),
        ("messages[0].content", "system"),
        ("messages[1]", "messages.0"),
        ("messages[1].role", "messages.0.role"),
        ("messages[1].content[1].image_url.url", "messages.0.content.1"),
        ("messages[1].content[0].text", "messages.0.content.0.text"),
        ("messages[2].content", "messages.1.content"),
        ("messages[2].tool_calls[1].id", "messages.1.content.2.id"),
        ("messages[2].tool_calls[0].function.name", "messages.1.content.0.name"),
        ("messages[2].tool_calls[1].function.arguments", "messages.1.content.2.input"),
        ("messages[2].tool_calls[1].type", "messages.1.content.2"),
        ("messages[3].tool_call_id", "messages.2.content.0.tool_use_id"),
        ("messages[4].tool_call_id", "messages.2.content.2.tool_use_id"),
        ("messages[4].content[0].text", "messages.2.content.2.content"),
        ("messages[5].content[0].text", "messages.2.content"),
        ("messages[6].content", "messages.3.content"),
        ("messages[7].content", "messages"),
        ("messages_x[1]", "messages_x[1]"),
    ],
)
def test_a_fault_is_named_by_its_place_in_what_the_caller_sent(there: str, here: str) -> None:
    image = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
    use, result = {"type": "tool_use", "name": "t", "input": {}}, {"type": "tool_result", "content": "r"}
    payload = {
        "system": "s",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "a"}, image]},
            {
                "role": "assistant",
                "content": [{**use, "id": "c1"}, {"type": "text", "text": "b"}, {**use, "id": "c2"}],
            },
            {
                "role": "user",
                "content": [
                    {**result, "tool_use_id": "c1", "content": [image]},
                    {"type": "text", "text": "c"},
                    {**result, "tool_use_id": "c2"},
                ],
            },
            {"role": "user", "content": "d"},
        ],
    }
    assert message_path(there, payload, LENIENT) == here
