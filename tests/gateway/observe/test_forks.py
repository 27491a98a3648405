"""Requests that branch off from a conversation and cut it off at its front, and those that only look so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.gateway.observe.scenes import Stage, rules_text

if TYPE_CHECKING:
    from promptcache_gateway.observe import RequestRecord

Message = dict[str, Any]
ANOTHER = {"role": "user", "content": "Something else altogether: which stamps does a parcel to Peru need?"}


def said(number: int, words: int = 8) -> Message:
    role = ("user", "assistant")[number % 2]
    text = f"{number}: " + f"the {role} says number {number * 7} of many things here. " * words
    return {"role": role, "content": text.strip()}


def talk(start: int, end: int, words: int = 8) -> list[Message]:
    return [said(number, words) for number in range(start, end)]


def sent(*requests: list[Message]) -> RequestRecord:
    """The record of the last of them."""
    stage = Stage()
    system = {"role": "system", "content": rules_text()}
    for messages in requests:
        stage.clock.now += 5.0
        found = stage.send({"model": "gpt-4.1", "messages": [system, *messages]})
    return found


def grown(end: int, words: int = 8) -> list[list[Message]]:
    return [talk(0, size, words) for size in range(1, end + 1, 2)]


@pytest.mark.parametrize(("start", "end"), [(2, 6), (2, 8), (4, 8), (1, 6)])
def test_a_fork_that_is_cut_off_at_its_front_is_a_trim(start: int, end: int) -> None:
    found = sent(*grown(9), [*talk(start, end), ANOTHER]).diagnosis
    assert (found.causes, found.attribution) == (("PC501",), "caller")
    assert found.lost_tokens


def test_a_fork_that_keeps_the_first_message_is_a_trim_too() -> None:
    found = sent(*grown(9), [said(0), *talk(3, 8), ANOTHER]).diagnosis
    assert (found.causes, found.attribution) == (("PC501",), "caller")


def test_a_fork_of_the_whole_beginning_is_a_hit() -> None:
    assert sent(*grown(9), [*talk(0, 6), ANOTHER]).diagnosis.hit


def test_examples_drawn_for_a_question_are_not_cut_off() -> None:
    """The same as a fork to look at, but none of them was ever asked."""
    questions = [{"role": "user", "content": f"Question {n}: what is to be done about it?"} for n in range(3)]
    found = sent([*talk(0, 8), questions[0]], [*talk(0, 6), questions[1]], [*talk(2, 6), questions[2]])
    assert found.diagnosis.hit


def test_scripted_answers_are_not_cut_off() -> None:
    """Another customer asks at once what the first one came to, and is told what everyone is told."""
    track = {"role": "user", "content": "I would like to know where my order is."}
    told = {"role": "assistant", "content": "Of course. " + "Please look up its number in our letter. " * 6}
    first = [
        {"role": "user", "content": "Good morning to you all!"},
        {"role": "assistant", "content": "Hello!"},
    ]
    begun = [*first, track]
    found = sent(first[:1], begun, [*begun, told, said(4)], [track, told, said(6)])
    assert found.diagnosis.attribution == "expected"


def test_a_conversation_of_few_words_is_left_alone() -> None:
    assert sent(*grown(9, words=1), [*talk(2, 6, words=1), ANOTHER]).diagnosis.attribution == "expected"
