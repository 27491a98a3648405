"""Requests in every kind of writing: nobody is blamed for how long a token is, and faults are found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.gateway.observe.marked_traffic import Scene, play
from tests.gateway.observe.traffic import Author
from tests.gateway.observe.written_traffic import WRITTEN_FAULTS, WRITTEN_SCENES

if TYPE_CHECKING:
    from collections.abc import Callable

SEEDS = range(5_000, 5_008)


@pytest.mark.parametrize("make", WRITTEN_SCENES, ids=lambda make: make.__name__)
def test_ordinary_traffic_draws_no_blame(make: Callable[[Author], Scene]) -> None:
    for seed in SEEDS:
        diagnosis = play(make(Author(seed)))
        assert diagnosis.cause is None, (seed, diagnosis)
        assert diagnosis.attribution in {"expected", "unknown"}, (seed, diagnosis)
        assert diagnosis.lost_tokens == 0, (seed, diagnosis)


@pytest.mark.parametrize("make", WRITTEN_FAULTS, ids=lambda make: make.__name__)
def test_a_fault_is_known_by_its_codes(make: Callable[[Author], Scene]) -> None:
    for seed in SEEDS:
        scene = make(Author(seed))
        diagnosis = play(scene)
        assert scene.codes == set(diagnosis.causes), (seed, diagnosis)
        assert diagnosis.remedy
        assert sum(diagnosis.losses.values()) == (diagnosis.lost_tokens or 0)
