"""One conversation on two models in turn: judged by what its own model was sent, blamed where it costs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.gateway.observe.marked_traffic import MarkedProvider
from tests.gateway.observe.scenes import Provider, Stage, chat, rules_text

RULES = rules_text(120)
TALK = [f"{rules_text(4, f'turn {number}')} So what of number {number}?" for number in range(31)]


def turn(number: int, model: str, *, clock: bool = False) -> dict[str, Any]:
    system = f"Time: 2026-11-29T12:{number:02}:07Z\n{RULES}" if clock else RULES
    return {**chat(system, *TALK[: 2 * number + 5]), "model": model}


def play(models: str, *, clock: bool = False, after_s: float = 15.0) -> list[Any]:
    stage = Stage(Provider())
    return [
        stage.send(turn(number, f"model-{model}", clock=clock), after_s=after_s).diagnosis
        for number, model in enumerate(models)
    ]


@pytest.mark.parametrize("models", ["ABABABA", "AABBAABB", "ABCABC"])
def test_each_models_first_request_is_a_switch_and_no_later_one(models: str) -> None:
    for number, (model, found) in enumerate(zip(models, play(models), strict=True)):
        if not number:
            assert found.cause == "PC801"
        elif model not in models[:number]:
            assert (found.cause, found.attribution) == ("PC503", "caller")
            assert found.lost_tokens
        else:
            assert (found.cause, found.hit) == (None, True)


def marked(talk: list[str], model: str) -> dict[str, Any]:
    """A conversation with breakpoints behind its instructions and on its newest message."""
    mark = {"cache_control": {"type": "ephemeral"}}
    messages = chat(None, *talk)["messages"]
    for message in messages:
        message["content"] = [{"type": "text", "text": message["content"]}]
    messages[-1]["content"][0].update(mark)
    return {"model": model, "system": [{"type": "text", "text": RULES, **mark}], "messages": messages}


def test_every_conversation_that_switches_is_told_however_much_the_other_model_holds() -> None:
    """Of marked prompts, too: that the other model knows the instructions is none of the conversation's."""
    stage = Stage(MarkedProvider())
    found = []
    for number in range(3):
        talk = [f"{number}: {text} {rules_text(40, str(number))}" for text in TALK[:5]]
        for turns in (1, 3, 5):
            model = "claude-opus-4-1" if turns == 5 else "claude-sonnet-4-5"
            found.append(stage.send(marked(talk[:turns], model), after_s=9.0).diagnosis)
    assert [one.cause for one in found] == ["PC801", None, "PC503", None, None, "PC503", None, None, "PC503"]
    for at in (5, 8):
        one = stage.records[at]
        assert 0 < (found[at].lost_tokens or 0) < (one.prompt_tokens or 0) - (one.cached_tokens or 0)


def test_another_cause_stands_alone_where_the_model_was_sent_the_same_before() -> None:
    found = play("ABABAB", clock=True)
    assert "PC503" in found[1].causes
    for later in found[2:]:
        assert later.cause == "PC101"
        assert "PC503" not in later.causes


def test_a_switch_after_a_pause_lost_nothing_more() -> None:
    found = play("ABAB", after_s=400.0)
    assert [later.cause for later in found[1:]] == ["PC802"] * 3
    assert all(later.attribution == "expected" for later in found[1:])


def test_a_conversation_that_comes_back_much_later_pays_for_the_way_between() -> None:
    """Its model still holds the beginning; most of what was said since is new to it."""
    stage = Stage(Provider())
    short = {**chat(rules_text(30), *TALK[:1]), "model": "model-A"}
    stage.send(short)
    for number in range(3):
        stage.send({**chat(rules_text(30), *TALK[: 9 + 10 * number]), "model": "model-B"})
    back = stage.send({**chat(rules_text(30), *TALK), "model": "model-A"}).diagnosis
    assert (back.cause, back.attribution) == ("PC503", "caller")
    assert back.lost_tokens


@pytest.mark.parametrize("words", [4, 100, 400])
def test_a_short_conversation_that_changes_its_model_is_known_by_what_the_other_one_counted(
    words: int,
) -> None:
    stage = Stage(Provider())
    talk = ["Where is parcel 17?", "It is in Kiel and comes tomorrow.", "word " * words]
    stage.send({**chat(rules_text(60), talk[0]), "model": "model-A"})
    found = stage.send({**chat(rules_text(60), *talk), "model": "model-B"}).diagnosis
    assert stage.records[0].prompt_tokens is not None
    assert stage.records[0].prompt_tokens < 1_250
    assert (found.cause, found.attribution) == ("PC503", "caller")
    assert found.lost_tokens


def test_what_is_mostly_new_may_be_counted_otherwise() -> None:
    stage = Stage(Provider())
    talk = ["Where is parcel 17?", "It is in Kiel and comes tomorrow.", "word " * 2_000]
    stage.send({**chat(rules_text(60), talk[0]), "model": "model-A"})
    found = stage.send({**chat(rules_text(60), *talk), "model": "model-B"}).diagnosis
    assert (found.cause, found.attribution) == (None, "unknown")
