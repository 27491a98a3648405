"""Callers who send a request drop by drop are given up; those who are only slow, or wait, are not."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from typing import TYPE_CHECKING

import pytest

from promptcache_gateway.settings import Settings, UpstreamSettings
from tests.gateway.mock_upstream import CHAT_BYTES, MockUpstream, Wire, answer_chat
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
    assert served.gateway.traffic().running == 0


def test_who_is_refused_at_once_cannot_go_on_dripping(mock: MockUpstream, tmp_path: Path) -> None:
    upstream = UpstreamSettings(url=mock.url)
    settings = Settings(upstream=upstream, data_dir=tmp_path, api_key_required=True, body_timeout_s=0.5)
    with serve(settings) as served, connect(served) as caller:
        caller.sendall(HEAD % (b"/v1/chat/completions", 100_000) + b"{")
        got = answer_to(caller, b" " * 1_000)
    assert got.startswith(b"HTTP/1.1 401 ")
    assert got.count(b"HTTP/1.1 ") == 1


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
