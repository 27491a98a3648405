"""A gateway that is stopped at once ends what still runs, and says to each who ended it."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import TYPE_CHECKING

from promptcache_gateway.running import Running
from tests.gateway.mock_upstream import MockUpstream, Wire, call, wait_until

if TYPE_CHECKING:
    from promptcache_gateway.observe import RequestRecord
    from tests.gateway.serving import Served


def test_who_still_waits_is_told_and_recorded_before_the_upstreams_are_closed(
    mock: MockUpstream, proxied: Served
) -> None:
    async def silent(wire: Wire) -> None:
        await wire.gone()

    mock.script = silent
    records: list[RequestRecord] = []
    proxied.gateway.observer._listeners = (records.append,)
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}).encode()
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n" % len(body)
    with socket.create_connection(("127.0.0.1", int(proxied.url.rpartition(":")[2])), timeout=20) as caller:
        caller.sendall(head + body)
        wait_until(lambda: mock.seen)
        call(proxied.loop, proxied.gateway.close())
        told = caller.recv(65536)
    assert told.startswith(b"HTTP/1.1 503 ")
    assert b'"code":"shutting_down"' in told
    assert [(record.status, record.error) for record in records] == [(503, "shutting_down")]


async def test_each_is_told_once_and_waited_for() -> None:
    running, may_end = Running(), asyncio.Event()
    said: list[str] = []

    async def work() -> None:
        with running.this() as task:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                task.uncancel()
                await may_end.wait()
                said.append("ended")

    tasks = [asyncio.create_task(work()) for _ in range(2)]
    await asyncio.sleep(0)
    assert (len(running), running.end(), running.end()) == (2, 2, 0)
    assert not await running.ended(0.01)
    may_end.set()
    assert await running.ended(10)
    await asyncio.gather(*tasks)
    assert (said, len(running)) == (["ended", "ended"], 0)
