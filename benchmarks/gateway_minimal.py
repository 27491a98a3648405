"""The least that a proxy in Python can be: asyncio's protocols and httptools, no ASGI and no client library.

It sends everything on as a `POST`, keeps connections on both sides, and passes an answer's body on as it
comes. Started by `gateway.py` in a process of its own, beside the floor: the difference is what uvicorn and
aiohttp cost.
"""

from __future__ import annotations

import asyncio
from collections import deque
from urllib.parse import urlsplit

import httptools

_HEAD = b"POST %b HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"


class Upstream(asyncio.Protocol):
    """A connection to the upstream. It serves one caller after another.

    Attributes:
        caller: whom the answer is for.
    """

    def __init__(self, idle: deque[Upstream]) -> None:
        self.caller: Caller | None = None
        self._idle = idle
        self._parser = httptools.HttpResponseParser(self)
        self._kind, self._length, self._chunked = b"", b"", False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport = transport

    def connection_lost(self, _: Exception | None) -> None:
        """Serve nobody from now on."""
        if self in self._idle:
            self._idle.remove(self)

    def ask(self, caller: Caller, request: bytes) -> None:
        """Send a request; the answer goes to ``caller``."""
        self.caller = caller
        self._kind, self._length, self._chunked = b"", b"", False
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        """Read some of an answer."""
        self._parser.feed_data(data)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Note what is passed on."""
        name = name.lower()
        if name == b"content-type":
            self._kind = value
        elif name == b"content-length":
            self._length = value
        elif name == b"transfer-encoding":
            self._chunked = True

    def on_headers_complete(self) -> None:
        """Begin the answer."""
        framing = b"transfer-encoding: chunked" if self._chunked else b"content-length: " + self._length
        head = b"HTTP/1.1 %d OK\r\ncontent-type: %b\r\n%b\r\n\r\n"
        self._head = head % (self._parser.get_status_code(), self._kind, framing)
        if self._chunked:
            self._pass_on(self._head)

    def on_body(self, body: bytes) -> None:
        """Pass a piece on."""
        if self._chunked:
            self._pass_on(b"%x\r\n%b\r\n" % (len(body), body))
        else:
            self._pass_on(self._head + body)
            self._head = b""

    def on_message_complete(self) -> None:
        """End the answer; the connection is free."""
        if self._chunked:
            self._pass_on(b"0\r\n\r\n")
        self.caller = None
        self._parser = httptools.HttpResponseParser(self)
        self._idle.append(self)

    def _pass_on(self, data: bytes) -> None:
        if self.caller is not None:
            self.caller.transport.write(data)


class Caller(asyncio.Protocol):
    """A caller's connection."""

    def __init__(self, host: str, port: int, idle: deque[Upstream]) -> None:
        self._host, self._port, self._idle = host, port, idle
        self._parser = httptools.HttpRequestParser(self)
        self._url, self._body = b"", []
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Read some of a request."""
        self._parser.feed_data(data)

    def on_message_begin(self) -> None:
        """Forget the last request."""
        self._url, self._body = b"", []

    def on_url(self, url: bytes) -> None:
        """Note where it goes."""
        self._url = url

    def on_body(self, body: bytes) -> None:
        """Keep a piece of it."""
        self._body.append(body)

    def on_message_complete(self) -> None:
        """Forward it, over a connection that is free or a new one."""
        body = b"".join(self._body)
        request = _HEAD % (self._url, len(body)) + body
        if self._idle:
            self._idle.pop().ask(self, request)
            return
        task = asyncio.ensure_future(self._connect(request))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connect(self, request: bytes) -> None:
        loop = asyncio.get_running_loop()
        _, upstream = await loop.create_connection(lambda: Upstream(self._idle), self._host, self._port)
        upstream.ask(self, request)


async def minimal(port: int, upstream: str) -> None:
    """Forward bytes between sockets."""
    parts, idle = urlsplit(upstream), deque[Upstream]()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: Caller(parts.hostname or "", parts.port or 80, idle), "127.0.0.1", port
    )
    await server.serve_forever()
