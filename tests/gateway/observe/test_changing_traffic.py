"""Prompts that change in several places or all over: never a hit where all was lost, never a wrong blame."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.gateway.observe.changing_traffic import CHANGING_FAULTS, CHANGING_SCENES, codes_of
from tests.gateway.observe.marked_traffic import Scene, play
from tests.gateway.observe.traffic import Author

if TYPE_CHECKING:
    from collections.abc import Callable

SEEDS = range(7_000, 7_006)


@pytest.mark.parametrize("make", CHANGING_SCENES, ids=lambda make: make.__name__)
def test_ordinary_traffic_draws_no_blame(make: Callable[[Author], Scene]) -> None:
    for seed in SEEDS:
        diagnosis = play(make(Author(seed)))
        assert diagnosis.cause in {None, "PC801"}, (seed, diagnosis)
        assert diagnosis.attribution == "expected", (seed, diagnosis)
        assert diagnosis.lost_tokens == 0, (seed, diagnosis)


@pytest.mark.parametrize("make", CHANGING_FAULTS, ids=lambda make: make.__name__)
def test_a_fault_is_known_by_its_codes(make: Callable[[Author], Scene]) -> None:
    for seed in SEEDS:
        scene = make(Author(seed))
        diagnosis = play(scene)
        assert codes_of(diagnosis.causes, scene.codes) == scene.codes, (seed, diagnosis)
        assert diagnosis.hit is False
        assert diagnosis.attribution == "caller"
        assert diagnosis.lost_tokens, (seed, diagnosis)
        assert sum(diagnosis.losses.values()) == diagnosis.lost_tokens
        assert diagnosis.remedy
