"""Counters alone: what they prove is named, what they leave open is not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from promptcache.counters import diagnose_sequence, find_plateau
from tests.gateway.observe.counted_traffic import COUNTED, Counted, appends, rewritten_behind_the_head
from tests.gateway.observe.traffic import Author

if TYPE_CHECKING:
    from collections.abc import Callable

SEEDS = range(5_000, 5_040)


@pytest.mark.parametrize("make", COUNTED, ids=lambda make: make.__name__)
def test_counters_are_known_by_their_cause(make: Callable[[Author], Counted]) -> None:
    for seed in SEEDS:
        counted = make(Author(seed))
        assert diagnose_sequence(counted.records).cause == counted.cause, seed


def test_a_plateau_is_found_from_end_to_end() -> None:
    for seed in SEEDS:
        counted = rewritten_behind_the_head(Author(seed))
        plateau = find_plateau(counted.records)
        assert plateau is not None, seed
        assert (plateau.from_t, plateau.to_t, plateau.cached_tokens) == counted.pinned, seed
        behind = [one for one in counted.records if (one.t or 0) > plateau.to_t]  # type: ignore[operator]
        assert plateau.recovered_at == (behind[0].t if behind else None)


def test_no_plateau_where_reads_grow_or_nothing_more_could_be_read() -> None:
    for seed in SEEDS:
        records = appends(Author(seed)).records
        assert find_plateau(records) is None
        at_most = (records[0].total_input or 0) // 128 * 128
        still = [replace(one, total_input=at_most + 1 + at) for at, one in enumerate(records)]
        assert find_plateau([replace(one, read=at_most) for one in still]) is None
