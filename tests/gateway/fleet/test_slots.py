"""The line before a fleet that is full."""

from __future__ import annotations

import asyncio

import pytest

from promptcache_gateway.fleet.slots import Slots


async def test_who_waited_longest_goes_first() -> None:
    slots, order = Slots(), []

    async def one(number: int) -> None:
        await slots.wait(5.0)
        order.append(number)

    tasks = []
    for number in range(3):
        tasks.append(asyncio.create_task(one(number)))
        await asyncio.sleep(0)
    for left in (2, 1, 0):
        slots.free()
        await asyncio.sleep(0.001)
        assert len(slots) == left
    await asyncio.gather(*tasks)
    assert (order, slots.waited) == ([0, 1, 2], 3)


async def test_who_gave_up_takes_nobodys_turn() -> None:
    slots = Slots()
    leaving, staying = asyncio.create_task(slots.wait(5.0)), asyncio.create_task(slots.wait(5.0))
    await asyncio.sleep(0)
    slots.free()
    leaving.cancel()  # in the very moment in which it was its turn
    with pytest.raises(asyncio.CancelledError):
        await leaving
    await asyncio.wait_for(staying, 1)
    assert len(slots) == 0


async def test_waiting_has_an_end() -> None:
    slots = Slots()
    with pytest.raises(TimeoutError):
        await slots.wait(0.01)
    assert len(slots) == 0
    slots.free()


async def test_one_that_was_woken_in_vain_stands_first() -> None:
    slots, order = Slots(), []

    async def one(name: str, *, again: bool) -> None:
        await slots.wait(5.0, again=again)
        order.append(name)

    tasks = [asyncio.create_task(one("late", again=False))]
    await asyncio.sleep(0)
    tasks.append(asyncio.create_task(one("again", again=True)))
    await asyncio.sleep(0)
    slots.free()
    await asyncio.sleep(0)
    slots.free_all()
    await asyncio.gather(*tasks)
    assert (order, slots.waited) == (["again", "late"], 1)


async def test_who_cannot_use_the_room_is_passed_over() -> None:
    slots, barred = Slots(), True
    first = asyncio.create_task(slots.wait(5.0, may=lambda: not barred))
    await asyncio.sleep(0)
    assert not slots.wanted
    second = asyncio.create_task(slots.wait(5.0))
    await asyncio.sleep(0)
    assert slots.wanted
    slots.free()
    await asyncio.wait_for(second, 1)
    slots.free()
    assert not first.done()
    barred = False
    slots.free()
    await asyncio.wait_for(first, 1)
