"""Requests put together from the same documents or examples are no conversation, and nobody edited them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.gateway.observe.scenes import Stage, rules_text
from tests.gateway.observe.traffic import Author

RULES = {"role": "system", "content": rules_text(110)}


def said(role: str, text: str) -> dict[str, str]:
    return {"role": role, "content": text}


def request(*talk: dict[str, str]) -> dict[str, Any]:
    return {"model": "gpt-4o", "messages": [RULES, *talk]}


def documents(author: Author, dice: random.Random) -> dict[str, Any]:
    """Retrieved texts in the order of their rank, then the question, each time in the same words."""
    pool = [said("user", f"Document: {Author(number).instructions(12)}") for number in range(5)]
    return request(*dice.sample(pool, 3), said("user", f"Question: what about {author.question()}"))


def examples(author: Author, dice: random.Random) -> dict[str, Any]:
    """Question and answer pairs that resemble the ticket."""
    pool = [
        [said("user", f"Ticket: {Author(n).question()}"), said("assistant", f"Class: {Author(n).answer()}")]
        for n in range(8)
    ]
    chosen = [message for pair in dice.sample(pool, 5) for message in pair]
    return request(*chosen, said("user", f"Ticket: {author.question()}"))


@pytest.mark.parametrize("make", [documents, examples])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_drawn_for_each_request_was_never_changed(make: Any, seed: int) -> None:
    author, dice, stage = Author(100 + seed), random.Random(seed), Stage()
    found = [stage.send(make(author, dice)).diagnosis for _ in range(12)]

    assert [one.cause for one in found] == ["PC801"] + [None] * 11
    assert all(one.hit and not one.lost_tokens for one in found[1:])


def test_a_history_cut_at_its_front_is_still_known() -> None:
    author, stage = Author(9), Stage()
    talk = [said(role, text) for _ in range(6) for role, text in _turn(author)]
    stage.send(request(*talk[:-1]))
    for question in (author.question(), f"{talk[-2]['content']} And why?"):
        later = request(*talk[2:], said("user", question))
        assert stage.send(later).diagnosis.cause in {"PC501", None}
    assert stage.records[1].diagnosis.cause == "PC501"


@pytest.mark.parametrize("change", [str.upper, lambda text: text + " (edited by our filter for privacy)"])
def test_an_answer_changed_behind_ones_back_is_still_known(change: Any) -> None:
    author, stage = Author(10), Stage()
    talk = [said(role, text) for _ in range(4) for role, text in _turn(author)]
    stage.send(request(*talk[:-1]))
    talk[1] = said("assistant", change(talk[1]["content"]))
    diagnosis = stage.send(request(*talk, said("user", author.question()))).diagnosis

    assert (diagnosis.cause, diagnosis.path) == ("PC502", "messages[2]")


@pytest.mark.parametrize("clock", [None, "Now: 2026-11-29T21:00:07Z", "Now: 2026-11-29T21:09:44Z"])
def test_the_first_request_for_a_model_has_lost_nothing(clock: str | None) -> None:
    stage = Stage()
    stage.send(request(said("user", "Who pays?")))
    other = request(said("user", "And when?")) | {"model": "gpt-4o-mini"}
    if clock is not None:
        other["messages"][0] = {**RULES, "content": f"{clock}\n{RULES['content']}"}
    diagnosis = stage.send(other).diagnosis

    assert (diagnosis.cause, diagnosis.causes, diagnosis.attribution) == ("PC801", ("PC801",), "expected")
    assert (diagnosis.lost_tokens, diagnosis.reusable_tokens, diagnosis.losses) == (0, 0, {})
    assert diagnosis.hit is False


def _turn(author: Author) -> list[tuple[str, str]]:
    return [("user", author.question()), ("assistant", author.answer())]
