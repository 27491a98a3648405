"""The client of foreign servers: what it sends, what it makes of answers, which connection it takes again."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from yarl import URL

from promptcache_gateway.upstreams import http_answer, http_pool
from promptcache_gateway.upstreams.http_connection import BrokenAnswerError
from promptcache_gateway.upstreams.http_pool import ConnectTimeoutError, HttpPool, UnreachableError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

HEAD = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-A: 1\r\n\r\nhi"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
CERTIFICATE = Path(__file__).with_name("localhost.pem")  # its own authority, valid for a century


class Server:
    """Answers each request with the next of its scripts, and counts its connections."""

    def __init__(self, *scripts: bytes | Callable[[asyncio.StreamWriter], object]) -> None:
        self.scripts = list(scripts)
        self.received: list[bytes] = []
        self.writers: list[asyncio.StreamWriter] = []
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = [line for line in head.split(b"\r\n") if line.startswith(b"content-length: ")]
                body = await reader.readexactly(int(length[0][16:])) if length else b""
                self.received.append(head + body)
                script = self.scripts.pop(0)
                if isinstance(script, bytes):
                    writer.write(script)
                    await writer.drain()
                else:
                    script(writer)

    @contextlib.asynccontextmanager
    async def pool(
        self, tls: ssl.SSLContext | None = None, read_timeout_s: float = 5.0, idle_s: float = 5.0
    ) -> AsyncIterator[HttpPool]:
        """A pool to it; both are closed in the end, and every connection with them."""
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0, ssl=tls)
        self.port = server.sockets[0].getsockname()[1]
        scheme = "http" if tls is None else "https"
        pool = HttpPool(
            URL(f"{scheme}://localhost:{self.port}"),
            connect_timeout_s=5.0,
            read_timeout_s=read_timeout_s,
            idle_s=idle_s,
        )
        try:
            yield pool
        finally:
            await pool.close()
            server.close()
            for writer in self.writers:
                writer.close()
                with contextlib.suppress(OSError):
                    await writer.wait_closed()


def close(writer: asyncio.StreamWriter) -> None:
    writer.close()


def then_close(data: bytes) -> Callable[[asyncio.StreamWriter], object]:
    def script(writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        writer.close()

    return script


def reset_behind(data: bytes) -> Callable[[asyncio.StreamWriter], object]:
    def script(writer: asyncio.StreamWriter) -> None:
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.write(data)
        # A reset overtakes what has not been read.
        asyncio.get_running_loop().call_later(0.05, writer.transport.abort)

    return script


async def until(condition: Callable[[], bool]) -> None:
    """Let the event loop run until something holds."""
    async with asyncio.timeout(5.0):
        while not condition():
            await asyncio.sleep(0.001)


def unusable(pool: HttpPool) -> bool:
    """Whether no connection is left to be taken again."""
    return all(connection.closed for connection in pool._idle)


async def get(pool: HttpPool, body: bytes | None = None) -> bytes:
    head = HEAD if body is None else b"POST / HTTP/1.1\r\ncontent-length: %d\r\n\r\n" % len(body)
    answer = await pool.send(head, body)
    return await answer.read()


async def test_bytes_go_out_as_they_are_and_answers_come_back_on_one_connection() -> None:
    server = Server(OK, CHUNKED + b"2\r\nhi\r\n1\r\n!\r\n0\r\nX-Trailer: 1\r\n\r\n", OK)
    async with server.pool() as pool:
        answer = await pool.send(HEAD, None)
        assert (answer.status, answer.headers) == (200, [(b"content-length", b"2"), (b"x-a", b"1")])
        assert (answer.content_length, await answer.read(), await answer.read()) == (2, b"hi", b"")
        answer = await pool.send(HEAD, None)
        assert (answer.content_length, await answer.read()) == (None, b"hi!")
        assert answer.headers == [(b"transfer-encoding", b"chunked")]
        large = bytes(range(256)) * 4_000
        assert await get(pool, large) == b"hi"
        assert server.received[-1].endswith(b"\r\n\r\n" + large)
        assert len(server.writers) == 1


async def test_requests_at_one_time_have_connections_of_their_own() -> None:
    server = Server(*[OK] * 8)
    async with server.pool() as pool:
        assert await asyncio.gather(*[get(pool) for _ in range(4)]) == [b"hi"] * 4
        assert len(server.writers) == 4
        assert await asyncio.gather(*[get(pool) for _ in range(4)]) == [b"hi"] * 4
        assert len(server.writers) == 4


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        pytest.param(
            b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi", b"hi", id="asked"
        ),
        pytest.param(b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nhi", b"hi", id="old"),
        pytest.param(then_close(b"HTTP/1.1 200 OK\r\n\r\nto the end"), b"to the end", id="unframed"),
        pytest.param(then_close(b"HTTP/1.0 200 OK\r\n\r\n"), b"", id="unframed and empty"),
        pytest.param(OK + OK, b"hi", id="two answers to one request"),
        pytest.param(OK + OK[:-9], b"hi", id="one and a half"),
        pytest.param(OK + b"rubbish", b"hi", id="rubbish behind it"),
    ],
)
async def test_what_ends_a_connection(script: bytes, expected: bytes) -> None:
    server = Server(script, OK.replace(b"hi", b"ok"))
    async with server.pool() as pool:
        assert await get(pool) == expected
        await until(lambda: unusable(pool))
        assert await get(pool) == b"ok"
        assert len(server.writers) == 2


async def test_an_answer_that_nobody_asked_for_is_not_the_next_ones() -> None:
    server = Server(OK, OK.replace(b"hi", b"ok"))
    async with server.pool() as pool:
        assert await get(pool) == b"hi"
        server.writers[0].write(OK.replace(b"hi", b"no"))
        await until(lambda: unusable(pool))
        assert await get(pool) == b"ok"


async def test_nothing_at_all_is_an_error_and_no_connection_is_kept() -> None:
    server = Server(close, OK)
    async with server.pool() as pool:
        with pytest.raises(ConnectionError) as caught:
            await pool.send(HEAD, None)
        assert not isinstance(caught.value, UnreachableError | BrokenAnswerError)
        assert await get(pool) == b"hi"


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        pytest.param(then_close(b"H"), "breaks off", id="one byte"),
        pytest.param(then_close(b"HTTP/1.1 200"), "breaks off", id="half a line"),
        pytest.param(then_close(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n"), "breaks off", id="half a head"),
        pytest.param(then_close(b"HTTP/1.1 100 Continue\r\n\r\n"), "breaks off", id="no last head"),
        pytest.param(reset_behind(b"HTTP/1.1 200 OK\r\n"), "breaks off", id="a reset"),
        pytest.param(b"ICY 200 OK\r\n\r\n", "no HTTP", id="no HTTP"),
        pytest.param(b"HTTP/1.1 200 OK\r\ncontent-length: 2, 3\r\n\r\n", "no HTTP", id="two lengths"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n",
            "no HTTP",
            id="two framings",
        ),
        pytest.param(
            b"HTTP/1.1 101 OK\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n", "no HTTP", id="another protocol"
        ),
        pytest.param(b"HTTP/1.1 200 OK\r\nx: " + b"a" * 70_000 + b"\r\n\r\n", "65,536", id="a large header"),
        pytest.param(b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 20_000, "65,536", id="many headers"),
        pytest.param(OK.replace(b"200", b"600"), "no status 600", id="600"),
        pytest.param(OK.replace(b"200", b"999"), "no status 999", id="999"),
        pytest.param(OK.replace(b"200", b"000"), "no status 0", id="000"),
    ],
)
async def test_what_is_no_answer_is_told_from_silence_and_no_connection_is_kept(
    script: bytes | Callable[[asyncio.StreamWriter], object], reason: str
) -> None:
    server = Server(script, OK)
    async with server.pool() as pool:
        with pytest.raises(BrokenAnswerError, match=reason):
            await pool.send(HEAD, None)
        assert await get(pool) == b"hi"


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(then_close(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhi"), id="short"),
        pytest.param(then_close(CHUNKED + b"2\r\nhi\r\n"), id="no last chunk"),
        pytest.param(CHUNKED + b"2\r\nhi\r\nzz\r\n", id="a chunk that is none"),
    ],
)
async def test_half_a_body_is_an_error(script: bytes | Callable[[asyncio.StreamWriter], object]) -> None:
    server = Server(script, OK)
    async with server.pool() as pool:
        answer = await pool.send(HEAD, None)
        with pytest.raises(OSError):
            await answer.read()
        assert await get(pool) == b"hi"


async def test_heads_that_only_announce_are_passed_over() -> None:
    server = Server(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + OK, OK)
    async with server.pool() as pool:
        answer = await pool.send(HEAD, None)
        assert (answer.status, answer.header(b"link"), await answer.read()) == (200, b"", b"hi")
        assert await get(pool) == b"hi"
        assert len(server.writers) == 1


async def test_no_content_has_no_body_to_wait_for() -> None:
    server = Server(b"HTTP/1.1 204 No Content\r\n\r\n", OK)
    async with server.pool() as pool:
        assert (await get(pool), await get(pool)) == (b"", b"hi")
        assert len(server.writers) == 1


async def test_silence_is_a_time_out_in_the_head_and_in_the_body() -> None:
    server = Server(b"HTTP/1.1 200", OK[:-1], OK)
    async with server.pool(read_timeout_s=0.05) as pool:
        with pytest.raises(TimeoutError):
            await pool.send(HEAD, None)
        answer = await pool.send(HEAD, None)
        with pytest.raises(TimeoutError):
            await answer.read()
        assert await get(pool) == b"hi"


async def test_a_server_that_goes_on_speaking_is_waited_for() -> None:
    async def drip(writer: asyncio.StreamWriter) -> None:
        for byte in OK:
            writer.write(bytes([byte]))
            await asyncio.sleep(0.01)

    dripping: list[asyncio.Task[None]] = []
    server = Server(lambda writer: dripping.append(asyncio.create_task(drip(writer))))
    async with server.pool(read_timeout_s=0.25) as pool:  # the whole takes twice that
        assert await get(pool) == b"hi"
    await asyncio.gather(*dripping)


async def test_a_reader_who_is_behind_is_no_silence_of_the_server() -> None:
    size = 24 * 2**20
    server = Server(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size + bytes(size))
    async with server.pool(read_timeout_s=0.2) as pool:
        answer = await pool.send(HEAD, None)
        await until(lambda: answer.paused)
        await asyncio.sleep(0.5)
        assert sum([len(piece) async for piece in answer.pieces()]) == size


async def test_a_server_that_takes_no_more_of_a_large_request_is_given_up() -> None:
    server = Server()
    head = b"POST / HTTP/1.1\r\nhost: localhost\r\n"  # no end of a head: it reads what it has room for
    async with server.pool(read_timeout_s=0.05) as pool:
        with pytest.raises(TimeoutError):
            await pool.send(head, bytes(2**26))
        await until(lambda: not pool._all)


async def test_pieces_come_one_by_one_and_a_slow_reader_holds_the_server_up() -> None:
    size = 24 * 2**20
    server = Server(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size + bytes(size))
    async with server.pool() as pool:
        answer = await pool.send(HEAD, None)
        await until(lambda: answer.paused)
        assert answer._buffered < 2**20
        assert sum([len(piece) async for piece in answer.pieces()]) == size
        assert server.writers[0].transport.get_write_buffer_size() == 0


@pytest.mark.parametrize("read", [True, False])
async def test_who_was_behind_at_the_end_does_not_stop_the_connections_next_answer(read: bool) -> None:
    size = http_answer._HIGH_WATER + 20_000
    head = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size
    server = Server(head + bytes(size - 40_000), OK)
    async with server.pool() as pool:
        answer = await pool.send(HEAD, None)
        await until(lambda: answer._buffered == size - 40_000)
        assert not answer.paused
        server.writers[0].write(bytes(40_000))  # crosses the mark, and is the end
        await until(lambda: answer.complete)
        if read:
            assert len(await answer.read()) == size
        else:
            answer.close()
        assert await get(pool) == b"hi"
        assert len(server.writers) == 1


@pytest.mark.parametrize("connection", [b"keep-alive", b"close"])
async def test_an_answer_before_the_request_was_read_leaves_nothing_behind(connection: bytes) -> None:
    head = b"POST / HTTP/1.1\r\nhost: localhost\r\n\r\n"  # for this server there is no body to be read
    server = Server(OK.replace(b"X-A: 1", b"connection: " + connection), OK)
    async with server.pool() as pool:
        answer = await pool.send(head, bytes(2**26))
        kept = answer._connection
        assert await answer.read() == b"hi"
        await until(lambda: not pool._all)
        assert kept.closed
        assert await get(pool) == b"hi"


async def test_who_gives_up_leaves_no_connection_behind() -> None:
    server = Server(b"", OK[:-1], OK)
    async with server.pool() as pool:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await pool.send(HEAD, None)
        (await pool.send(HEAD, None)).close()
        assert await get(pool) == b"hi"
        assert len(server.writers) == 3


async def test_an_idle_connection_is_closed_after_its_time() -> None:
    server = Server(OK, OK)
    async with server.pool(idle_s=0.03) as pool:
        assert await get(pool) == b"hi"
        await until(lambda: not pool._idle)
        assert await get(pool) == b"hi"
        assert len(server.writers) == 2


async def test_a_connection_that_the_server_closed_is_not_taken() -> None:
    server = Server(OK, OK)
    async with server.pool() as pool:
        assert await get(pool) == b"hi"
        server.writers[0].close()
        await until(lambda: unusable(pool))
        assert await get(pool) == b"hi"


async def test_a_closed_pool_ends_what_runs_and_takes_nothing() -> None:
    server = Server(b"")
    async with server.pool() as pool:
        running = asyncio.create_task(pool.send(HEAD, None))
        await until(lambda: bool(server.received))
        await pool.close()
        with pytest.raises(OSError):
            await running
        with pytest.raises(UnreachableError):
            await pool.send(HEAD, None)


@pytest.mark.parametrize("address", ["http://127.0.0.1:1", "http://a.name.invalid", f"http://{'a' * 70}.x"])
async def test_who_cannot_be_reached(address: str) -> None:
    pool = HttpPool(URL(address), connect_timeout_s=5.0, read_timeout_s=1.0, idle_s=1.0)
    with pytest.raises(UnreachableError):
        await pool.send(HEAD, None)
    await pool.close()


async def test_a_connection_that_does_not_come_about_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = HttpPool(URL("http://localhost:1"), connect_timeout_s=0.02, read_timeout_s=1.0, idle_s=1.0)

    async def never(*_: object, **__: object) -> None:
        await asyncio.sleep(5)

    monkeypatch.setattr(http_pool.aiohappyeyeballs, "start_connection", never)
    with pytest.raises(ConnectTimeoutError):
        await pool.send(HEAD, None)
    await pool.close()


async def test_tls_is_spoken_with_whom_the_system_trusts(monkeypatch: pytest.MonkeyPatch) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(CERTIFICATE)
    server = Server(OK, OK)
    http_pool._trust.cache_clear()
    try:
        async with server.pool(tls) as pool:
            with pytest.raises(UnreachableError):
                await pool.send(HEAD, None)
        monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
        http_pool._trust.cache_clear()
        async with server.pool(tls) as pool:
            assert (await get(pool), await get(pool)) == (b"hi", b"hi")
    finally:
        http_pool._trust.cache_clear()


def test_uvloop_serves_it_as_well() -> None:
    uvloop = pytest.importorskip("uvloop")
    for test in (
        test_bytes_go_out_as_they_are_and_answers_come_back_on_one_connection,
        test_an_answer_that_nobody_asked_for_is_not_the_next_ones,
        test_silence_is_a_time_out_in_the_head_and_in_the_body,
        test_pieces_come_one_by_one_and_a_slow_reader_holds_the_server_up,
        test_a_reader_who_is_behind_is_no_silence_of_the_server,
        test_a_server_that_takes_no_more_of_a_large_request_is_given_up,
        lambda: test_who_was_behind_at_the_end_does_not_stop_the_connections_next_answer(read=False),
        lambda: test_an_answer_before_the_request_was_read_leaves_nothing_behind(b"keep-alive"),
        test_who_gives_up_leaves_no_connection_behind,
        test_a_closed_pool_ends_what_runs_and_takes_nothing,
    ):
        uvloop.run(test())
