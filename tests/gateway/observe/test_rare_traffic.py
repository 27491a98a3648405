"""Rare settings beside busy ones: judged by what was sent under the same settings, however long ago."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from promptcache_gateway.observe.history import History
from tests.gateway.observe.marked_traffic import play
from tests.gateway.observe.rare_traffic import DRIVEN, RARE_FAULTS, RARE_SCENES, SETTINGS, SettledProvider
from tests.gateway.observe.scenes import Provider, Stage, chat, rules_text
from tests.gateway.observe.traffic import Author

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.gateway.observe.marked_traffic import Scene

SEEDS = range(6)
RULES = rules_text()


@pytest.mark.parametrize("make", RARE_SCENES, ids=lambda make: make.__name__)
def test_what_comes_often_enough_draws_no_blame(make: Callable[[Author], Scene]) -> None:
    for seed in SEEDS:
        found = play(make(Author(seed)))
        assert (found.cause, found.hit) == (None, True), (seed, found)


@pytest.mark.parametrize("make", RARE_FAULTS, ids=lambda make: make.__name__)
def test_a_loss_is_known_by_its_codes(make: Callable[[Author], Scene]) -> None:
    for seed in SEEDS:
        scene = make(Author(seed))
        found = play(scene)
        assert set(found.causes) == scene.codes, (seed, found)
        nobody = scene.codes & {"PC801", "PC802"}
        assert found.attribution == ("upstream" if make in DRIVEN else "expected" if nobody else "caller")
        assert bool(found.lost_tokens) is ("PC801" not in scene.codes)
        assert found.losses == ({found.cause: found.lost_tokens} if found.lost_tokens else {})


@pytest.mark.parametrize("answered", [False, True])
def test_whoever_could_go_back_to_a_model_was_not_driven_from_it(answered: bool) -> None:
    """A failure excuses until a request has been answered there, of whatever template."""
    author, stage = Author(1), Stage(Provider())
    body, other = (author.conversation(1, tools=False) for _ in range(2))
    stage.send(body)
    stage.fail(other)
    if answered:
        stage.send(other)
    found = stage.send({**author.continued(body), "model": "model-b"}, after_s=100.0).diagnosis
    assert (found.cause, found.attribution) == ("PC503", "caller" if answered else "upstream")
    assert ("did not answer" in found.summary) is not answered


@pytest.mark.parametrize(("often", "seldom"), SETTINGS)
def test_each_of_the_rare_ones_but_the_first_had_expired(
    often: dict[str, Any], seldom: dict[str, Any]
) -> None:
    stage = Stage(SettledProvider())
    rare = []
    for number in range(33):
        settings = seldom if number % 11 == 10 else often
        found = stage.send(chat(RULES, f"What of number {number}?", **settings), after_s=60.0).diagnosis
        if settings is seldom:
            rare.append(found)
        else:
            assert found.attribution == "expected"
    assert [found.cause for found in rare[1:]] == ["PC802", "PC802"]
    keyed = "prompt_cache_key" in seldom
    assert rare[0].attribution == ("caller" if keyed else "expected")  # until then nobody had asked so


def test_an_entry_of_its_own_that_lives_and_is_not_read_is_the_upstreams_doing() -> None:
    stage = Stage(SettledProvider())
    often, seldom = SETTINGS[2]
    for number, settings in enumerate((seldom, often, often)):
        stage.send(chat(RULES, f"What of number {number}?", **settings), after_s=20.0)
    stage.provider.stored.clear()
    found = stage.send(chat(RULES, "And what now?", **seldom), after_s=20.0).diagnosis
    assert (found.cause, found.attribution) == ("PC809", "upstream")


def test_what_says_the_same_as_its_absence_is_no_other_setting() -> None:
    stage = Stage(SettledProvider())
    for number in range(9):
        stage.send(chat(RULES, f"What of number {number}?", reasoning_effort="low"), after_s=60.0)
    stage.send(chat(RULES, "Plain?", response_format={"type": "text"}), after_s=60.0)
    for number in range(9):
        stage.send(chat(RULES, f"What of number {number}?", reasoning_effort="low"), after_s=60.0)
    found = stage.send(chat(RULES, "And plain again?"), after_s=60.0).diagnosis
    assert found.cause == "PC802"


def test_forgotten_requests_lead_nowhere() -> None:
    """A row that holds few requests: the rare one is gone from it, and is not found by its settings."""
    stage = Stage(SettledProvider(), history=History(max_requests=4))
    often, seldom = SETTINGS[2]
    stage.send(chat(RULES, "First?", **seldom))
    for number in range(6):
        stage.send(chat(RULES, f"What of number {number}?", **often), after_s=60.0)
    assert len(stage.observer._history) == 4
    found = stage.send(chat(RULES, "Again?", **seldom), after_s=60.0).diagnosis
    assert found.compared_with == stage.records[-2].id
