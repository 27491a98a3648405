"""Breakpoints stand where the next request will find them, and the caller's come first."""

from __future__ import annotations

from typing import Any

import pytest

from promptcache.check import check_request
from promptcache.conversation import Conversation
from promptcache.errors import ConversationError, PromptCacheWarning

TOOL: dict[str, Any] = {"name": "f", "input_schema": {"type": "object"}}


def agent() -> Conversation:
    chat = Conversation("Rules.", tools=[TOOL])
    chat.user("go")
    return chat


def paths(chat: Conversation) -> list[tuple[str, str]]:
    return [(point.path, point.reason) for point in chat.breakpoints]


def test_the_first_request_marks_tools_system_and_tail() -> None:
    assert paths(agent()) == [
        ("tools[0]", "tools"),
        ("system[0]", "system"),
        ("messages[0].content[0]", "tail"),
    ]


def test_the_end_of_the_previous_request_stays_marked_however_long_the_turn() -> None:
    chat = agent()
    before = paths(chat)[-1][0]
    calls = [{"type": "tool_use", "id": f"c{i}", "name": "f", "input": {}} for i in range(30)]
    chat.assistant({"type": "message", "role": "assistant", "content": calls})
    for i in range(30):
        chat.tool_result(f"c{i}", "ok")
    assert paths(chat) == [
        ("tools[0]", "tools"),
        ("system[0]", "system"),
        (before, "history"),
        ("messages[2].content[29]", "tail"),
    ]


def test_the_callers_marks_count_first() -> None:
    mine = {**TOOL, "cache_control": {"type": "ephemeral", "ttl": "1h"}}
    others = [{**mine, "name": name} for name in "abc"]
    chat = Conversation("Rules.", tools=others)
    chat.user("go")
    assert paths(chat) == [("system[0]", "system")]
    request = chat.to_anthropic("m")
    assert request["tools"][2]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert "cache_control" not in request["messages"][0]["content"][0]
    plan = chat.plan_breakpoints()
    assert [mark.path for mark in plan.own] == ["tools[0]", "tools[1]", "tools[2]"]
    assert [(left.path, left.reason, left.code) for left in plan.skipped] == [
        ("messages[0].content[0]", "tail", "PC603")
    ]


def marked(text: str, ttl: str | None = None) -> dict[str, Any]:
    mark = {"type": "ephemeral", "ttl": ttl} if ttl else {"type": "ephemeral"}
    return {"type": "text", "text": text, "cache_control": mark}


def test_a_mark_of_the_callers_in_a_turn_is_kept_and_counted() -> None:
    chat = Conversation("Rules.", tools=[TOOL])
    chat.user("see", marked("one"), marked("two"), marked("three"))
    request = chat.to_anthropic("m")
    assert ["cache_control" in block for block in request["messages"][0]["content"]] == [
        False,
        True,
        True,
        True,
    ]
    assert check_request(request).valid
    assert paths(chat) == [("system[0]", "system")]
    assert [left.reason for left in chat.plan_breakpoints().skipped] == ["tools"]


def test_too_many_marks_of_the_callers_are_reported_or_refused() -> None:
    parts = [marked(str(i)) for i in range(5)]
    chat, strict = Conversation("Rules."), Conversation("Rules.", strict=True)
    for one in (chat, strict):
        one.user("see", *parts)
    with pytest.warns(PromptCacheWarning, match="PC603.*5 breakpoints") as caught:
        chat.to_anthropic("m")
    assert caught[0].filename == __file__
    with pytest.raises(ConversationError, match="PC603"):
        strict.to_anthropic("m")


@pytest.mark.parametrize("own", ["5m", "1h", None])
@pytest.mark.parametrize("static_ttl", ["5m", "1h", None])
def test_longer_lifetimes_stand_before_shorter_ones(own: str | None, static_ttl: str | None) -> None:
    behind, before = Conversation("Rules.", tools=[TOOL]), Conversation("Rules.", tools=[marked_tool(own)])
    behind.user("see", marked("one", own), "two")
    before.user("go")
    for chat in (behind, before):
        request = chat.to_anthropic("claude-x", static_ttl=static_ttl)
        assert check_request(request).valid, request
    ttl = behind.to_anthropic("claude-x", static_ttl=static_ttl)["system"][0]["cache_control"].get("ttl")
    assert ttl == ("1h" if "1h" in {own, static_ttl} else None)


def marked_tool(ttl: str | None) -> dict[str, Any]:
    return {**TOOL, "cache_control": marked("", ttl)["cache_control"]}


def test_a_lifetime_nobody_offers_is_refused() -> None:
    with pytest.raises(ConversationError, match="offers no lifetime '2h'"):
        agent().to_anthropic("m", static_ttl="2h")
    with pytest.raises(ConversationError, match="claude-opus-5 offers no lifetime '12h'"):
        agent().to_anthropic("claude-opus-5", static_ttl="12h")


def test_what_is_surely_too_short_gets_no_mark() -> None:
    chat = Conversation("Rules.", tools=[TOOL])
    chat.user("word " * 600)
    plan = chat.plan_breakpoints("claude-opus-5")
    assert [point.reason for point in plan.points] == ["tail"]
    assert [(left.path, left.code) for left in plan.skipped] == [
        ("system[0]", "PC604"),
        ("tools[0]", "PC604"),
    ]
    assert "below 512 tokens" in plan.skipped[0].why
    assert len(chat.plan_breakpoints("claude-unheard-of-9").points) == 3
    assert "cache_control" not in chat.to_anthropic("claude-opus-5")["system"][0]
    assert [point.reason for point in chat.plan_breakpoints("claude-opus-4-5").points] == []


def test_a_long_turn_without_room_for_the_bridge_is_reported() -> None:
    chat = Conversation("Rules.")
    chat.user("go", marked("one"), marked("two"))
    answer_many(chat, 30)
    plan = chat.plan_breakpoints()
    assert [point.reason for point in plan.points] == ["system", "tail"]
    assert [(left.reason, left.code) for left in plan.skipped] == []
    chat = Conversation("Rules.")
    chat.user("go", marked("one"), marked("two"), "three")
    answer_many(chat, 30)
    assert [(left.reason, left.code) for left in chat.plan_breakpoints().skipped] == [("history", "PC605")]
    chat = Conversation("Rules.")
    chat.user("go", marked("one"), marked("two"), "three")
    answer_many(chat, 2)
    assert [(left.reason, left.code) for left in chat.plan_breakpoints().skipped] == [("history", "PC603")]


def answer_many(chat: Conversation, count: int) -> None:
    calls = [{"type": "tool_use", "id": f"c{i}", "name": "f", "input": {}} for i in range(count)]
    chat.assistant({"type": "message", "role": "assistant", "content": calls})
    for i in range(count):
        chat.tool_result(f"c{i}", "ok")


@pytest.mark.parametrize("steps", range(1, 6))
def test_each_request_marks_where_the_one_before_ended(steps: int) -> None:
    chat = agent()
    for _ in range(steps):
        ended = [point.path for point in chat.breakpoints if point.reason == "tail"]
        answer_many(chat, 25)
        assert ended == [point.path for point in chat.breakpoints if point.reason == "history"]
        chat.note("go on")
        chat.user("and on")
        assert ended == [point.path for point in chat.breakpoints if point.reason == "history"]


LONG = "Be kind to everybody. " * 300


@pytest.mark.parametrize("model", ["gpt-5.6", "openai/gpt-6", "gpt-6.1-sol-2026-10-01"])
def test_openai_models_that_take_marks_get_one_at_the_end_of_the_static_part(model: str) -> None:
    chat = Conversation(LONG, tools=[TOOL])
    chat.user("Hi")
    (part,) = chat.to_openai(model)["messages"][0]["content"]
    assert part == {"type": "text", "text": LONG, "prompt_cache_breakpoint": {"mode": "explicit"}}
    request = chat.to_responses(model)
    assert "instructions" not in request
    assert request["input"][0] == {
        "role": "developer",
        "content": [{**part, "type": "input_text"}],
    }
    assert str(request).count("prompt_cache_breakpoint") == 1
    unmarked = chat.to_openai(model, mark=False)["messages"][0]["content"]
    assert unmarked == [{"type": "text", "text": LONG}]
    short = Conversation("Be kind.")
    short.user("Hi")
    assert short.to_openai(model)["messages"][0]["content"] == [{"type": "text", "text": "Be kind."}]
    empty = Conversation()
    empty.user("Hi")
    assert len(empty.to_openai(model)["messages"]) == len(empty.to_responses(model)["input"]) == 1


def own_marks(count: int, *, strict: bool = False) -> Conversation:
    chat = Conversation(LONG, strict=strict)
    mark = {"prompt_cache_breakpoint": {"mode": "explicit"}}
    chat.user("Hi", *[{"type": "text", "text": f"{n}", **mark} for n in range(count)])
    return chat


@pytest.mark.parametrize("form", ["to_openai", "to_responses"])
@pytest.mark.parametrize(("mode", "most"), [("implicit", 3), ("explicit", 4)])
def test_openai_marks_of_the_callers_own_are_counted(form: str, mode: str, most: int) -> None:
    def sent(count: int) -> int:
        request = getattr(own_marks(count), form)("gpt-5.6", prompt_cache_options={"mode": mode})
        assert check_request(request).valid is (count <= most)
        return str(request).count("prompt_cache_breakpoint")

    assert sent(most - 1) == most
    with pytest.warns(PromptCacheWarning, match=f"PC602: .* all {most} are set by hand") as told:
        assert sent(most) == most
    assert told[0].filename == __file__
    with pytest.warns(PromptCacheWarning, match="PC603") as told:
        assert sent(most + 1) == most + 1
    assert (len(told), told[0].filename) == (1, __file__)
    with pytest.raises(ConversationError, match="PC603"):
        getattr(own_marks(5, strict=True), form)("gpt-5.6")


@pytest.mark.parametrize("model", ["gpt-5", "gpt-4o", "qwen3", "unheard-of", "gpt-5-7"])
def test_no_other_model_gets_one(model: str) -> None:
    chat = Conversation(LONG)
    chat.user("Hi")
    assert chat.to_openai(model)["messages"][0] == {"role": "system", "content": LONG}
    assert chat.to_responses(model)["instructions"] == LONG


def test_openai_takes_the_requests_we_write_for_it() -> None:
    from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
    from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
    from pydantic import TypeAdapter

    chat = Conversation(LONG, tools=[TOOL], template="t")
    chat.user("Hi", "and this")
    answer_many(chat, 1)
    chat.add_tools([{**TOOL, "name": "g"}])
    chat.mask_tools("f")
    for form, types in (
        (chat.to_openai, CompletionCreateParamsNonStreaming),
        (chat.to_responses, ResponseCreateParamsNonStreaming),
    ):
        request = form("gpt-5.6")
        request.pop("extra_headers")
        adapter: TypeAdapter[Any] = TypeAdapter(types)
        assert adapter.validate_python(request)["model"] == "gpt-5.6"


def test_an_empty_conversation_has_nothing_to_mark() -> None:
    assert Conversation().breakpoints == ()
    assert Conversation("Rules.").to_anthropic("m")["messages"] == []
