"""A schema is sent in the order in which it was first seen."""

from __future__ import annotations

import json
from typing import Any

import pytest

from promptcache.conversation import Conversation


def schema(*names: str) -> dict[str, Any]:
    properties = {name: {"type": "string"} for name in names}
    return {"type": "json_schema", "json_schema": {"name": "r", "schema": {"properties": properties}}}


def sent(chat: Conversation, **parameters: Any) -> str:
    return json.dumps(chat.to_openai("m", **parameters))


def test_a_reordered_schema_is_sent_as_it_was_first() -> None:
    chat = Conversation()
    chat.user("Hi")
    first = sent(chat, response_format=schema("why", "answer"))
    assert list(json.loads(first)["response_format"]["json_schema"]["schema"]["properties"]) == [
        "why",
        "answer",
    ]
    assert sent(chat, response_format=schema("answer", "why")) == first
    assert sent(chat.fork(), response_format=schema("answer", "why")) == first
    assert sent(chat, response_format=schema("answer", "why", "more")) != first
    other = Conversation()
    other.user("Hi")
    assert sent(other, response_format=schema("answer", "why")) != first


@pytest.mark.parametrize(
    ("form", "name"),
    [("to_responses", "text"), ("to_anthropic", "output_config"), ("to_gemini", "responseJsonSchema")],
)
def test_in_every_form(form: str, name: str) -> None:
    chat = Conversation()
    chat.user("Hi")
    one, other = schema("b", "a"), schema("a", "b")
    first = json.dumps(getattr(chat, form)("m", **{name: one}))
    assert '{"b": ' in first
    assert json.dumps(getattr(chat, form)("m", **{name: other})) == first


@pytest.mark.parametrize(
    ("form", "name", "inside", "beside"),
    [
        ("to_responses", "text", "format", {"verbosity": "low"}),
        ("to_anthropic", "output_config", "format", {"effort": "low"}),
        ("to_openai", "response_format", "json_schema", {"strict": True}),
    ],
)
def test_what_stands_beside_a_schema_may_change(
    form: str, name: str, inside: str, beside: dict[str, Any]
) -> None:
    def order(*names: str, **neighbours: Any) -> list[str]:
        held = {"schema": {"type": "object", "properties": {one: {} for one in names}}}
        request = getattr(chat, form)("m", **{name: {inside: held, **neighbours}})
        assert request[name].items() >= neighbours.items()
        return list(request[name][inside]["schema"]["properties"])

    chat = Conversation()
    chat.user("Hi")
    assert order("b", "a") == ["b", "a"]
    assert order("a", "b", **beside) == ["b", "a"]


def test_what_is_no_schema_is_left_alone() -> None:
    class Format:
        pass

    chat = Conversation()
    chat.user("Hi")
    assert chat.to_openai("m", response_format=Format)["response_format"] is Format
    odd = {"schema": Format}
    assert chat.to_openai("m", response_format=odd)["response_format"] is odd
    chat.to_openai("m", metadata={"b": 1, "a": 2})
    assert list(chat.to_openai("m", metadata={"a": 2, "b": 1})["metadata"]) == ["a", "b"]
    assert chat._state.pins == ()
