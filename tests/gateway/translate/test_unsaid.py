"""Messages of a chat that say nothing: Anthropic's API takes none, and no turn is lost without a word."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from promptcache_gateway.errors import ApiError
from promptcache_gateway.settings import Settings, UpstreamSettings
from promptcache_gateway.translate.unsaid import refuse_unsaid_end, unsaid
from tests.gateway.anthropic_wire import answer_messages
from tests.gateway.mock_upstream import MockUpstream, mock_upstream
from tests.gateway.serving import Served, serve

if TYPE_CHECKING:
    from collections.abc import Iterator

CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
USER = {"role": "user", "content": "A?"}
BOT = {"role": "assistant", "content": "B."}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, MockUpstream]]:
    with ExitStack() as stack:
        mock = stack.enter_context(mock_upstream(answer_messages))
        upstream = UpstreamSettings(url=mock.url, kind="anthropic", name="claude")
        settings = Settings(upstreams=(upstream,), data_dir=tmp_path_factory.mktemp("data"))
        yield stack.enter_context(serve(settings)), mock


def left_out(served: Served, answer: Any) -> list[tuple[str, str]]:
    changes = served.record(answer)["changes"]
    (translation,) = [change for change in changes if change["name"] == "translation"]
    return [(one["path"], one["reason"]) for one in translation["skipped"]]


def test_what_says_nothing_is_left_out_and_named(house: tuple[Served, MockUpstream]) -> None:
    served, mock = house
    messages = [
        {"role": "system", "content": ""},
        USER,
        {"role": "user", "content": ""},
        {"role": "user", "content": [{"type": "text", "text": ""}]},
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c", "content": ""},
        {"role": "user", "content": None},
    ]
    answer = served.post({"model": "claude-x", "messages": messages})
    assert answer.status_code == 200
    sent = json.loads(mock.last.body)["messages"]
    assert [turn["role"] for turn in sent] == ["user", "assistant", "user"]
    named = left_out(served, answer)
    assert [path for path, _ in named] == [f"messages[{at}]" for at in (0, 2, 3, 4, 7)]
    assert {why for _, why in named} == {
        "says nothing, which the upstream's API does not take, and is left out"
    }


def test_so_are_items_of_a_response(house: tuple[Served, MockUpstream]) -> None:
    served, mock = house
    empty = {"role": "user", "content": [{"type": "input_text", "text": ""}]}
    items = [{"role": "developer", "content": ""}, empty, USER]
    answer = served.post({"model": "claude-x", "input": items}, path="/v1/responses")
    assert answer.status_code == 200
    (turn,) = json.loads(mock.last.body)["messages"]
    assert turn["content"] == [{"type": "text", "text": "A?"}]
    assert [path for path, _ in left_out(served, answer)] == ["input[0]", "input[1]"]


@pytest.mark.parametrize(
    ("path", "body", "place"),
    [
        ("/v1/chat/completions", {"messages": [USER, BOT, {"role": "user", "content": ""}]}, "messages[2]"),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": ""}]}, "messages[0]"),
        ("/v1/responses", {"input": [USER, BOT, {"role": "user", "content": ""}]}, "input[2]"),
        ("/v1/responses", {"input": ""}, "input[0]"),
    ],
)
def test_where_the_assistant_would_speak_last_instead_it_is_refused(
    house: tuple[Served, MockUpstream], path: str, body: dict[str, Any], place: str
) -> None:
    """Its last words would be the beginning of the answer: another request than the caller's."""
    served, mock = house
    before = len(mock.seen)
    answer = served.post({"model": "claude-x", **body}, path=path)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (400, "unsupported_value", place)
    assert error["message"].startswith(f"A message without a word at '{place}' cannot be translated")
    assert len(mock.seen) == before


@pytest.mark.parametrize(
    "message",
    [
        USER,
        BOT,
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "assistant", "content": None, "refusal": "No."},
        {"role": "assistant", "content": "", "thinking_blocks": [{"type": "thinking"}]},
        {"role": "tool", "tool_call_id": "c", "content": ""},
        {"role": "user", "content": [{"type": "text", "text": ""}, {"type": "image_url"}]},
        {"role": "user", "content": 3},
        "no message",
    ],
)
def test_what_says_something_or_is_wrong_is_no_empty_one(message: Any) -> None:
    assert list(unsaid([message])) == []
    refuse_unsaid_end([USER, BOT, message])


@pytest.mark.parametrize(
    ("messages", "refused"),
    [
        ([USER, BOT], False),
        ([USER, BOT, {"role": "assistant", "content": ""}], False),
        ([USER, {"role": "user", "content": ""}, {"role": "assistant", "content": ""}], False),
        ([USER, BOT, {"role": "developer", "content": ""}], True),
        ([USER, BOT, {"role": "user"}, {"role": "assistant", "content": ""}], True),
        ([{"role": "system", "content": "S"}, {"role": "user", "content": []}], True),
        ([{"role": "system", "content": ""}], True),
        ([], False),
    ],
)
def test_only_who_speaks_last_matters(messages: list[Any], refused: bool) -> None:
    if not refused:
        refuse_unsaid_end(messages)
        return
    with pytest.raises(ApiError):
        refuse_unsaid_end(messages)
