"""Where only what is marked is cached, nobody is blamed for what nobody marked."""

from __future__ import annotations

from typing import Any

import pytest

from promptcache.usage import Usage
from promptcache_gateway.observe import Diagnosis
from tests.gateway.observe.scenes import Provider, Stage, outcome, rules_text

RULES = rules_text()
MARK = {"type": "ephemeral"}
ANSWER = "We looked into it with care. " * 200


def body(*messages: str, marked: bool = True, last: bool = False) -> dict[str, Any]:
    """A conversation with a mark on its system prompt, and perhaps one at its end."""
    system: dict[str, Any] = {"type": "text", "text": RULES}
    if marked:
        system["cache_control"] = MARK
    roles = ("user", "assistant") * len(messages)
    turns: list[dict[str, Any]] = [
        {"role": role, "content": [{"type": "text", "text": text}]}
        for role, text in zip(roles, messages, strict=False)
    ]
    if last:
        turns[-1]["content"][0]["cache_control"] = MARK
    return {"model": "claude-sonnet-4-5", "system": [system], "messages": turns}


def play(*steps: tuple[dict[str, Any], int, int]) -> Diagnosis:
    """Send bodies with prompt and read tokens; the diagnosis of the last."""
    stage = Stage(Provider(kind="anthropic", granularity=None))
    diagnosis = Diagnosis()
    for request, prompt, read in steps:
        stage.clock.now += 5
        observation = stage.observer.open(stage.call(request, dialect="anthropic.messages"))
        counts = {
            "input_tokens": prompt - read,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": 0,
            "output_tokens": 9,
        }
        diagnosis = stage.observer.close(
            observation, outcome(Usage.from_response({"usage": counts}))
        ).diagnosis
    return diagnosis


SYSTEM = len(RULES) // 4
WHOLE = SYSTEM + len(ANSWER) // 4


def test_a_history_that_nobody_marked_is_nobodys_loss() -> None:
    diagnosis = play(
        (body("One?", ANSWER, "Two?"), WHOLE, SYSTEM),
        (body("One?", ANSWER, "Two?", "Yes.", "Three?"), WHOLE + 20, SYSTEM),
    )

    assert diagnosis.attribution != "upstream"
    assert diagnosis.cause != "PC809"
    assert diagnosis.expected_cached_tokens == pytest.approx(SYSTEM, rel=0.05)


def test_what_was_marked_and_not_read_is_the_upstreams_doing() -> None:
    diagnosis = play(
        (body("One?", ANSWER, "Two?", last=True), WHOLE, 0),
        (body("One?", ANSWER, "Two?", "Yes.", "Three?", last=True), WHOLE + 20, 0),
    )

    assert (diagnosis.cause, diagnosis.attribution) == ("PC809", "upstream")
    assert diagnosis.expected_cached_tokens == WHOLE


def test_without_any_mark_nothing_is_expected() -> None:
    diagnosis = play(
        (body("One?", ANSWER, "Two?", marked=False), WHOLE, 0),
        (body("One?", ANSWER, "Two?", "Yes.", "Three?", marked=False), WHOLE + 20, 0),
    )

    assert diagnosis.expected_cached_tokens == 0
    assert diagnosis.attribution != "upstream"


def test_a_mark_too_far_behind_finds_nothing() -> None:
    talk = [f"Message number {number}, at some length, to be sure." for number in range(61)]
    diagnosis = play(
        (body(*talk[:5], marked=False, last=True), SYSTEM + 100, 0),
        (body(*talk, marked=False, last=True), SYSTEM + 900, 0),
    )

    assert diagnosis.expected_cached_tokens == 0
    assert diagnosis.cause != "PC809"


def dated(minute: int, *messages: str) -> dict[str, Any]:
    """A request with a clock and static text behind its marked system prompt, and a mark on its end."""
    request = body(*messages, last=True)
    request["system"].append({"type": "text", "text": f"It is 10:{minute}:00. {ANSWER}"})
    return request


def test_a_mark_on_a_question_that_never_recurs_keeps_nothing_for_the_next() -> None:
    diagnosis = play(
        (dated(11, "How long may I keep the lamp?"), WHOLE, 0),
        (dated(12, "How long may I keep a sofa?"), WHOLE, SYSTEM),
        (dated(13, "Who signs for my parcels?"), WHOLE, SYSTEM),
    )

    assert (diagnosis.cause, diagnosis.hit, diagnosis.lost_tokens) == (None, True, 0)


def test_a_mark_on_an_earlier_conversations_question_keeps_nothing_for_another() -> None:
    talk = ("How long may I keep the lamp?", ANSWER[:300], "And the sofa that came with it?")
    diagnosis = play(
        (dated(11, "Hello, can you help me?"), WHOLE, 0),
        (dated(12, *talk), WHOLE + 80, SYSTEM),
        (dated(13, "Who signs for my parcels?"), WHOLE, SYSTEM),
    )

    assert (diagnosis.cause, diagnosis.hit, diagnosis.lost_tokens) == (None, True, 0)


@pytest.mark.parametrize(
    "now", [("Who pays?", "You do, I fear.", "How come?"), ("Who pays?",)], ids=["goes on", "asked again"]
)
def test_a_mark_on_a_question_that_stands_in_the_next_request_keeps_what_a_clock_costs(
    now: tuple[str, ...],
) -> None:
    diagnosis = play((dated(11, "Who pays?"), WHOLE, 0), (dated(12, *now), WHOLE + 20, SYSTEM))

    assert (diagnosis.cause, diagnosis.attribution) == ("PC101", "caller")
    assert diagnosis.lost_tokens == pytest.approx(WHOLE - SYSTEM, rel=0.05)
