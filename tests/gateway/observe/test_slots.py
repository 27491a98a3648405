"""Names in use: bounded; the longest idle gives way after a day, one that was used once after an hour."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from promptcache_gateway.observe.slots import Slots

DAY, HOUR = 86_400.0, 3_600.0


def full(*names: str, now: float = 0.0) -> Slots:
    slots = Slots(len(names))
    for name in names:
        slots.add(name, now)
        slots.use(name, now)
    return slots


def test_a_name_that_came_once_gives_way_after_an_hour_and_one_in_use_does_not() -> None:
    slots = full("used", "once")
    slots.use("used", 1.0)

    assert slots.make_room(HOUR - 1) == (False, None)
    assert slots.make_room(HOUR + 1) == (True, "once")
    slots.add("new", HOUR + 1)
    slots.use("new", HOUR + 1)
    slots.use("new", HOUR + 2)
    assert slots.make_room(HOUR * 9) == (False, None)
    assert slots.make_room(DAY + 2) == (True, "used")


def test_names_of_an_earlier_run_are_not_on_trial() -> None:
    slots = Slots(1)
    slots.add("known", 0.0, settled=True)

    assert slots.make_room(HOUR * 2) == (False, None)
    assert slots.make_room(DAY) == (True, "known")


def test_only_a_few_an_hour_give_way() -> None:
    slots = full(*(f"n{number}" for number in range(100)))
    gone = 0
    for second in range(100):
        room, _ = slots.make_room(HOUR + second)
        gone += room
        if room:
            slots.add(f"m{second}", HOUR + second)
            slots.use(f"m{second}", HOUR + second)
    assert gone == 32
    assert slots.make_room(2 * HOUR) == (True, "n32")


def test_none_fits_where_there_is_no_place() -> None:
    assert Slots(0).make_room(0.0) == (False, None)


@given(st.lists(st.tuples(st.integers(0, 9), st.floats(0, 9_000)), max_size=60))
def test_never_more_than_there_may_be(asked: list[tuple[int, float]]) -> None:
    slots, now = Slots(4), 0.0
    for name, passed in asked:
        now += passed
        if str(name) not in slots:
            room, gone = slots.make_room(now)
            assert gone is None or gone not in slots
            if not room:
                continue
            slots.add(str(name), now)
        slots.use(str(name), now)
        assert str(name) in slots
        assert len(slots) <= 4
