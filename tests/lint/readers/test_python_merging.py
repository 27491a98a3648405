"""Lists that grew on two ways through a program: what is kept of them, and how much is compared for it."""

from __future__ import annotations

import pytest

from promptcache_lint.places import Place
from promptcache_lint.readers.python.merging import merge
from promptcache_lint.readers.python.values import MOST_ITEMS, Ref, Seq

HERE = Place("app.py", 1, 1, 1, 2)


class Counted:
    """What a reference means; says how often it was compared."""

    compared = 0

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return isinstance(other, Counted) and self.name == other.name

    __hash__ = None


def row(*names: str) -> Seq:
    return Seq(tuple(Ref("", Counted(name)) for name in names))


def names(value: object) -> list[str]:
    assert isinstance(value, Seq)
    return [item.target.name for item in value.items]


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [
        ("abc", "ab", "abc"),
        ("ab", "abc", "abc"),
        ("abx", "aby", "abxy"),
        ("abc", "xbc", "abcx"),
        ("", "a", "a"),
        ("aab", "aca", "aabc"),
    ],
)
def test_a_list_of_two_ways_holds_what_either_holds(first, second, both):
    merged = merge(row(*first), row(*second), HERE)
    assert names(merged) == list(both)
    assert merged.partial


@pytest.mark.parametrize("length", [MOST_ITEMS // 10, MOST_ITEMS - 1, MOST_ITEMS])
def test_two_ways_that_add_to_one_list_are_compared_once_an_item(length):
    common = [str(number) for number in range(length - 1)]
    first, second = row(*common, "x"), row(*common, "y")
    Counted.compared = 0
    merged = merge(first, second, HERE)
    assert Counted.compared <= 4 * length
    assert names(merged) == [*common, "x", "y"][:MOST_ITEMS]


def test_a_full_list_takes_nothing_more_and_asks_nothing():
    first = row(*(f"a{number}" for number in range(MOST_ITEMS)))
    second = row(*(f"b{number}" for number in range(MOST_ITEMS)))
    Counted.compared = 0
    assert merge(first, second, HERE).items == first.items
    assert Counted.compared <= 4
