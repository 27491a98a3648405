"""Generated pairs: every fault comes back under its code and at its place; nothing else draws blame."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.gateway.observe.scenes import Stage
from tests.gateway.observe.traffic import COMBINED, FAULTS, SCENES, Author, Pair, clocked

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptcache_gateway.observe import Diagnosis

SEEDS = range(1_000, 1_008)


def author_of(seed: int) -> Author:
    """Every other one writes times and ids that look like ones."""
    return Author(seed, stamped=seed % 2 == 1)


def judge(pair: Pair) -> Diagnosis:
    """Play a pair against an honest provider."""
    stage = Stage()
    for body in pair.earlier:
        stage.send(body)
    return stage.send(pair.later, after_s=pair.after_s).diagnosis


@pytest.mark.parametrize("make", SCENES, ids=lambda make: make.__name__)
def test_ordinary_traffic_draws_no_blame(make: Callable[[Author], Pair]) -> None:
    for seed in SEEDS:
        diagnosis = judge(make(author_of(seed)))
        assert diagnosis.cause in {None, "PC801"}, (seed, diagnosis)
        assert diagnosis.attribution == "expected", (seed, diagnosis)
        assert diagnosis.lost_tokens is not None
        assert diagnosis.lost_tokens <= 128, (seed, diagnosis)


@pytest.mark.parametrize("make", FAULTS, ids=lambda make: make.__name__)
def test_a_fault_is_known_by_its_code_and_place(make: Callable[[Author], Pair]) -> None:
    for seed in SEEDS:
        pair = make(author_of(seed))
        diagnosis = judge(pair)
        assert diagnosis.cause == pair.code, (seed, diagnosis)
        if pair.path is not None:
            assert diagnosis.path == pair.path, (seed, diagnosis)
        assert diagnosis.lost_tokens, (seed, diagnosis)
        assert sum(diagnosis.losses.values()) == diagnosis.lost_tokens
        assert diagnosis.remedy
        assert diagnosis.summary


@pytest.mark.parametrize("make", [*SCENES, *FAULTS], ids=lambda make: make.__name__)
def test_the_numbers_hold_together(make: Callable[[Author], Pair]) -> None:
    for seed in SEEDS:
        pair = make(author_of(seed))
        stage = Stage()
        for body in [*pair.earlier, pair.later]:
            record = stage.send(body)
            diagnosis = record.diagnosis
            assert record.prompt_tokens is not None
            assert record.cached_tokens is not None
            assert diagnosis.reusable_tokens is not None
            assert diagnosis.expected_cached_tokens is not None
            assert record.cached_tokens <= diagnosis.reusable_tokens <= record.prompt_tokens
            assert diagnosis.expected_cached_tokens <= diagnosis.reusable_tokens
            assert diagnosis.lost_tokens == diagnosis.reusable_tokens - record.cached_tokens


@pytest.mark.parametrize("make", COMBINED, ids=lambda make: make.__name__)
def test_two_faults_at_once_are_both_listed(make: Callable[[Author], Pair]) -> None:
    for seed in SEEDS:
        pair = make(author_of(seed))
        diagnosis = judge(clocked(pair))
        assert {pair.code, "PC101"} <= set(diagnosis.causes), (seed, diagnosis)
        places = {place.code: place.path for place in diagnosis.places}
        assert places["PC101"] == "messages[0]", (seed, diagnosis)
        if pair.path is not None and pair.code is not None:
            assert places[pair.code] == pair.path, (seed, diagnosis)


def test_ordinary_traffic_with_a_clock_is_the_clocks_fault_alone() -> None:
    from tests.gateway.observe.traffic import another_question, next_turn, parallel, retry

    for make in (another_question, next_turn, parallel, retry):
        for seed in SEEDS:
            diagnosis = judge(clocked(make(author_of(seed))))
            assert diagnosis.cause == "PC101", (seed, diagnosis)
            assert set(diagnosis.causes) <= {"PC101", "PC401"}
            assert diagnosis.char_offset == len("Now: 2026-11-29T12:00:0")
