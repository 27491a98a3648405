"""Breakpoints stand where the next request will find them, and the caller's come first."""

from __future__ import annotations

from typing import Any

from promptcache.conversation import Conversation

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


def test_an_empty_conversation_has_nothing_to_mark() -> None:
    assert Conversation().breakpoints == ()
    assert Conversation("Rules.").to_anthropic("m")["messages"] == []
