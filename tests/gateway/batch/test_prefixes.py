"""The order of prefixes, who leads whom, and whose turn it is."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from promptcache_gateway.batch.prefixes import (
    FREE,
    WIDTH,
    characters,
    leaders,
    prefix_key,
    prefix_order,
    shared,
    shares,
)
from promptcache_gateway.batch.turns import Turns

KEYS = st.lists(
    st.lists(st.sampled_from([b"aaaaaaaa", b"bbbbbbbb", b"aaaaaaab"]), max_size=6).map(b"".join), max_size=14
)


def body(text: str, model: str = "m") -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": text}]}


def test_a_key_covers_model_and_text() -> None:
    long = "word " * 20_000
    one, other = prefix_key(body(long + "x")), prefix_key(body(long + "y" * 9_000))
    assert shared(one, other) * WIDTH >= len(one) - WIDTH
    assert characters(shared(one, other)) > 97_000
    assert len(one) < len(long) / 100
    assert shared(one, prefix_key(body(long, "other"))) == 0
    assert len(prefix_key({"messages": 7})) == WIDTH, "what cannot be cut is sent all the same"
    assert prefix_key(body("\ud800" * 300)) != prefix_key(body("\ud801" * 300))


@given(KEYS)
def test_the_order_keeps_all_that_begin_alike_together(keys: list[bytes]) -> None:
    order = list(prefix_order(keys, range(len(keys))))
    assert sorted(order) == list(range(len(keys)))
    for pieces in range(1, 7):
        runs = [keys[at][: pieces * WIDTH] for at in order if len(keys[at]) >= pieces * WIDTH]
        starts = [run for at, run in enumerate(runs) if at == 0 or runs[at - 1] != run]
        assert len(starts) == len(set(starts)), "a prefix is left and come back to"


@given(KEYS)
def test_nothing_earlier_shares_more_than_the_neighbour(keys: list[bytes]) -> None:
    order = prefix_order(keys, range(len(keys)))
    common = shares(keys, order)
    for place, at in enumerate(order):
        best = max((characters(shared(keys[at], keys[other])) for other in order[:place]), default=0)
        assert common[place] == best


@given(st.lists(st.integers(0, 4_000), max_size=20))
def test_a_leader_is_the_first_with_the_prefix(common: list[int]) -> None:
    for place, leader in enumerate(leaders(common)):
        if place == 0 or common[place] < 512:
            assert leader == FREE
        else:
            assert all(common[other] >= common[place] for other in range(leader + 1, place + 1))
            assert leader == 0 or common[leader] < common[place]


async def test_who_is_held_goes_when_the_leader_begins() -> None:
    turns = Turns([FREE, 0, 0, FREE, 3], hold_s=60)
    assert [await turns.next(), await turns.next()] == [0, 3]
    third = asyncio.create_task(turns.next())
    await asyncio.sleep(0)
    assert not third.done()
    turns.begun(0)
    assert await third == 1
    turns.begun(3)
    assert [await turns.next(), await turns.next(), await turns.next(), await turns.next()] == [
        2,
        4,
        None,
        None,
    ]


async def test_a_leader_that_fails_is_followed_by_one_not_by_all() -> None:
    turns = Turns([FREE, 0, 0, 0], hold_s=60)
    assert await turns.next() == 0
    turns.failed(0)
    assert await turns.next() == 1
    last = asyncio.create_task(turns.next())
    await asyncio.sleep(0)
    assert not last.done()
    turns.begun(1)
    assert [await last, await turns.next(), await turns.next()] == [2, 3, None]


async def test_nobody_is_held_for_ever() -> None:
    turns = Turns([FREE, 0], hold_s=0.01)
    assert [await turns.next(), await turns.next(), await turns.next()] == [0, 1, None]


async def test_when_it_is_stopped_nobody_has_a_turn() -> None:
    turns = Turns([FREE, 0, FREE], hold_s=60)
    assert await turns.next() == 0
    turns.stop()
    assert await turns.next() is None


@given(st.data())
def test_each_has_one_turn_whatever_fails(data: st.DataObject) -> None:
    size = data.draw(st.integers(0, 12))
    waits = [FREE if place == 0 else data.draw(st.integers(FREE, place - 1)) for place in range(size)]
    fails = data.draw(st.lists(st.booleans(), min_size=size, max_size=size))

    async def work(turns: Turns, had: list[int]) -> None:
        while (place := await turns.next()) is not None:
            had.append(place)
            await asyncio.sleep(0)
            (turns.failed if fails[place] else turns.begun)(place)

    async def all_of_them() -> list[int]:
        turns, had = Turns(waits, hold_s=60), []
        await asyncio.wait_for(asyncio.gather(*(work(turns, had) for _ in range(3))), 10)
        return had

    assert sorted(asyncio.run(all_of_them())) == list(range(size))
