"""A caller that hangs up ends its request, however the server tells of it."""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from typing import TYPE_CHECKING, Any

import pytest

from promptcache_gateway import bounded_protocol
from promptcache_gateway.plane.hangup import EXTENSION, HangUps, HangUpWatch
from tests.gateway.mock_upstream import MockUpstream, Wire, call, wait_until

if TYPE_CHECKING:
    from tests.gateway.serving import Served


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


def test_who_says_that_it_sends_no_more_is_gone(proxied: Served, mock: MockUpstream) -> None:
    """A half-closed connection cannot be told from one whose caller has left; nothing is done for it."""

    async def silent(wire: Wire) -> None:
        await wire.gone()
        mock.closed.set()

    mock.script = silent
    body = b'{"model":"m","messages":[]}'
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n" % len(body)
    with socket.create_connection(("127.0.0.1", int(proxied.url.rpartition(":")[2])), timeout=20) as caller:
        caller.sendall(head + body)
        wait_until(lambda: mock.seen)
        caller.shutdown(socket.SHUT_WR)
        assert caller.recv(1) == b""
    assert mock.wait_closed()
    rows = proxied.get("/promptcache/v1/requests").json()["data"]
    assert [(row["status"], row["error"]) for row in rows] == [(499, "caller_gone")]


HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n"
BODY = b'{"model":"m","messages":[]}'


@pytest.mark.parametrize(
    ("first", "then"),
    [
        pytest.param(b"", (HEAD % len(BODY) + BODY) * 2, id="another request"),
        pytest.param(HEAD % len(BODY) + BODY[:3], BODY[3:], id="a body at once"),
    ],
)
def test_who_leaves_is_missed_whatever_came_last(
    first: bytes,
    then: bytes,
    proxied: Served,
    mock: MockUpstream,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def silent(wire: Wire) -> None:
        await wire.gone()
        mock.closed.set()

    assert proxied.loop is not None
    monkeypatch.setattr(bounded_protocol, "HIGH_WATER_LIMIT", 9)
    mock.script = silent
    with socket.create_connection(("127.0.0.1", int(proxied.url.rpartition(":")[2])), timeout=20) as caller:
        caller.sendall(first)
        call(proxied.loop, asyncio.sleep(0.1))
        proxied.loop.call_soon_threadsafe(time.sleep, 0.1)  # all of what follows is there when it looks again
        caller.sendall(then)
        wait_until(lambda: mock.seen)
        call(proxied.loop, asyncio.sleep(0.02))
    assert mock.wait_closed()
    wait_until(lambda: not len(proxied.gateway._requests))
    call(proxied.loop, asyncio.sleep(0.02))
    rows = proxied.get("/promptcache/v1/requests").json()["data"]
    assert [(row["status"], row["error"]) for row in rows] == [(499, "caller_gone")]
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


@pytest.mark.parametrize("abruptly", [False, True], ids=["closes", "resets"])
@pytest.mark.parametrize("large", [False, True], ids=["small", "large"])
def test_who_hangs_up_behind_a_request_that_waits_is_noticed(
    proxied: Served, mock: MockUpstream, large: bool, abruptly: bool
) -> None:
    """The later request has paused reading, behind which the end of the connection is not read."""

    async def hangs(wire: Wire) -> None:
        await wire.gone()
        mock.closed.set()

    mock.script = hangs
    text = b"x" * (900_000 if large else 3)
    body = b'{"model":"m","messages":[{"role":"user","content":"' + text + b'"}]}'
    asked = b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n" % len(body)
    with socket.create_connection(("127.0.0.1", int(proxied.url.rpartition(":")[2]))) as caller:
        caller.setblocking(True)
        caller.sendall(asked + body + asked + body[:2_000])
        wait_until(lambda: mock.seen, 20)
        if abruptly:
            caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert mock.closed.wait(10), "the upstream's call goes on, and nobody waits for it"
    wait_until(lambda: proxied.get("/promptcache/v1/requests").json()["data"], 10)
    found = proxied.get("/promptcache/v1/requests").json()["data"]
    assert [(row["status"], row["error"]) for row in found] == [(499, "caller_gone")]
    assert len(mock.seen) == 1
