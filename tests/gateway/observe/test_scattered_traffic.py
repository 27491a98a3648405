"""Values far apart, JSON written anew, histories changed twice: each is known by its codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.gateway.observe.changing_traffic import codes_of
from tests.gateway.observe.marked_traffic import play
from tests.gateway.observe.scattered_traffic import SCATTERED_FAULTS, SCATTERED_SCENES
from tests.gateway.observe.traffic import Author

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.gateway.observe.marked_traffic import Scene

SEEDS = 6


@pytest.mark.parametrize("make", SCATTERED_SCENES, ids=lambda make: make.__name__)
def test_ordinary_traffic_draws_no_blame(make: Callable[[Author], Scene]) -> None:
    for seed in range(SEEDS):
        found = play(make(Author(seed)))
        assert found.cause in {None, "PC801"}, (seed, found)


@pytest.mark.parametrize("make", SCATTERED_FAULTS, ids=lambda make: make.__name__)
def test_a_fault_is_known_by_its_codes(make: Callable[[Author], Scene]) -> None:
    for seed in range(SEEDS):
        scene = make(Author(seed))
        found = play(scene)
        assert codes_of(found.causes, scene.codes) == scene.codes, (seed, found)
        assert found.attribution == "caller"
        assert found.lost_tokens, (seed, found)
        assert sum(found.losses.values()) == found.lost_tokens
