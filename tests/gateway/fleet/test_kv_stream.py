"""Events over ZMQ: in order, with gaps, with a replay or without, across restarts of the engine."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from promptcache_gateway.fleet.kv_index import KvIndex
from promptcache_gateway.fleet.kv_stream import KvStream, Sequence
from promptcache_gateway.fleet.prefix import Prefix
from promptcache_gateway.fleet.tree import PrefixTree
from tests.gateway.fleet.engines import FakeEngine, Publisher, publisher

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

KNOWN = Prefix(token_ids=tuple(range(41)), tokens=41)


@asynccontextmanager
async def following(publisher: Publisher, *, replay: bool = True) -> AsyncIterator[KvStream]:
    stream = KvStream(publisher.events, publisher.replay if replay else "", KvIndex(), PrefixTree())
    task = asyncio.create_task(stream.run())
    try:
        yield stream
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.01)


async def until_heard(publisher: Publisher, stream: KvStream) -> None:
    """Send empty messages until one arrives: a subscriber that has just come hears nothing for a moment."""
    before = stream.sequence.due
    engine = FakeEngine()
    async with asyncio.timeout(10):
        while stream.sequence.due == before:
            engine.batches.clear()
            engine.tell([])
            await publisher.send(*engine.batches)
            await asyncio.sleep(0.02)


async def test_events_are_followed() -> None:
    engine = FakeEngine()
    async with publisher() as pub, following(pub) as stream:
        await until_heard(pub, stream)
        engine.run(range(40))
        await pub.send(*engine.batches)
        await until(lambda: len(stream._index) == 10)
        assert stream._index.held(KNOWN) == (40, 0)
        assert stream.view()["whole"]


async def test_what_was_sent_before_is_asked_for() -> None:
    engine = FakeEngine()
    async with publisher() as pub:
        engine.run(range(40))
        await pub.send(*engine.batches)
        async with following(pub) as stream:
            await until(lambda: stream.replayed == 1)
            assert stream._index.held(KNOWN) == (40, 0)
            assert pub.asked == [0]


async def test_a_gap_is_filled_by_the_replay() -> None:
    engine = FakeEngine()
    async with publisher() as pub, following(pub) as stream:
        await until_heard(pub, stream)
        engine.run(range(20))
        engine.run(range(40))
        first, second = engine.batches
        gaps = stream.gaps
        await pub.send(first, lost=True)
        await pub.send(second)
        await until(lambda: stream._index.held(KNOWN) == (40, 0))
        assert stream.gaps == gaps + 1
        assert stream.view()["whole"]


@pytest.mark.parametrize("replay", [True, False])
async def test_a_gap_that_cannot_be_filled_makes_it_a_guess_until_the_cache_is_cleared(
    *, replay: bool
) -> None:
    engine = FakeEngine()
    async with publisher() as pub, following(pub, replay=replay) as stream:
        await until_heard(pub, stream)
        stream._index.begin(whole=True)
        engine.run(range(20))
        engine.run(range(40))
        first, second = engine.batches
        await pub.send(first, lost=True, keep=False)
        await pub.send(second)
        await until(lambda: not stream.view()["whole"])
        assert stream._index.held(KNOWN) is None
        engine.batches.clear()
        engine.clear()
        engine.run(range(40))
        await pub.send(*engine.batches)
        await until(lambda: stream._index.held(KNOWN) == (40, 0))


async def test_an_engine_that_was_started_anew_begins_at_zero() -> None:
    engine = FakeEngine()
    async with publisher() as pub, following(pub) as stream:
        await until_heard(pub, stream)
        engine.run(range(40))
        await pub.send(*engine.batches)
        await until(lambda: len(stream._index) == 10)
        anew = FakeEngine()
        anew.run(range(8))
        stream._tree.insert((1, 2, 3), 0.0)
        pub.number, pub.kept = 0, []
        await pub.send(*anew.batches)
        await until(lambda: stream._index.held(KNOWN) == (8, 0))
        assert len(stream._tree) == 0


async def test_clearing_clears_the_estimate_too() -> None:
    engine = FakeEngine()
    async with publisher() as pub, following(pub) as stream:
        await until_heard(pub, stream)
        stream._tree.insert((1, 2, 3), 0.0)
        engine.clear()
        await pub.send(*engine.batches)
        await until(lambda: len(stream._tree) == 0)


async def test_what_was_cleared_before_we_came_leaves_the_estimate_alone() -> None:
    engine = FakeEngine()
    async with publisher() as pub:
        engine.clear()
        engine.run(range(40))
        await pub.send(*engine.batches)
        stream = KvStream(pub.events, pub.replay, KvIndex(), PrefixTree())
        stream._tree.insert((1, 2, 3), 0.0)
        task = asyncio.create_task(stream.run())
        await until(lambda: stream.replayed == 2)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert stream._index.held(KNOWN) == (40, 0)
    assert len(stream._tree) == 3


async def test_a_message_that_cannot_be_read_ends_what_is_sure_and_nothing_else() -> None:
    engine = FakeEngine()
    async with publisher() as pub, following(pub) as stream:
        await until_heard(pub, stream)
        await pub.send(b"\xc1")
        await until(lambda: stream.unreadable == 1)
        assert not stream.view()["whole"]
        engine.clear()
        await pub.send(*engine.batches)
        await until(lambda: stream.view()["whole"])


def test_the_numbers_of_messages() -> None:
    numbers = Sequence()
    assert numbers.arrival(0) == "next"
    numbers.due = 1
    assert numbers.arrival(3) == "gap"
    numbers.due = 6  # a replay brought 1 to 5
    assert [numbers.arrival(number) for number in (4, 5)] == ["known", "known"]
    assert numbers.arrival(6) == "next"
    numbers.due = 7
    assert numbers.arrival(0) == "restart"
    assert numbers.due == 0


async def test_an_address_that_cannot_be_connected_to_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    index = KvIndex()
    await KvStream("tcp://nowhere", "", index).run()
    assert not index.whole
    (said,) = caplog.messages
    assert said.startswith("kv_events: tcp://nowhere cannot be connected to (")
    assert said.endswith("Write tcp://HOST:PORT.")


async def test_where_the_replay_cannot_be_reached_the_live_events_are_followed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with publisher() as pub:
        stream = KvStream(pub.events, "tcp://nowhere", KvIndex())
        task = asyncio.create_task(stream.run())
        try:
            await until_heard(pub, stream)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    assert caplog.text.count("kv_replay: tcp://nowhere cannot be connected to") == 1
