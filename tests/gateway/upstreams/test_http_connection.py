"""When a connection takes a silent server for gone: what it has left to send tells how far it is."""

from __future__ import annotations

import asyncio

import pytest

from promptcache_gateway.upstreams.http_connection import HttpConnection

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"
LARGE = bytes(100_000)


class Transport(asyncio.Transport):
    """Has less and less to send each time it is asked, and answers when nothing is left to tell."""

    def __init__(self, connection: HttpConnection, *unsent: int) -> None:
        super().__init__()
        self._connection = connection
        self.unsent = list(unsent)
        self.aborted = False

    def is_closing(self) -> bool:
        return self.aborted

    def write(self, data: bytes | bytearray | memoryview) -> None: ...

    def writelines(self, list_of_data: object) -> None: ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def abort(self) -> None:
        self.aborted = True

    def get_write_buffer_size(self) -> int:
        unsent = self.unsent.pop(0) if self.unsent else 0
        if not self.unsent:
            asyncio.get_running_loop().call_soon(self._connection.data_received, OK)
        return unsent


def connected(*unsent: int, read_timeout_s: float) -> tuple[HttpConnection, Transport]:
    connection = HttpConnection(read_timeout_s, lambda _: None, lambda _: None)
    transport = Transport(connection, *unsent)
    connection.connection_made(transport)
    return connection, transport


async def test_a_server_that_takes_a_large_request_slowly_is_waited_for() -> None:
    connection, transport = connected(*range(90_000, 0, -10_000), read_timeout_s=0.01)
    answer = connection.send(b"", LARGE)
    await answer.head()
    assert (answer.status, transport.unsent) == (200, [])


async def test_a_server_that_takes_no_more_is_given_up() -> None:
    connection, transport = connected(90_000, 80_000, 80_000, 70_000, 60_000, read_timeout_s=0.01)
    answer = connection.send(b"", LARGE)
    with pytest.raises(TimeoutError):
        await answer.head()
    assert (transport.aborted, transport.unsent) == (True, [70_000, 60_000])


async def test_the_end_of_a_large_request_is_a_sign_of_life_and_no_more() -> None:
    connection, _ = connected(90_000, 0, read_timeout_s=1_000.0)
    connection.send(b"", LARGE)
    before = connection._deadline
    await asyncio.sleep(0.001)
    connection.resume_writing()
    assert connection._deadline > before
    connection._deadline = 0.0
    connection._when_due()  # nothing was left to send then: this is no news of the server
    assert connection.closed


async def test_a_server_is_not_blamed_for_a_reader_who_is_behind() -> None:
    connection, transport = connected(0, 0, 0, read_timeout_s=1_000.0)
    answer = connection.send(b"", None)
    connection.data_received(b"HTTP/1.1 200 OK\r\ncontent-length: 400000\r\n\r\n" + bytes(300_000))
    assert answer.paused
    connection._deadline = 0.0
    connection._when_due()
    assert not transport.aborted
    assert len(answer._take()) == 300_000
    connection._deadline = 0.0
    connection._when_due()
    assert transport.aborted
