"""A scripted HTTP server on loopback: it keeps the bytes of every request and answers with given bytes.

It is written on bare sockets, so that a test can see exactly what came, and answer with what no
framework would send: torn bodies, silence, resets.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import orjson


@dataclass
class Seen:
    """A request as it arrived."""

    line: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Wire:
    """The connection a script answers on."""

    seen: Seen
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def respond(
        self,
        body: bytes,
        *,
        status: str = "200 OK",
        headers: tuple[str, ...] = (),
        kind: str = "application/json",
    ) -> None:
        head = [f"HTTP/1.1 {status}", f"content-type: {kind}", f"content-length: {len(body)}", *headers]
        await self.send("\r\n".join(head).encode() + b"\r\n\r\n" + body)

    async def start_events(self, *headers: str) -> None:
        head = ["HTTP/1.1 200 OK", "content-type: text/event-stream", "transfer-encoding: chunked", *headers]
        await self.send("\r\n".join(head).encode() + b"\r\n\r\n")

    async def part(self, data: bytes) -> None:
        await self.send(b"%x\r\n" % len(data) + data + b"\r\n")

    async def end(self) -> None:
        await self.send(b"0\r\n\r\n")

    async def events(self, *events: bytes) -> None:
        await self.start_events()
        for event in events:
            await self.part(event)
        await self.end()

    def reset(self) -> None:
        """Drop the connection so that the peer sees a reset."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    async def gone(self) -> None:
        """Wait until the peer has closed the connection."""
        while await self.reader.read(65536):
            pass


Script = Callable[[Wire], Awaitable[None]]


@dataclass
class MockUpstream:
    """The server; ``script`` may be changed at any time."""

    script: Script
    seen: list[Seen] = field(default_factory=list)
    closed: threading.Event = field(default_factory=threading.Event)
    url: str = ""

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (seen := await _read(reader)) is not None:
                self.seen.append(seen)
                await self.script(Wire(seen, reader, writer))
                if writer.is_closing():
                    return
        except (ConnectionError, asyncio.IncompleteReadError):
            self.closed.set()
        except asyncio.CancelledError:
            pass
        finally:
            writer.close()

    @property
    def last(self) -> Seen:
        return self.seen[-1]

    def wait_closed(self) -> bool:
        return self.closed.wait(5)


async def _read(reader: asyncio.StreamReader) -> Seen | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Seen(lines[0], headers, body)


@contextmanager
def mock_upstream(script: Script) -> Iterator[MockUpstream]:
    """Run the server in a thread of its own."""
    mock = MockUpstream(script)
    with in_thread() as loop:
        server = call(loop, asyncio.start_server(mock._serve, "127.0.0.1", 0, limit=2**26))
        mock.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield mock
        finally:
            call(loop, _stop(server))


async def _stop(server: asyncio.Server) -> None:
    server.close()
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await server.wait_closed()


@contextmanager
def in_thread() -> Iterator[asyncio.AbstractEventLoop]:
    """A running event loop in a thread."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


def call(loop: asyncio.AbstractEventLoop, coroutine):
    return asyncio.run_coroutine_threadsafe(coroutine, loop).result(30)


def wait_until(condition: Callable[[], object], seconds: float = 5.0) -> None:
    """Wait for something another thread does."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


# --- what an OpenAI-compatible server says ---

USAGE = {
    "prompt_tokens": 2006,
    "completion_tokens": 3,
    "total_tokens": 2009,
    "prompt_tokens_details": {"cached_tokens": 1920, "cache_write_tokens": 0, "audio_tokens": 0},
}
CHAT = {
    "id": "chatcmpl-mock",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "system_fingerprint": "fp_1",
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "Hello there."}, "finish_reason": "stop"}
    ],
    "usage": USAGE,
}
# Not what any encoder writes twice: odd spaces, escapes, a number no double can hold, an unknown field.
CHAT_BYTES = (
    b'{ "id":"chatcmpl-mock","object" : "chat.completion","created":1,"model":"m",'
    b'"x_odd":123456789012345678901,"choices":[{"index":0,"message":{"role":"assistant",'
    b'"content":"caf\\u00e9  \\/ ok"},"finish_reason":"stop"}],"usage":' + orjson.dumps(USAGE) + b"}\n"
)


def sse(payload: object) -> bytes:
    return b"data: " + orjson.dumps(payload) + b"\n\n"


def chunk(text: str, **more: object) -> dict[str, object]:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
    head = {"id": "chatcmpl-mock", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return {**head, "choices": [choice], **more}


USAGE_CHUNK = {**chunk(""), "choices": [], "usage": USAGE}
DONE = b"data: [DONE]\n\n"


async def answer_chat(wire: Wire) -> None:
    """Answer as OpenAI does, streamed where asked for, usage chunk where asked for."""
    request = json.loads(wire.seen.body) if wire.seen.body else {}
    if not request.get("stream"):
        await wire.respond(CHAT_BYTES, headers=("x-request-id: req_1",))
        return
    wants_usage = bool((request.get("stream_options") or {}).get("include_usage"))
    tail = [sse(USAGE_CHUNK)] if wants_usage else []
    await wire.events(sse(chunk("Hello")), b": keep-alive\n\n", sse(chunk(" there.")), *tail, DONE)
