"""A caller that hangs up ends its request, however the server tells of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from promptcache_gateway.plane.hangup import EXTENSION, HangUps, HangUpWatch


async def _never() -> dict[str, Any]:
    await asyncio.sleep(60)
    raise AssertionError


async def _work(watch: HangUpWatch) -> str:
    try:
        with watch:
            await asyncio.sleep(60)
    except asyncio.CancelledError:
        return "gave up" if watch.gone else "was cancelled"
    return "finished"


async def test_a_server_that_tells_is_not_waited_for() -> None:
    connection = HangUps()
    working = asyncio.create_task(_work(HangUpWatch({"extensions": {EXTENSION: connection}}, _never)))
    await asyncio.sleep(0)
    assert len(asyncio.all_tasks()) == 2  # the test's and the request's
    connection.happened()
    assert await working == "gave up"


async def test_another_server_is() -> None:
    gone = asyncio.Event()

    async def receive() -> dict[str, Any]:
        await gone.wait()
        return {"type": "http.disconnect"}

    working = asyncio.create_task(_work(HangUpWatch({}, receive)))
    await asyncio.sleep(0)
    gone.set()
    assert await working == "gave up"


async def test_who_hung_up_before_is_gone_at_once() -> None:
    connection = HangUps()
    connection.happened()
    working = asyncio.create_task(_work(HangUpWatch({"extensions": {EXTENSION: connection}}, _never)))
    assert await working == "gave up"


@pytest.mark.parametrize("told", [True, False])
async def test_a_request_that_has_ended_is_not_cancelled_any_more(told: bool) -> None:
    connection, gone = HangUps(), asyncio.Event()

    async def receive() -> dict[str, Any]:
        await gone.wait()
        return {"type": "http.disconnect"}

    watch = HangUpWatch({"extensions": {EXTENSION: connection}} if told else {}, receive)
    with watch:
        await asyncio.sleep(0)
    connection.happened()
    gone.set()
    await asyncio.sleep(0)
    assert not watch.gone
    assert len(asyncio.all_tasks()) == 1


async def test_every_request_of_a_connection_is_told_and_another_end_is_another_matter() -> None:
    connection = HangUps()
    scope = {"extensions": {EXTENSION: connection}}
    first, second, stopped = [asyncio.create_task(_work(HangUpWatch(scope, _never))) for _ in range(3)]
    await asyncio.sleep(0)
    stopped.cancel()
    assert await stopped == "was cancelled"
    connection.happened()
    assert [await first, await second] == ["gave up", "gave up"]
