"""What is made while the upstream works changes nothing of what is said in the end, and is not made twice."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest

from promptcache.usage import Usage
from promptcache_gateway.observe import pieces
from promptcache_gateway.observe.preparing import prepare
from promptcache_gateway.observe.verdict import diagnose
from tests.gateway.observe.scenes import Provider, Stage
from tests.gateway.observe.traffic import FAULTS, SCENES, Author

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptcache_gateway.observe.evidence import Evidence
    from tests.gateway.observe.traffic import Pair


def evidence_of(pair: Pair) -> Evidence:
    stage = Stage(Provider())
    for body in pair.earlier:
        stage.send(body)
    return stage.observer.open(stage.call(pair.later)).evidence(stage.observer._masker)


@pytest.mark.parametrize("make", [*SCENES, *FAULTS], ids=lambda make: make.__name__)
def test_it_changes_no_diagnosis(make: Callable[[Author], Pair]) -> None:
    pair = make(Author(3))
    plain, prepared = evidence_of(pair), evidence_of(pair)
    prepare(prepared)
    for read in (0, 1_024):
        usage = Usage(total_input=3_000, cache_read=read, reported=True)
        one, other = diagnose(plain, usage, None), diagnose(prepared, usage, None)
        assert (one.causes, one.places, one.losses) == (other.causes, other.places, other.losses)
        assert one.expected_cached_tokens == other.expected_cached_tokens


def test_what_was_measured_is_not_measured_again() -> None:
    evidence = evidence_of(FAULTS[0](Author(3)))
    prepare(evidence)
    usage = Usage(total_input=3_000, cache_read=0, reported=True)
    with patch.object(pieces, "segment_bounds", side_effect=AssertionError("measured again")):
        assert diagnose(evidence, usage, None).cause is not None
