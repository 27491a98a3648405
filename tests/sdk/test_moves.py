"""Steps that move the prefix are rare, whole, priced, and forbidden where a conversation is strict."""

from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache.conversation import Conversation
from promptcache.errors import ConversationError, PrefixMoveError
from tests.sdk.answers import openai_completion

if TYPE_CHECKING:
    from pathlib import Path

SEARCH = {"name": "search", "input_schema": {"type": "object", "properties": {"z": {}, "a": {}}}}
WRITE = {"type": "function", "function": {"name": "write", "parameters": {"type": "object"}}}


def words(text: str) -> int:
    return len(text.split())


def talk(turns: int, *, strict: bool = False, size: int = 10) -> Conversation:
    chat = Conversation("Be very kind.", tools=[SEARCH], strict=strict, count_tokens=words)
    for turn in range(turns):
        chat.user(" ".join([f"q{turn}"] * size))
        chat.assistant(" ".join([f"a{turn}"] * size))
    return chat


def contents(chat: Conversation) -> list[Any]:
    return [message["content"] for message in chat.to_openai("m")["messages"]]


def test_trimming_waits_and_then_drops_whole_turns_at_once() -> None:
    chat = talk(4)
    before = chat.to_openai("m")
    assert chat.tokens == 84
    move = chat.trim(to_tokens=50, at_tokens=84)
    assert not move.moved
    assert (move.kept, move.lost, move.dropped) == (84, 0, 0)
    assert chat.to_openai("m") == before
    chat.user("one more")
    move = chat.trim(to_tokens=50, at_tokens=84)
    assert (move.code, move.kept, move.lost, move.dropped, move.added) == ("PC501", 4, 42, 40, 0)
    assert not move.estimated
    assert contents(chat)[1] == " ".join(["q2"] * 10)
    assert chat.to_openai("m")["messages"][1:] == [
        *before["messages"][5:],
        {"role": "user", "content": "one more"},
    ]
    assert not chat.trim(to_tokens=50, at_tokens=84).moved


def test_trimming_never_parts_calls_from_results_nor_drops_the_newest_turn() -> None:
    chat = Conversation(count_tokens=words)
    chat.user("first " * 10)
    chat.assistant(openai_completion(None, ("c1", "f", "{}")))
    chat.tool_result("c1", "long " * 50)
    chat.assistant("done")
    chat.note("something")
    chat.user("second " * 40)
    move = chat.trim(to_tokens=5, at_tokens=20)
    assert [message["role"] for message in chat.to_openai("m")["messages"]] == ["user", "user"]
    assert move.lost == 42
    assert not chat.trim(to_tokens=5, at_tokens=20).dropped


@settings(max_examples=60)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=12), st.integers(1, 60), st.integers(1, 60))
def test_after_trimming_there_is_room_again(sizes: list[int], low: int, room: int) -> None:
    chat = Conversation("Be kind.", count_tokens=words)
    for size in sizes:
        chat.user("word " * size)
        chat.assistant("yes")
    total, newest = chat.tokens, sizes[-1] + 1
    move = chat.trim(to_tokens=low, at_tokens=low + room)
    assert move.kept + move.lost == chat.tokens == total - move.dropped
    if total > low + room:
        assert chat.tokens <= max(low, 2 + newest)
        if move.dropped:  # no more was dropped than needed
            first = sizes[len(sizes) - len(chat) // 2 - 1] + 1
            assert chat.tokens + first > low
    else:
        assert not move.moved


@pytest.mark.parametrize(("to_tokens", "at_tokens"), [(10, 10), (0, 10), (20, 10)])
def test_a_trim_without_room_is_refused(to_tokens: int, at_tokens: int) -> None:
    with pytest.raises(ConversationError, match="at every turn or never"):
        talk(2).trim(to_tokens=to_tokens, at_tokens=at_tokens)


def test_a_date_that_was_dropped_is_told_again() -> None:
    chat = Conversation(count_tokens=words)
    chat.today(date(2031, 3, 4))
    chat.user("word " * 20)
    chat.assistant("yes")
    assert not chat.today(date(2031, 3, 4))
    chat.user("word " * 20)
    chat.trim(to_tokens=10, at_tokens=30)
    assert chat.today(date(2031, 3, 4))


def test_compaction_keeps_tools_and_system_prompt_and_says_what_it_costs() -> None:
    chat = talk(3)
    before = chat.to_openai("m")
    move = chat.compact("They said q0 and q1.", keep_turns=1)
    after = chat.to_openai("m")
    assert (move.code, move.kept, move.lost, move.dropped) == ("PC506", 4, 20, 40)
    assert move.added == words("<summary> They said q0 and q1. </summary>")
    assert after["tools"] == before["tools"]
    assert after["messages"] == [
        before["messages"][0],
        {"role": "user", "content": "<summary>\nThey said q0 and q1.\n</summary>"},
        *before["messages"][-2:],
    ]
    with pytest.raises(ConversationError, match="summary is empty"):
        chat.compact(" ")


def test_the_request_for_a_summary_reads_the_whole_cache() -> None:
    chat = talk(3)
    asking = chat.fork()
    asking.user("Summarize what was said.")
    old, new = (json.dumps(one.to_openai("m")).removesuffix("]}") for one in (chat, asking))
    assert new.startswith(old)


def test_tools_that_come_later_stand_behind_the_first() -> None:
    chat = Conversation("Be very kind.", tools=[WRITE], count_tokens=words)
    chat.user("Hi there")
    chat.assistant("Hello")
    move = chat.add_tools([SEARCH])
    assert (move.code, move.lost) == ("PC302", 6)
    assert move.added == words(json.dumps(SEARCH, separators=(",", ":")))
    names = [tool["function"]["name"] for tool in chat.to_openai("m")["tools"]]
    assert names == ["write", "search"]
    assert [tool["name"] for tool in chat.to_anthropic("m")["tools"]] == names
    assert [
        tool["name"] for tool in chat.to_gemini("m")["config"]["tools"][0]["functionDeclarations"]
    ] == names
    again = {**SEARCH, "input_schema": {"properties": {"a": {}, "z": {}}, "type": "object"}}
    assert not chat.add_tools([again, WRITE]).moved
    properties = chat.to_openai("m")["tools"][1]["function"]["parameters"]["properties"]
    assert list(properties) == ["z", "a"]
    with pytest.raises(ConversationError, match="'search' has another definition"):
        chat.add_tools([{**SEARCH, "description": "new"}])


def test_at_responses_a_later_tool_moves_nothing() -> None:
    chat = Conversation("Be very kind.", tools=[WRITE])
    chat.user("Hi")
    before = json.dumps(chat.to_responses("m")).removesuffix("]}")
    chat.add_tools([SEARCH])
    chat.user("Go on")
    after = chat.to_responses("m")
    assert json.dumps(after).startswith(before)
    assert after["input"][1]["type"] == "additional_tools"
    assert [tool["name"] for tool in after["input"][1]["tools"]] == ["search"]


def test_tools_survive_the_turn_they_came_in() -> None:
    chat = talk(2)
    chat.add_tools([WRITE])
    before = chat.to_openai("m")["tools"]
    chat.user("short")
    chat.assistant("yes")
    chat.user("next " * 30)
    chat.trim(to_tokens=10, at_tokens=40)
    assert len(chat) == 1
    assert chat.to_openai("m")["tools"] == before
    assert [tool["name"] for tool in chat.to_responses("m")["tools"]] == ["search", "write"]


def test_masked_tools_stay_defined() -> None:
    chat = Conversation("Be kind.", tools=[SEARCH, WRITE])
    chat.user("Hi")
    before = {form: getattr(chat, form)("m") for form in ("to_openai", "to_responses", "to_anthropic")}
    chat.mask_tools("write")
    chat.mask_tools("write")
    assert contents(chat)[-1] == "[note: Do not call these tools now: write.]"
    assert len(chat) == 2
    for form, request in before.items():
        assert getattr(chat, form)("m").get("tools") == request.get("tools")
        assert "tool_choice" not in getattr(chat, form)("m")
    chat_choice = chat.to_openai("gpt-5")["tool_choice"]["allowed_tools"]
    assert chat_choice == {"mode": "auto", "tools": [{"type": "function", "function": {"name": "search"}}]}
    assert chat.to_responses("gpt-5")["tool_choice"]["tools"] == [{"type": "function", "name": "search"}]
    calling = chat.to_gemini("gemini-3-pro")["config"]["toolConfig"]["functionCallingConfig"]
    assert calling == {"mode": "VALIDATED", "allowedFunctionNames": ["search"]}
    assert chat.to_openai("gpt-5", tool_choice="none")["tool_choice"] == "none"
    chat.mask_tools("write", "search")
    assert chat.to_openai("gpt-5")["tool_choice"] == "none"
    chat.mask_tools()
    assert "tool_choice" not in chat.to_openai("gpt-5")
    assert contents(chat)[-1] == "[note: All tools may be called again.]"
    own = Conversation(tools=[SEARCH, WRITE, {"type": "web_search"}, {"googleSearch": {}}])
    own.mask_tools("write")
    named = own.to_responses("gpt-5")["tool_choice"]["tools"]
    assert {"type": "function", "name": "search"} in named
    assert {"type": "web_search"} in named
    calling = own.to_gemini("gemini-3-pro")["config"]["toolConfig"]["functionCallingConfig"]
    assert calling["allowedFunctionNames"] == ["search"]
    with pytest.raises(ConversationError, match="no tool 'paint'"):
        chat.mask_tools("paint")


MASKED = "[note: Do not call these tools now: write.]"


def test_a_mask_is_said_again_when_its_note_was_dropped() -> None:
    def masked() -> Conversation:
        chat = Conversation("Be kind.", tools=[SEARCH, WRITE], count_tokens=words)
        chat.user("Hi there")
        chat.mask_tools("write")
        chat.assistant("Hello you")
        chat.user("And now the last one")
        return chat

    chat = masked()
    move = chat.compact("short", keep_turns=1)
    assert contents(chat)[1:] == ["<summary>\nshort\n</summary>", MASKED, "And now the last one"]
    assert move.added == 3 + words(MASKED)
    chat.mask_tools("write")
    assert contents(chat).count(MASKED) == 1
    chat.mask_tools()
    assert contents(chat)[-1] == "[note: All tools may be called again.]"
    chat = masked()
    before = chat.tokens
    move = chat.trim(to_tokens=before - 2, at_tokens=before - 1)
    assert contents(chat)[1:] == [MASKED, "And now the last one"]
    assert chat.tokens == move.kept + move.lost + move.added
    kept = masked()
    kept.compact("short", keep_turns=2)
    assert contents(kept).count(MASKED) == 1


def test_a_trim_that_drops_nothing_moves_nothing() -> None:
    chat = Conversation("Rules.", strict=True, count_tokens=len)
    assert not chat.trim(to_tokens=1, at_tokens=2).moved
    chat.user("x" * 100)
    move = chat.trim(to_tokens=10, at_tokens=20)
    assert (move.moved, move.lost, move.kept) == (False, 0, chat.tokens)
    assert len(chat) == 1


def test_a_strict_conversation_moves_its_prefix_never() -> None:
    chat = talk(4, strict=True)
    before = json.dumps(chat.to_openai("m"))
    steps = [
        lambda: chat.trim(to_tokens=20, at_tokens=40),
        lambda: chat.compact("short", keep_turns=1),
        lambda: chat.add_tools([WRITE]),
    ]
    for step in steps:
        with pytest.raises(PrefixMoveError, match="would move the prefix") as caught:
            step()
        assert caught.value.move.lost > 0
        assert caught.value.remedy
    assert json.dumps(chat.to_openai("m")) == before
    assert not chat.trim(to_tokens=20, at_tokens=400).moved
    assert not chat.add_tools([SEARCH]).moved
    with pytest.raises(PrefixMoveError):
        chat.fork().compact("short")


def test_moves_and_open_calls(tmp_path: Path) -> None:
    chat = Conversation(tools=[SEARCH])
    chat.user("go " * 100)
    chat.assistant(openai_completion(None, ("c1", "search", "{}"), ("c2", "search", "{}")))
    chat.tool_result("c2", "second")
    for step in (lambda: chat.trim(to_tokens=1, at_tokens=2), lambda: chat.compact("x")):
        with pytest.raises(ConversationError, match="without a result: c1"):
            step()
    chat.save(tmp_path / "chat.json")
    again = Conversation.load(tmp_path / "chat.json")
    again.tool_result("c1", "first")
    assert contents(again)[-2:] == ["first", "second"]


def test_everything_survives_saving(tmp_path: Path) -> None:
    chat = Conversation("Be kind.", tools=[SEARCH], template="t", tenant="acme", requests_per_minute=90)
    chat.user("Hi")
    chat.add_tools([WRITE])
    chat.mask_tools("search")
    schema = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"b": 1, "a": 2}}}
    chat.to_openai("gpt-5", response_format=schema)
    chat.save(tmp_path / "chat.json")
    again = Conversation.load(tmp_path / "chat.json")
    other = {"json_schema": {"schema": {"a": 2, "b": 1}, "name": "x"}, "type": "json_schema"}
    for model in ("gpt-5", "m"):
        one = chat.to_openai(model, response_format=schema)
        assert json.dumps(again.to_openai(model, response_format=other)) == json.dumps(one)
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "chat.json").read_bytes()


def test_estimates_say_that_they_are() -> None:
    chat = Conversation("x" * 400)
    chat.user("y" * 41)
    chat.user("see", b"\xff\xd8\xffa", "z" * 8)
    assert chat.tokens == 100 + 11 + 1 + 2 + 1000
    assert chat.trim(to_tokens=1, at_tokens=10**6).estimated
