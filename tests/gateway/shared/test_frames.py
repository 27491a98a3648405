"""Messages between processes arrive whole, whichever threads send them."""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
from typing import TYPE_CHECKING

from promptcache_gateway.shared.frames import Channel, Kind, unpack

if TYPE_CHECKING:
    from collections.abc import Iterable

_EACH = 60
_SIZE = 40_000


def test_threads_and_the_loop_send_through_one_channel() -> None:
    async def play() -> list[int]:
        ours, theirs = socket.socketpair()
        channel, peer = await Channel.open(ours), await Channel.open(theirs)

        def send(sender: int) -> None:
            for number in range(_EACH):
                assert channel.send(Kind.SEEN, (sender * _EACH + number, b"x" * _SIZE))

        async def receive() -> list[int]:
            return [unpack(body)[0] async for _, body in peer.frames()]

        received = asyncio.create_task(receive())
        threads = [asyncio.create_task(asyncio.to_thread(send, sender)) for sender in (1, 2)]
        for number in range(_EACH):
            channel.send(Kind.RECORD, (number, b"x" * _SIZE))
            await asyncio.sleep(0)
        await asyncio.gather(*threads)
        await asyncio.sleep(0)
        await channel.close()
        found = await received
        await peer.close()
        return found

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        found = asyncio.run(play())
    finally:
        sys.setswitchinterval(interval)

    assert sorted(found) == list(range(3 * _EACH))
    for sender in range(3):
        own = [number for number in found if number // _EACH == sender]
        assert own == sorted(own)


class Watched(asyncio.StreamWriter):
    """A writer that notes which threads have written."""

    threads: set[int]

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.threads.add(threading.get_ident())
        super().write(data)

    def writelines(self, data: Iterable[bytes | bytearray | memoryview]) -> None:
        self.threads.add(threading.get_ident())
        super().writelines(data)


def test_only_the_loop_writes() -> None:
    async def play() -> bool:
        ours, theirs = socket.socketpair()
        loop = asyncio.get_running_loop()
        reader, plain = await asyncio.open_connection(sock=ours)
        protocol = plain.transport.get_protocol()
        assert isinstance(protocol, asyncio.StreamReaderProtocol)
        writer = Watched(plain.transport, protocol, reader, loop)
        writer.threads = set()
        channel, peer = Channel(reader, writer), await Channel.open(theirs)

        assert await asyncio.to_thread(channel.send, Kind.SEEN, "a large request")
        await asyncio.sleep(0)
        await channel.close()

        assert writer.threads == {threading.get_ident()}
        told = [unpack(body) async for _, body in peer.frames()]
        await peer.close()
        return told == ["a large request"]

    assert asyncio.run(play())


def test_a_thread_that_sends_when_the_loop_is_gone_is_told() -> None:
    async def play() -> Channel:
        ours, theirs = socket.socketpair()
        channel, peer = await Channel.open(ours), await Channel.open(theirs)
        await peer.close()
        await channel.close()
        return channel

    channel = asyncio.run(play())
    told: list[bool] = []
    sender = threading.Thread(target=lambda: told.append(channel.send(Kind.SEEN, 1)))
    sender.start()
    sender.join()
    assert told == [False]
