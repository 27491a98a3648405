"""Values in messages that stand before every question are found, and conversations stay unblamed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.gateway.observe.changing_traffic import codes_of
from tests.gateway.observe.marked_traffic import play
from tests.gateway.observe.preamble_traffic import PREAMBLE_FAULTS, PREAMBLE_SCENES
from tests.gateway.observe.traffic import Author

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.gateway.observe.marked_traffic import Scene

SEEDS = 6


@pytest.mark.parametrize("make", PREAMBLE_SCENES, ids=lambda make: make.__name__)
def test_ordinary_traffic_draws_no_blame(make: Callable[[Author], Scene]) -> None:
    for seed in range(SEEDS):
        found = play(make(Author(seed)))
        assert found.cause in {None, "PC801"}, (seed, found)
        assert not found.lost_tokens, (seed, found)


@pytest.mark.parametrize("make", PREAMBLE_FAULTS, ids=lambda make: make.__name__)
def test_a_value_is_known_by_its_code_and_by_what_it_cost(make: Callable[[Author], Scene]) -> None:
    for seed in range(SEEDS):
        scene = make(Author(seed))
        found = play(scene)
        assert codes_of(found.causes, scene.codes) == scene.codes, (seed, found)
        assert found.attribution == "caller"
        assert not found.hit
        assert found.lost_tokens, (seed, found)
        assert found.path is not None
        assert found.path != "messages[0]" or scene.bodies[-1]["messages"][0]["role"] == "user"
