"""Generated requests with breakpoints, and faults of the engine's own: known by their codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.gateway.observe.marked_traffic import (
    MARKED_FAULTS,
    MARKED_SCENES,
    MarkedProvider,
    Scene,
    continued,
    marked,
    play,
    talk,
)
from tests.gateway.observe.scenes import Stage
from tests.gateway.observe.traffic import Author

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptcache_gateway.observe import RequestRecord

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


def last_of(author: Author, at: int | None, *, spaced: bool) -> RequestRecord:
    """The last turn of a conversation whose instructions are marked, and perhaps a message of its history."""
    stage, body = Stage(MarkedProvider()), talk(author, 6)
    for _ in range(2):
        stage.send(body if at is None else marked(body, at), dialect="anthropic.messages")
        body = continued(author, body)
    if spaced:
        (rules,) = body["system"]
        body["system"] = [{**rules, "text": rules["text"].replace(" ", "  ", 1)}]
    return stage.send(body if at is None else marked(body, at), dialect="anthropic.messages")


@pytest.mark.parametrize("at", [None, 0, -5, -1])
def test_what_no_mark_covered_is_no_loss_of_a_change_in_front_of_it(at: int | None) -> None:
    for seed in SEEDS:
        twin, spaced = last_of(Author(seed), at, spaced=False), last_of(Author(seed), at, spaced=True)
        assert twin.cached_tokens
        assert spaced.cached_tokens == 0
        assert spaced.diagnosis.cause == "PC206"
        assert spaced.diagnosis.lost_tokens is not None
        assert twin.cached_tokens * 0.7 <= spaced.diagnosis.lost_tokens <= twin.cached_tokens * 1.1
