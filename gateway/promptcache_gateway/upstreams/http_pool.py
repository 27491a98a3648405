"""Connections to one foreign server: kept while they are of use, opened when there is none to spare.

There is no bound: how many requests run at a time is the gateway's business. Names are resolved and
addresses tried as aiohttp does it, by the same library.
"""

from __future__ import annotations

import asyncio
import functools
import socket
import ssl
from typing import TYPE_CHECKING

import aiohappyeyeballs

from promptcache_gateway.upstreams.http_connection import HttpConnection

if TYPE_CHECKING:
    from yarl import URL

    from promptcache_gateway.upstreams.http_answer import HttpAnswer

_NEXT_ADDRESS_S = 0.25


class ConnectTimeoutError(TimeoutError):
    """No connection came about in time."""


class UnreachableError(ConnectionError):
    """No connection came about: no such name, refused, no route, or TLS that is not trusted."""


class HttpPool:
    """The pool.

    Args:
        address: the server's; its path does not matter.
        connect_timeout_s: seconds to resolve its name, reach it and agree on TLS.
        read_timeout_s: seconds of silence after which an exchange is given up.
        idle_s: seconds that a connection is kept for the next request.
    """

    def __init__(
        self, address: URL, *, connect_timeout_s: float, read_timeout_s: float, idle_s: float
    ) -> None:
        assert address.raw_host is not None, "settings are checked"
        self._host, self._port = address.raw_host, address.port
        self._connect_timeout_s = connect_timeout_s
        self._read_timeout_s = read_timeout_s
        self._idle_s = idle_s
        self._tls = _trust() if address.scheme == "https" else None
        self._loop = asyncio.get_running_loop()
        self._all: set[HttpConnection] = set()
        self._idle: list[HttpConnection] = []
        self._sweeping: asyncio.TimerHandle | None = None
        self.closed = False

    async def send(self, head: bytes, body: bytes | None) -> HttpAnswer:
        """Send a request and wait for the head of its answer.

        Raises:
            ConnectTimeoutError: no connection came about in time.
            UnreachableError: none came about.
            TimeoutError: the server says nothing.
            BrokenAnswerError: what it says is no answer, or the beginning of one.
            OSError: it hung up, and not one byte came.
        """
        if self.closed:
            raise UnreachableError("the pool is closed")
        connection = self._spare() or await self._connect()
        answer = connection.send(head, body)
        try:
            await answer.head()
        except BaseException:
            answer.close()
            raise
        return answer

    async def close(self) -> None:
        """Close every connection, also those in use."""
        self.closed = True
        if self._sweeping is not None:
            self._sweeping.cancel()
        for connection in tuple(self._all):
            connection.abort()
        while self._all:  # noqa: ASYNC110 - the event loop tells each in its next rounds that it is gone
            await asyncio.sleep(0)

    def _spare(self) -> HttpConnection | None:
        """The connection that was used last, unless it has been idle for too long."""
        while self._idle:
            connection = self._idle.pop()
            if connection.closed:
                continue
            if self._loop.time() - connection.idle_since < self._idle_s:
                return connection
            connection.abort()
        return None

    async def _connect(self) -> HttpConnection:
        try:
            async with asyncio.timeout(self._connect_timeout_s):
                connection = await self._agree(await self._reach())
        except TimeoutError as error:
            raise ConnectTimeoutError from error
        except (OSError, UnicodeError) as error:
            raise UnreachableError from error
        if self.closed:
            connection.abort()
        if not connection.closed:
            self._all.add(connection)
        return connection

    async def _reach(self) -> socket.socket:
        """A connected socket; raises `OSError`, or `UnicodeError` for what cannot be a name."""
        found = await self._loop.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
        reached = await aiohappyeyeballs.start_connection(
            found, happy_eyeballs_delay=_NEXT_ADDRESS_S, loop=self._loop
        )
        reached.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return reached

    async def _agree(self, reached: socket.socket) -> HttpConnection:
        """A connection over the socket, with TLS where the address asks for it; raises `OSError`."""
        try:
            _, connection = await self._loop.create_connection(
                lambda: HttpConnection(self._read_timeout_s, self._put_back, self._all.discard),
                sock=reached,
                ssl=self._tls,
                server_hostname=None if self._tls is None else self._host.rstrip("."),
            )
        except BaseException:
            reached.close()
            raise
        return connection

    def _put_back(self, connection: HttpConnection) -> None:
        self._idle.append(connection)
        if self._sweeping is None and not self.closed:
            self._sweeping = self._loop.call_later(self._idle_s, self._sweep)

    def _sweep(self) -> None:
        """Close what has been idle for too long, and come again while there is anything left."""
        oldest = self._loop.time() - self._idle_s
        kept = [one for one in self._idle if one.idle_since > oldest and not one.closed]
        for connection in self._idle:
            if connection not in kept:
                connection.abort()
        self._idle = kept
        self._sweeping = self._loop.call_later(self._idle_s, self._sweep) if kept else None


@functools.cache
def _trust() -> ssl.SSLContext:
    """Whom TLS trusts: the system's authorities. Reading them takes long enough to do it once."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
