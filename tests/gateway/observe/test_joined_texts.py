"""A text and a list of nothing but that text are one prompt to the built-in engine, and no fault there."""

from __future__ import annotations

from typing import Any

import pytest

from tests.gateway.observe.scenes import Stage, chat, engine_provider, facts, rules_text

TURNS = ("Where is my order?", "It is on its way, and comes on Monday.", "And the other one, of last week?")


def listed(body: dict[str, Any], *places: int) -> dict[str, Any]:
    messages = [
        {**said, "content": [{"type": "text", "text": said["content"]}]} if at in places else said
        for at, said in enumerate(body["messages"])
    ]
    return {**body, "messages": messages}


def last(first: dict[str, Any], then: dict[str, Any], read: int, **known: Any) -> Any:
    """The diagnosis of the second; ``read``: of its 1,281 tokens."""
    stage = Stage(engine_provider())
    stage.send_to_engine(first, facts(1_280, 0), **known)
    return stage.send_to_engine(then, facts(1_281, read, diverged_at=read), **known).diagnosis


@pytest.mark.parametrize("places", [(0,), (1,), (0, 1), (0, 1, 2, 3)])
@pytest.mark.parametrize("unread", [4, 8, 16])
def test_another_shape_costs_nothing_at_the_engine(places: tuple[int, ...], unread: int) -> None:
    """All is read but the newest turn, of few tokens or of more."""
    before, after = chat(rules_text(), *TURNS), chat(rules_text(), *TURNS[:2], "And through which office?")
    for one, other in ((before, listed(after, *places)), (listed(before, *places), after)):
        found = last(one, other, 1_281 - unread)
        assert (found.hit, found.causes, found.lost_tokens) == (True, (), 0)


@pytest.mark.parametrize("unread", [4, 30])
@pytest.mark.parametrize("begins_as_list", [False, True])
def test_instructions_in_another_shape_cost_nothing_at_the_engine(begins_as_list: bool, unread: int) -> None:
    shapes = (rules_text(), [{"type": "text", "text": rules_text()}])
    one, other = reversed(shapes) if begins_as_list else shapes
    first = {**chat(None, *TURNS), "system": one}
    then = {**chat(None, *TURNS[:2], "And through which office?"), "system": other}
    found = last(first, then, 1_281 - unread, dialect="anthropic.messages")
    assert (found.hit, found.causes, found.lost_tokens) == (True, (), 0)


def test_another_text_in_another_shape_is_another_text() -> None:
    before = chat(rules_text(), *TURNS)
    after = listed(chat(rules_text(), f"{TURNS[0]} Please.", *TURNS[1:], "Yes.", "And then?"), 0, 1)
    assert last(before, after, 1_200).attribution == "caller"
