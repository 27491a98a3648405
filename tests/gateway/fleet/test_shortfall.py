"""What a fleet knew of a prefix becomes the reason of a miss, and only where it is one."""

from __future__ import annotations

import pytest

from promptcache_gateway.exchange import Placement
from promptcache_gateway.observe.shortfall import _from_placement
from promptcache_gateway.observe.tokens import Tokens


def reasons(cached: int, available: int, chosen: int, *, exact: bool = False, removed: int = 0) -> list[str]:
    placed = Placement("r", "prefix", 4000, available, chosen, exact, removed)
    tokens = Tokens(prompt=4000, cached=cached, expected=3900, reusable=3900)
    return [f"{one.code} {one.attribution} {one.lost_tokens}" for one in _from_placement(tokens, placed)]


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({"cached": 0, "available": 3000, "chosen": 0}, ["PC804 upstream 3000"]),
        ({"cached": 1000, "available": 3000, "chosen": 500}, ["PC804 upstream 2000"]),
        ({"cached": 0, "available": 100, "chosen": 0}, []),  # less than a piece of the prompt
        ({"cached": 2900, "available": 3000, "chosen": 0}, []),  # it was there after all, about
        (
            {"cached": 0, "available": 3000, "chosen": 3000},
            [],
        ),  # thought to be there, by estimate: unexplained
        ({"cached": 0, "available": 3000, "chosen": 3000, "exact": True}, ["PC803 upstream 3000"]),
        ({"cached": 0, "available": 0, "chosen": 0, "exact": True, "removed": 3500}, ["PC803 upstream 3500"]),
        ({"cached": 0, "available": 0, "chosen": 0, "removed": 3500}, []),  # of one replica only
        (
            {"cached": 0, "available": 1000, "chosen": 0, "exact": True, "removed": 2500},
            ["PC803 upstream 2500", "PC804 upstream 1000"],
        ),
    ],
)
def test_what_was_known_is_the_reason(known: dict[str, int], said: list[str]) -> None:
    assert reasons(**known) == said


def test_where_nothing_is_known_nothing_is_said() -> None:
    placed = Placement("r", "prefix", 4000, 3000, 0)
    assert _from_placement(Tokens(prompt=4000, cached=None), placed) == []
    assert _from_placement(Tokens(prompt=4000, cached=0), None) == []
