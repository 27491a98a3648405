"""Pins: where a conversation was sent last."""

from __future__ import annotations

from promptcache_gateway.fleet.pins import LIFETIME_S, MOST_BRANCHES, Pins
from promptcache_gateway.fleet.prefix import Prefix


def test_the_longest_pinned_part_counts() -> None:
    pins = Pins()
    pins.put(Prefix(keys=(1, 2)), "a", 0.0)
    pins.put(Prefix(keys=(1, 2, 3, 4)), "b", 0.0)
    assert pins.find(Prefix(keys=(1, 2, 3, 4, 5)), 1.0) == "b"
    assert pins.find(Prefix(keys=(1, 2, 3)), 1.0) == "a"
    assert pins.find(Prefix(keys=(1,)), 1.0) is None
    assert pins.find(Prefix(keys=(1, 2)), LIFETIME_S + 1) is None


def test_an_end_that_many_go_on_from_is_not_followed() -> None:
    pins = Pins()
    pins.put(Prefix(keys=(1,)), "a", 0.0)
    for number in range(MOST_BRANCHES):
        assert pins.find(Prefix(keys=(1, 100 + number)), 0.0) == "a"
        pins.put(Prefix(keys=(1, 100 + number)), "a", 0.0)
    assert pins.find(Prefix(keys=(1, 7)), 0.0) is None
    assert pins.find(Prefix(keys=(1, 100, 5)), 0.0) == "a"


def test_the_oldest_are_forgotten() -> None:
    pins = Pins(max_pins=3)
    for number in range(10):
        pins.put(Prefix(keys=(number,)), "a", 0.0)
    assert len(pins) == 3
    assert pins.find(Prefix(keys=(9,)), 0.0) == "a"
    assert pins.find(Prefix(keys=(6,)), 0.0) is None
    assert len(pins.news()) == 3


def test_another_process_learns_what_was_pinned() -> None:
    one, other = Pins(), Pins()
    one.put(Prefix(session=5, lifetime_s=60.0), "a", 0.0)
    other.put(Prefix(session=5, lifetime_s=60.0), "b", 10.0)
    other.learn(one.news())
    one.learn(other.news())
    assert one.find(Prefix(session=5), 20.0) == other.find(Prefix(session=5), 20.0) == "b"
    assert one.news() == []
