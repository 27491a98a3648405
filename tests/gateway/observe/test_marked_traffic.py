"""Generated requests with breakpoints, and faults of the engine's own: known by their codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.gateway.observe.marked_traffic import MARKED_FAULTS, MARKED_SCENES, Scene, play
from tests.gateway.observe.traffic import Author

if TYPE_CHECKING:
    from collections.abc import Callable

SEEDS = range(3_000, 3_012)


@pytest.mark.parametrize("make", MARKED_SCENES, ids=lambda make: make.__name__)
def test_marks_that_stand_well_draw_no_blame(make: Callable[[Author], Scene]) -> None:
    for seed in SEEDS:
        scene = make(Author(seed))
        diagnosis = play(scene)
        assert diagnosis.cause is None, (seed, diagnosis)
        wanted = "expected" if scene.refused is None else "unknown"
        assert diagnosis.attribution == wanted, (seed, diagnosis)


@pytest.mark.parametrize("make", MARKED_FAULTS, ids=lambda make: make.__name__)
def test_a_fault_is_known_by_its_codes(make: Callable[[Author], Scene]) -> None:
    for seed in SEEDS:
        scene = make(Author(seed))
        diagnosis = play(scene)
        assert scene.codes == set(diagnosis.causes), (seed, diagnosis)
        assert diagnosis.remedy
        assert sum(diagnosis.losses.values()) == (diagnosis.lost_tokens or 0)
