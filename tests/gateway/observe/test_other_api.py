"""The same prompts through two APIs of the gateway, in front of one upstream: nobody edited anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.gateway.observe.scenes import Stage, chat, engine_provider, facts, outcome, rules_text

if TYPE_CHECKING:
    from promptcache_gateway.observe import Diagnosis

Body = dict[str, Any]
TURNS = ("Where is my order?", "It is on its way, and comes on Monday.", "And the other one, of last week?")


def messages(system: Any, *turns: str) -> Body:
    """A request of Anthropic's shape."""
    talk = chat(None, *turns)["messages"]
    return {"model": "model-a", "max_tokens": 5, "system": system, "messages": talk}


def responses(system: str, *turns: str) -> Body:
    """A request of the Responses API."""
    return {"model": "model-a", "instructions": system, "input": chat(None, *turns)["messages"]}


FORMS = {"openai.chat": chat, "anthropic.messages": messages, "openai.responses": responses}


def last(*requests: tuple[str, Body], cached: int) -> Diagnosis:
    """The diagnosis of the last of some requests: the dialect of each, and what was sent."""
    stage = Stage()
    for number, (dialect, body) in enumerate(requests, 1):
        stage.clock.now += 5.0
        observation = stage.observer.open(stage.call(body, dialect=dialect))
        read = cached if number == len(requests) else 0
        found = stage.observer.close(observation, outcome(stage.provider.usage(2_400, read))).diagnosis
    return found


@pytest.mark.parametrize("first", FORMS)
@pytest.mark.parametrize("then", FORMS)
@pytest.mark.parametrize("turns", [TURNS, TURNS[:1], ("Quite another question?",)])
def test_what_comes_through_another_api_was_not_edited(first: str, then: str, turns: tuple[str, ...]) -> None:
    bodies = ((first, FORMS[first](rules_text(), TURNS[0])), (then, FORMS[then](rules_text(), *turns)))
    read, unread = last(*bodies, cached=2_304), last(*bodies, cached=0)
    assert (read.hit, read.causes, read.lost_tokens) == (True, (), 0)
    assert unread.attribution == ("unknown" if first != then else "upstream")


def test_the_engine_knows_what_it_read() -> None:
    stage = Stage(engine_provider())
    stage.send_to_engine(chat(rules_text(), TURNS[0]), facts(2_000, 0))
    asked = messages([{"type": "text", "text": rules_text()}], *TURNS)
    found = stage.send_to_engine(asked, facts(2_030, 2_001, diverged_at=2_001), dialect="anthropic.messages")
    assert (found.diagnosis.hit, found.diagnosis.causes) == (True, ())


def test_instructions_that_come_in_between_are_the_callers() -> None:
    """It is one API all the time."""
    bare = {**messages("", *TURNS[:1])}
    del bare["system"]
    found = last(
        ("anthropic.messages", bare), ("anthropic.messages", messages(rules_text(), *TURNS)), cached=0
    )
    assert found.attribution != "unknown"


def test_its_own_requests_are_what_it_is_compared_with() -> None:
    clocks = [f"It is 10:00:0{n}. {rules_text()}" for n in range(3)]
    requests = [("openai.chat", chat(clocks[0], *TURNS[:1]))]
    requests += [("anthropic.messages", messages(clock, *TURNS[:1])) for clock in clocks[1:]]
    assert last(*requests, cached=0).cause == "PC101"
