"""Callers who send a request drop by drop, or take nothing of its answer, are given up; slow ones are not."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from typing import TYPE_CHECKING

import pytest

from promptcache_gateway import server
from promptcache_gateway.settings import Settings, UpstreamSettings
from tests.gateway.mock_upstream import CHAT_BYTES, MockUpstream, Wire, answer_chat, chunk, sse, wait_until
from tests.gateway.serving import Served, serve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BODY = b'{"model":"m","messages":[{"role":"user","content":"Hi"}]}'
HEAD = b"POST %s HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n"


@pytest.fixture
def served(mock: MockUpstream, tmp_path: Path) -> Iterator[Served]:
    upstream = UpstreamSettings(url=mock.url)
    settings = Settings(upstream=upstream, data_dir=tmp_path, head_timeout_s=0.5, body_timeout_s=0.5)
    with serve(settings) as made:
        yield made


def connect(served: Served) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(served.url.rpartition(":")[2])), timeout=20)


def drip(caller: socket.socket, data: bytes, done: threading.Event) -> None:
    """Send one byte at a time until somebody has had enough."""
    for at in range(len(data)):
        if done.wait(0.05):
            return
        try:
            caller.sendall(data[at : at + 1])
        except OSError:
            return


def answer_to(caller: socket.socket, dripped: bytes) -> bytes:
    done = threading.Event()
    dripping = threading.Thread(target=drip, args=(caller, dripped, done))
    dripping.start()
    try:
        return read(caller)
    finally:
        done.set()
        dripping.join()


def read(caller: socket.socket) -> bytes:
    got = b""
    try:
        while piece := caller.recv(65536):
            got += piece
    except ConnectionError:
        pass  # it went on sending to a connection that was closed
    return got


def answered(caller: socket.socket) -> bytes:
    """A whole answer on a connection that stays open."""
    got = b""
    while not got.endswith(CHAT_BYTES):
        piece = caller.recv(65536)
        assert piece, got
        got += piece
    return got


def test_a_head_that_drips_is_refused(served: Served, mock: MockUpstream) -> None:
    with connect(served) as caller:
        got = answer_to(caller, HEAD % (b"/v1/chat/completions", len(BODY)) * 20)
    head, _, body = got.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close" in head
    assert json.loads(body)["error"]["code"] == "request_timeout"
    assert mock.seen == []


@pytest.mark.parametrize("path", [b"/v1/chat/completions", b"/v1/messages"])
def test_a_body_that_drips_is_refused_in_the_api_s_shape(
    served: Served, mock: MockUpstream, path: bytes
) -> None:
    with connect(served) as caller:
        caller.sendall(HEAD % (path, 100_000) + b"{")
        got = answer_to(caller, b" " * 1_000)
    head, _, body = got.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 ")
    said = json.loads(body)
    assert ("type" in said) == (path == b"/v1/messages")
    assert "The request's body did not arrive" in said["error"]["message"]
    assert mock.seen == []
    wait_until(lambda: served.gateway.traffic().running == 0)


def test_who_is_refused_at_once_cannot_go_on_dripping(mock: MockUpstream, tmp_path: Path) -> None:
    upstream = UpstreamSettings(url=mock.url)
    settings = Settings(upstream=upstream, data_dir=tmp_path, api_key_required=True, body_timeout_s=0.5)
    with serve(settings) as served, connect(served) as caller:
        caller.sendall(HEAD % (b"/v1/chat/completions", 100_000) + b"{")
        got = answer_to(caller, b" " * 1_000)
    assert got.startswith(b"HTTP/1.1 401 ")
    assert got.count(b"HTTP/1.1 ") == 1


def test_a_head_that_begins_behind_another_request_may_not_drip_either(
    served: Served, mock: MockUpstream
) -> None:
    with connect(served) as caller:
        caller.sendall(HEAD % (b"/v1/chat/completions", len(BODY)) + BODY + b"POST /v1/chat")
        got = read(caller)
    assert got.startswith(b"HTTP/1.1 200 ")
    assert CHAT_BYTES + b"HTTP/1.1 408 " in got
    assert len(mock.seen) == 1


def test_who_says_nothing_is_hung_up_on(served: Served) -> None:
    with connect(served) as caller:
        assert read(caller) == b""


def test_a_connection_may_wait_between_requests_and_an_answer_may_take_its_time(
    served: Served, mock: MockUpstream
) -> None:
    release = threading.Event()

    async def slow(wire: Wire) -> None:
        while not release.is_set():
            await asyncio.sleep(0.01)
        await answer_chat(wire)

    mock.script = slow
    ticks = 0
    with connect(served) as caller, connect(served) as silent:
        caller.sendall(HEAD % (b"/v1/chat/completions", len(BODY)) + BODY)
        for _ in range(2):  # twice as long as any of them may take to send
            read(silent)
            with connect(served) as other:
                read(other)
            ticks += 1
        release.set()
        assert answered(caller).startswith(b"HTTP/1.1 200 ")
        with connect(served) as other:  # and again, between two requests
            read(other)
        caller.sendall(HEAD % (b"/v1/chat/completions", len(BODY)) + BODY)
        assert answered(caller).startswith(b"HTTP/1.1 200 ")
        assert len(mock.seen) == 2
    assert ticks == 2


def test_a_large_body_gets_a_second_more_for_every_16_kib(served: Served, mock: MockUpstream) -> None:
    text = b"x" * 600_000
    body = b'{"model":"m","messages":[{"role":"user","content":"%s"}]}' % text
    with connect(served) as caller:
        caller.sendall(HEAD % (b"/v1/chat/completions", len(body)) + body[:-1])
        with connect(served) as other:
            read(other)
        caller.sendall(body[-1:])
        assert answered(caller).startswith(b"HTTP/1.1 200 ")
    assert mock.last.body == body


# --- answers that nobody takes ---

STREAMED = b'{"model":"m","stream":true,"messages":[{"role":"user","content":"Hi"}]}'
PIECE = sse(chunk("x" * 32_000))


class Endless:
    """An upstream that streams until it is hung up on."""

    def __init__(self) -> None:
        self.left = threading.Event()

    async def __call__(self, wire: Wire) -> None:
        await wire.start_events()
        try:
            while True:
                await wire.part(PIECE)
                await asyncio.sleep(0)
        finally:
            self.left.set()


def reader(served: Served, body: bytes, path: bytes = b"/v1/chat/completions") -> socket.socket:
    """A caller with little room for an answer, who has asked."""
    caller = socket.socket()
    caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    caller.settimeout(20)
    caller.connect(("127.0.0.1", int(served.url.rpartition(":")[2])))
    caller.sendall(HEAD % (path, len(body)) + body)
    return caller


def test_who_asks_no_more_is_hung_up_on(
    mock: MockUpstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_KEEP_ALIVE_S", 0.1)
    settings = Settings(upstream=UpstreamSettings(url=mock.url), data_dir=tmp_path)
    with serve(settings) as served, connect(served) as caller:
        caller.sendall(HEAD % (b"/v1/chat/completions", len(BODY)) + BODY)
        answered(caller)
        assert caller.recv(1) == b""


@pytest.fixture
def impatient(mock: MockUpstream, tmp_path: Path) -> Iterator[Served]:
    settings = Settings(upstream=UpstreamSettings(url=mock.url), data_dir=tmp_path, send_timeout_s=1.5)
    with serve(settings) as made:
        yield made


def test_who_takes_nothing_of_a_stream_gives_its_place_back(impatient: Served, mock: MockUpstream) -> None:
    mock.script = endless = Endless()
    with reader(impatient, STREAMED):
        wait_until(lambda: impatient.gateway.traffic().running == 1)
        wait_until(lambda: impatient.gateway.traffic().running == 0, 20)
        assert endless.left.wait(10)
    assert impatient.gateway.traffic().stalled == 1
    (record,) = impatient.get("/promptcache/v1/requests").json()["data"]
    assert (record["status"], record["error"]) == (499, "caller_stalled")
    assert "promptcache_stalled_callers_total 1.0" in impatient.get("/metrics").text


def test_who_reads_slowly_but_steadily_is_not_cut(impatient: Served, mock: MockUpstream) -> None:
    mock.script = endless = Endless()
    pause = threading.Event()
    with reader(impatient, STREAMED) as caller:
        got = 0
        for _ in range(20):  # more than twice as long as nothing may be taken
            assert not pause.wait(0.2)
            piece = caller.recv(2048)
            assert piece
            got += len(piece)
        assert got < 64 * 1024  # what waits is always more than the transport's buffer may hold
        assert impatient.gateway.traffic().running == 1
        assert impatient.gateway.traffic().stalled == 0
    assert endless.left.wait(10)
    wait_until(lambda: impatient.gateway.traffic().running == 0, 20)
    (record,) = impatient.get("/promptcache/v1/requests").json()["data"]
    assert (record["status"], record["error"]) == (499, "caller_gone")


def test_a_whole_answer_that_nobody_takes_is_not_held(impatient: Served, mock: MockUpstream) -> None:
    answer = b'{"id":"c","choices":[],"text":"%s"}' % (b"x" * 16_000_000)

    async def large(wire: Wire) -> None:
        await wire.respond(answer)

    mock.script = large
    with reader(impatient, BODY):
        wait_until(lambda: impatient.gateway.traffic().stalled == 1, 20)
    (record,) = impatient.get("/promptcache/v1/requests").json()["data"]
    assert record["status"] == 200  # it was answered


def test_nobody_is_cut_where_any_time_is_allowed(mock: MockUpstream, tmp_path: Path) -> None:
    mock.script = endless = Endless()
    settings = Settings(upstream=UpstreamSettings(url=mock.url), data_dir=tmp_path, send_timeout_s=0.0)
    with serve(settings) as served, reader(served, STREAMED):
        assert not endless.left.wait(2.5)
        assert served.gateway.traffic().running == 1
