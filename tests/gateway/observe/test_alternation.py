"""A prefix in two forms in turn is named each time that it costs, and not where nothing was lost by it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.gateway.observe.alternating_traffic import (
    ALTERNATING_FAULTS,
    ALTERNATING_HISTORIES,
    ALTERNATING_SCENES,
)
from tests.gateway.observe.changing_traffic import codes_of
from tests.gateway.observe.marked_traffic import play
from tests.gateway.observe.scenes import Provider, Stage
from tests.gateway.observe.traffic import Author

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.gateway.observe.marked_traffic import Scene


@pytest.mark.parametrize("make", ALTERNATING_FAULTS, ids=lambda make: make.__name__)
def test_each_turn_in_the_other_form_is_named_with_what_it_cost(make: Callable[[Author], Scene]) -> None:
    for seed in range(3):
        scene = make(Author(seed))
        stage = Stage(Provider())
        pauses = scene.pauses or (5.0,) * (len(scene.bodies) - 1)
        found = [
            stage.send(body, after_s=pause_s).diagnosis
            for body, pause_s in zip(scene.bodies, (*pauses, 5.0), strict=True)
        ]
        in_turn = not scene.pauses
        for number, one in enumerate(found[1:], 1):
            if in_turn or (number % 4 == 1):
                assert codes_of(one.causes, scene.codes) == scene.codes, (seed, number, one)
                assert one.cause in scene.codes
                assert (one.attribution, one.hit) == ("caller", False)
                assert one.losses == {one.cause: one.lost_tokens}
                assert one.path
                assert one.remedy
                assert number == 2 or ("in two forms" in one.summary) == (number > 2), (seed, number, one)
            else:
                assert one.attribution == "expected", (seed, number, one)


@pytest.mark.parametrize("make", ALTERNATING_HISTORIES, ids=lambda make: make.__name__)
def test_a_history_in_the_other_form_is_named_however_much_of_it_is(make: Callable[[Author], Scene]) -> None:
    for seed in range(2):
        scene, stage = make(Author(seed)), Stage(Provider())
        for number, body in enumerate(scene.bodies):
            one = stage.send(body, after_s=5.0).diagnosis
            if number < 3:
                assert one.attribution == "expected" or set(one.causes) == scene.codes, (seed, number, one)
                continue
            assert (set(one.causes), one.attribution) == (scene.codes, "caller"), (seed, number, one)
            assert one.lost_tokens
            assert "in two forms" in one.summary


@pytest.mark.parametrize("make", ALTERNATING_SCENES, ids=lambda make: make.__name__)
def test_what_costs_nothing_draws_no_blame(make: Callable[[Author], Scene]) -> None:
    for seed in range(3):
        scene = make(Author(seed))
        found = play(scene)
        assert codes_of(found.causes, scene.codes) == scene.codes, (seed, found)
        assert found.attribution == "expected", (seed, found)
