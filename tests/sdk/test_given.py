"""What is given wrongly is said at once: the place, the kind and a remedy, and nothing is kept."""

from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

from promptcache.conversation import Conversation
from promptcache.errors import (
    CanonicalJSONError,
    ConversationError,
    PromptCacheError,
    StoredConversationError,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LONE = "a\ud800b"
TOOL = {"name": "f", "input_schema": {"type": "object"}}


def asked() -> Conversation:
    chat = Conversation("Rules.", tools=[TOOL])
    chat.user("Hi")
    return chat


@pytest.mark.parametrize(
    ("make", "place"),
    [
        (lambda: Conversation(LONE), "The system prompt holds the lone surrogate U.D800"),
        (lambda: Conversation(None), "The system prompt is a NoneType"),
        (lambda: Conversation(context="abc"), "context is a str"),
        (lambda: Conversation(context={"kb": LONE}), "context.kb"),
        (lambda: Conversation(context={"kb": [float("nan")]}), r"context.kb\[0\]"),
        (lambda: Conversation(known_static="abc"), "known_static is a str"),
        (lambda: Conversation(known_static=[1]), r"known_static\[0\]"),
        (lambda: Conversation(tools=5), "tools is a int"),
        (lambda: Conversation(tools=TOOL), "tools is a dict"),
        (lambda: Conversation(tools=[{"name": "f", "description": LONE}]), r"tools\[0\].*U\+D800"),
        (lambda: Conversation(tools=[{"name": "f", "default": float("nan")}]), r"tools\[0\].*float"),
        (lambda: Conversation(template="größe"), "The template's name"),
        (lambda: Conversation(template="a\nb"), "The template's name"),
        (lambda: Conversation(template=5), "The template's name is a int"),
        (lambda: Conversation(tenant=5), "The tenant is a int"),
        (lambda: Conversation(requests_per_minute="x"), "requests_per_minute is 'x'"),
        (lambda: Conversation(count_tokens=5), "count_tokens is a int"),
    ],
)
def test_a_conversation_that_cannot_begin(make: Callable[[], Any], place: str) -> None:
    with pytest.raises(PromptCacheError, match=place) as caught:
        make()
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("step", "place"),
    [
        (lambda chat: chat.user(5), "The user's text is a int"),
        (lambda chat: chat.user(LONE), "The user's text holds the lone surrogate"),
        (lambda chat: chat.user("x", now=LONE), "now"),
        (lambda chat: chat.user("x", n=float("inf")), "n as canonical"),
        (lambda chat: chat.user("x", LONE), r"parts\[0\]"),
        (lambda chat: chat.user("x", "y", {"type": "z", "n": float("nan")}), r"parts\[1\]"),
        (lambda chat: chat.note(5), "The note is a int"),
        (lambda chat: chat.note(LONE), "The note holds"),
        (lambda chat: chat.assistant(LONE), "The answer is not JSON.*U.D800"),
        (
            lambda chat: chat.assistant({"role": "assistant", "content": "x", "n": float("nan")}),
            "not JSON.*float",
        ),
        (lambda chat: chat.tool_result([], 1), "The call's id is a list"),
        (lambda chat: chat.today("2031-03-04"), "The day is a str"),
        (lambda chat: chat.trim(to_tokens="a", at_tokens=5), "to_tokens is 'a'"),
        (lambda chat: chat.trim(to_tokens=1, at_tokens=2.5), "at_tokens is 2.5"),
        (lambda chat: chat.compact(5), "The summary is a int"),
        (lambda chat: chat.compact("x", keep_turns=-1), "keep_turns is -1"),
        (lambda chat: chat.mask_tools(5), r"names\[0\] is a int"),
        (lambda chat: chat.add_tools("f"), "tools is a str"),
        (lambda chat: chat.save(5), "The path is a int"),
    ],
)
def test_a_step_that_is_given_the_wrong_thing(step: Callable[[Conversation], Any], place: str) -> None:
    chat = asked()
    before = json.dumps(chat.to_openai("m"))
    with pytest.raises((ConversationError, CanonicalJSONError), match=place) as caught:
        step(chat)
    assert caught.value.remedy
    assert json.dumps(chat.to_openai("m")) == before


def test_a_result_that_cannot_be_sent_leaves_its_call_open() -> None:
    chat = asked()
    chat.assistant([{"type": "tool_use", "id": "t", "name": "f", "input": {}}])
    with pytest.raises(ConversationError, match="The result holds the lone surrogate"):
        chat.tool_result("t", LONE)
    with pytest.raises(CanonicalJSONError, match=r"result\.n"):
        chat.tool_result("t", {"n": float("nan")})
    chat.tool_result("t", "fine")


@pytest.mark.parametrize(
    "damage",
    [
        {"template": 5},
        {"template": "größe"},
        {"tenant": 5},
        {"seed": 5},
        {"strict": "yes"},
        {"requests_per_minute": "many"},
        {"tools": ["5"]},
        {"tools": ["{"]},
        {"pins": ["[]"]},
        {"images": [{"name": 5, "digest": "x"}]},
        {"results": [{"call_id": 5, "text": "x"}]},
        {"entries": [{"kind": "user", "text": "x", "parts": "5"}]},
        {"entries": [{"kind": "user", "text": "x", "parts": "[5]"}]},
        {"entries": [{"kind": "user", "text": "x", "parts": "[{}]"}]},
        {"entries": [{"kind": "assistant", "dialect": "klingon", "payload": '"x"'}]},
        {"entries": [{"kind": "assistant", "dialect": "openai", "payload": '{"tool_calls":5}'}]},
        {"entries": [{"kind": "results", "results": [{"call_id": "c", "text": 5}]}]},
    ],
)
def test_a_stored_conversation_is_looked_at_when_it_is_read(damage: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    chat = asked()
    chat.today(date(2031, 3, 4))
    chat.save(path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **damage}))
    with pytest.raises(StoredConversationError, match=r"chat\.json") as caught:
        Conversation.load(path)
    assert caught.value.remedy


def test_a_path_that_cannot_be_written(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere" / "chat.json", tmp_path):
        with pytest.raises(StoredConversationError, match="Cannot save the conversation") as caught:
            asked().save(path)
        assert caught.value.remedy
    assert list(tmp_path.iterdir()) == []
