"""A conversation only grows: what was sent stays, what changes comes last."""

from __future__ import annotations

import copy
import json
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import pytest

from promptcache.conversation import Conversation
from promptcache.errors import (
    ConversationError,
    PromptCacheWarning,
    ReplayError,
    StoredConversationError,
    VolatileContentError,
)
from tests.sdk.answers import ARGUMENTS, anthropic_message, openai_completion, responses_output

if TYPE_CHECKING:
    from pathlib import Path

TOOLS = [
    {"name": "search", "input_schema": {"type": "object", "properties": {"z": {}, "a": {}}}},
    {"type": "function", "function": {"name": "edit_file", "parameters": {"type": "object"}}},
]


def test_facts_stand_behind_the_text_and_stay() -> None:
    chat = Conversation("You are a clerk.")
    chat.user(
        "Where is my order?", now=datetime(2031, 3, 4, 18, 4, 11), basket={"b": 1, "a": {2}}, city="Oslo"
    )
    chat.assistant("On its way.")
    chat.user("And now?", now=datetime(2031, 3, 4, 18, 9))
    assert chat.to_openai("m") == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "You are a clerk."},
            {
                "role": "user",
                "content": "Where is my order?\n\n[now: 2031-03-04T18:04:11]\n"
                '[basket: {"a":[2],"b":1}]\n[city: Oslo]',
            },
            {"role": "assistant", "content": "On its way."},
            {"role": "user", "content": "And now?\n\n[now: 2031-03-04T18:09:00]"},
        ],
    }


def test_tools_come_in_order_of_names_with_their_schemas_untouched() -> None:
    one, other = Conversation(tools=TOOLS), Conversation(tools=reversed(TOOLS))
    assert json.dumps(one.to_openai("m")) == json.dumps(other.to_openai("m"))
    assert one.prefix_hash == other.prefix_hash
    names = [tool["function"]["name"] for tool in one.to_openai("m")["tools"]]
    assert names == ["edit_file", "search"]
    assert list(one.to_openai("m")["tools"][1]["function"]["parameters"]["properties"]) == ["z", "a"]
    kept = Conversation(tools=TOOLS, sort_tools=False).to_anthropic("m")["tools"]
    assert [tool["name"] for tool in kept] == ["search", "edit_file"]


def test_context_is_part_of_the_static_text() -> None:
    chat = Conversation("Rules.", context={"kb": "Facts.", "hours": {"open": 9, "close": 18}})
    assert chat.to_responses("m")["instructions"] == (
        'Rules.\n\n<hours>\n{"close":18,"open":9}\n</hours>\n\n<kb>\nFacts.\n</kb>'
    )


def test_a_request_may_be_changed_without_harm() -> None:
    chat = Conversation("Rules.", tools=TOOLS)
    chat.user("Hi", "more")
    chat.assistant(openai_completion("x", ("c", "search", "{}")))
    chat.tool_result("c", "ok")
    before = json.dumps(chat.to_openai("m"))
    request = chat.to_openai("m")
    request["messages"][1]["content"].clear()
    request["messages"][2]["tool_calls"].clear()
    request["tools"][0]["function"].clear()
    assert json.dumps(chat.to_openai("m")) == before


def test_tool_arguments_are_replayed_byte_for_byte() -> None:
    chat = Conversation()
    chat.user("Edit it")
    chat.assistant(openai_completion(None, ("c7", "edit_file", ARGUMENTS)))
    chat.tool_result("c7", "ok")
    answer = chat.to_openai("m")["messages"][1]
    assert answer["tool_calls"][0]["function"]["arguments"] == ARGUMENTS
    assert set(answer) == {"role", "content", "tool_calls"}
    call = chat.to_responses("m")["input"][1]
    assert (call["call_id"], call["arguments"]) == ("c7", ARGUMENTS)
    assert list(chat.to_anthropic("m")["messages"][1]["content"][0]["input"]) == ["path", "n", "edits"]


def test_anthropic_answers_keep_thinking_and_signatures() -> None:
    blocks = [
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "text", "text": "Let me look.\n"},
        {"type": "tool_use", "id": "t1", "name": "search", "input": {"z": 1, "a": [1.0]}},
    ]
    chat = Conversation()
    chat.user("Find it")
    chat.assistant(anthropic_message(*blocks))
    chat.tool_result("t1", {"b": 1, "a": 2})
    messages = chat.to_anthropic("m", mark=False)["messages"]
    assert messages[1] == {"role": "assistant", "content": blocks}
    result = {
        "type": "tool_result",
        "tool_use_id": "t1",
        "content": [{"type": "text", "text": '{"a":2,"b":1}'}],
    }
    assert messages[2] == {"role": "user", "content": [result]}
    assert chat.to_openai("m")["messages"][1] == {
        "role": "assistant",
        "content": "Let me look.\n",
        "tool_calls": [
            {"id": "t1", "type": "function", "function": {"name": "search", "arguments": '{"z":1,"a":[1.0]}'}}
        ],
    }


def test_responses_output_keeps_reasoning_items() -> None:
    items = [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "abc"},
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Hello", "annotations": []}],
        },
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "search", "arguments": '{"q": 1}'},
    ]
    chat = Conversation()
    chat.user("Hi")
    chat.assistant(responses_output(*items))
    chat.tool_result("c1", "ok")
    assert chat.to_responses("m")["input"][1:4] == items
    assert chat.to_openai("m")["messages"][1]["content"] == "Hello"


@pytest.mark.parametrize(
    "answer",
    [
        {"role": "assistant", "content": "Rain\n\n"},
        {"choices": [{"message": {"role": "assistant", "content": "Rain\n\n"}}]},
        {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Rain\n\n"}]},
        [{"type": "text", "text": "Rain\n\n"}],
        "Rain\n\n",
        {"output": [{"type": "message", "content": [{"type": "output_text", "text": "Rain\n\n"}]}]},
        openai_completion("Rain\n\n"),
        openai_completion("Rain\n\n").choices[0].message,
    ],
    ids=["message", "completion", "anthropic", "blocks", "text", "responses", "object", "message object"],
)
def test_every_form_of_an_answer_keeps_its_text(answer: Any) -> None:
    chat = Conversation()
    chat.user("Hi")
    chat.assistant(answer)
    assert chat.to_openai("m")["messages"][1]["content"] == "Rain\n\n"
    assert chat.to_anthropic("m", mark=False)["messages"][1]["content"] == [
        {"type": "text", "text": "Rain\n\n"}
    ]


@pytest.mark.parametrize(
    "answer",
    [
        None,
        3,
        [],
        [1],
        {},
        {"role": "user", "content": "x"},
        {"choices": []},
        {"choices": [{"delta": {"content": "x"}}]},
        {"role": "assistant", "content": object()},
        {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": {"a": 1}}}]},
        [{"x": 1}],
    ],
)
def test_what_is_no_answer_is_refused_and_appends_nothing(answer: Any) -> None:
    chat = Conversation()
    chat.user("Hi")
    with pytest.raises(ReplayError) as caught:
        chat.assistant(answer)
    assert caught.value.remedy
    assert len(chat) == 1


def test_parallel_results_keep_the_order_of_the_calls() -> None:
    chat = Conversation()
    chat.user("Both")
    chat.assistant(openai_completion(None, ("c1", "f", "{}"), ("c2", "g", "{}")))
    chat.tool_result("c2", "second", failed=True)
    with pytest.raises(ConversationError, match="without a result: c1"):
        chat.to_openai("m")
    with pytest.raises(ConversationError, match="c1"):
        chat.user("Next")
    with pytest.raises(ConversationError, match="'c2' is waiting"):
        chat.tool_result("c2", "again")
    chat.tool_result("c1", "first")
    assert [message["content"] for message in chat.to_openai("m")["messages"][2:]] == ["first", "second"]
    results = chat.to_anthropic("m", mark=False)["messages"][2]["content"]
    assert [result.get("is_error") for result in results] == [None, True]
    with pytest.raises(ConversationError, match="'c9' is waiting"):
        chat.tool_result("c9", "x")


def test_news_are_appended_and_today_is_told_once_a_day() -> None:
    chat = Conversation("You plan deliveries.")
    assert chat.today(datetime(2031, 3, 4, 23, 58))
    chat.user("What day is it?")
    chat.assistant("Tuesday.")
    assert not chat.today(date(2031, 3, 4))
    before = chat.to_openai("m")["messages"]
    assert chat.today(date(2031, 3, 5))
    chat.note("The office is closed.")
    after = chat.to_openai("m")["messages"]
    assert after[: len(before)] == before
    assert [message["content"] for message in after[len(before) :]] == [
        "[today: 2031-03-05]",
        "[note: The office is closed.]",
    ]


def test_a_fork_shares_the_past_and_not_the_future() -> None:
    chat = Conversation("Rules.", tools=TOOLS, template="support")
    chat.user("Hi")
    chat.assistant("Hello")
    child, twin = chat.fork(), copy.deepcopy(chat)
    child.user("Left")
    chat.user("Right")
    assert child.prefix_hash == chat.prefix_hash == twin.prefix_hash
    assert child.to_openai("m")["messages"][:-1] == chat.to_openai("m")["messages"][:-1]
    assert len(twin) == 2
    assert child.template == "support"


def test_saving_and_loading_changes_no_byte(tmp_path: Path) -> None:
    chat = Conversation("Rules.", tools=TOOLS, context={"kb": "x"}, template="support")
    chat.today(date(2031, 3, 4))
    chat.user("Hi 😀", b"\x89PNG\r\n\x1a\nxx", now=datetime(2031, 3, 4))
    chat.assistant(openai_completion("…", ("c1", "search", ARGUMENTS)))
    chat.tool_result("c1", "\u2028 ok")
    chat.note("x")
    path = tmp_path / "chat.json"
    chat.save(path)
    again = Conversation.load(path)
    for form in ("to_openai", "to_responses", "to_anthropic"):
        assert json.dumps(getattr(again, form)("m")) == json.dumps(getattr(chat, form)("m"))
    assert again.prefix_hash == chat.prefix_hash
    assert not again.today(date(2031, 3, 4))
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["again.json", "chat.json"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "not JSON"),
        ("[]", "no stored conversation"),
        ('{"promptcache_conversation": 99}', "of version 99"),
        ('{"promptcache_conversation": 1}', "a part is missing"),
    ],
)
def test_a_file_that_holds_no_conversation_is_a_clear_error(content: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    with pytest.raises(StoredConversationError, match=words):
        Conversation.load(path)
    with pytest.raises(StoredConversationError, match="No such file"):
        Conversation.load(tmp_path / "nowhere.json")


def test_a_damaged_entry_is_a_clear_error(tmp_path: Path) -> None:
    chat = Conversation("Rules.")
    chat.user("Hi")
    chat.assistant("Hello")
    chat.save(tmp_path / "chat.json")
    good = json.loads((tmp_path / "chat.json").read_text())
    for damage in (
        {"kind": "other"},
        {"kind": "user", "text": 3},
        {"kind": "assistant", "dialect": "text", "payload": "{"},
    ):
        (tmp_path / "bad.json").write_text(json.dumps({**good, "entries": [damage]}))
        with pytest.raises(StoredConversationError):
            Conversation.load(tmp_path / "bad.json")


def test_volatile_static_text_warns_with_its_code() -> None:
    with pytest.warns(PromptCacheWarning, match="PC101.*the system prompt") as caught:
        Conversation("Now: 2031-03-04T18:04:11Z. Be kind.")
    assert caught[0].message.code == "PC101"  # type: ignore[union-attr]
    assert caught[0].filename == __file__
    with pytest.warns(PromptCacheWarning, match="PC102.*the tool 'f'"):
        Conversation(tools=[{"name": "f", "description": "session id: ab12cd34", "input_schema": {}}])
    with pytest.warns(PromptCacheWarning, match="PC109"):
        Conversation("Today is 2031-03-04.")


def test_strictness_raises_and_declared_values_pass() -> None:
    with pytest.raises(VolatileContentError, match="PC101") as caught:
        Conversation("Now: 2031-03-04T18:04:11Z.", strict=True)
    assert caught.value.remedy
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Conversation("Now: 2031-03-04T18:04:11Z.", known_static=["2031-03-04T18:04:11Z"], strict=True)
        Conversation("The fair opens on 2031-03-04. Version 1.2.3 costs 99 EUR.", strict=True)


def test_the_template_travels_as_a_header() -> None:
    chat = Conversation(template="support")
    chat.user("Hi")
    assert chat.to_openai("m")["extra_headers"] == {"x-promptcache-template": "support"}
    own = chat.to_anthropic("m", extra_headers={"x-a": "b"})
    assert own["extra_headers"] == {"x-promptcache-template": "support", "x-a": "b"}
    assert list(own) == ["model", "max_tokens", "extra_headers", "messages"]


def test_what_the_conversation_writes_cannot_be_given() -> None:
    chat = Conversation()
    chat.user("Hi")
    with pytest.raises(ConversationError, match="'messages'"):
        chat.to_openai("m", messages=[])
    with pytest.raises(ConversationError, match="empty"):
        chat.user("")
    with pytest.raises(ConversationError, match=r"tools\[0\] is a str"):
        Conversation(tools=["search"])
    with pytest.raises(ConversationError, match=r"tools\[0\] is not JSON"):
        Conversation(tools=[{"name": object()}])


def test_threads_append_whole_turns() -> None:
    chat = Conversation()
    start = threading.Barrier(4)

    def append(name: int) -> None:
        start.wait()
        for turn in range(50):
            chat.user(f"{name}.{turn}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(append, range(4)))
    texts = [message["content"] for message in chat.to_openai("m")["messages"]]
    assert sorted(texts) == sorted(f"{name}.{turn}" for name in range(4) for turn in range(50))


def test_repr_tells_what_it_is_without_its_text() -> None:
    chat = Conversation("secret", template="support")
    chat.user("secret")
    assert repr(chat) == f"<Conversation 'support': 1 turns, prefix {chat.prefix_hash[:8]}>"
