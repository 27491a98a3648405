"""What callers may do with HTTP itself: told from bare sockets, byte for byte."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
import threading
from typing import TYPE_CHECKING

import pytest

from promptcache_gateway.bounded_protocol import BoundedProtocol
from promptcache_gateway.settings import Settings, UpstreamSettings
from tests.gateway.mock_upstream import CHAT_BYTES, DONE, MockUpstream, Wire, chunk, sse, wait_until
from tests.gateway.serving import Served, serve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BODY = b'{"model":"m","messages":[{"role":"user","content":"Hi"}]}'
STREAMED = b'{"model":"m","stream":true,"messages":[]}'
LINE = b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\n"
CHUNKED = b"transfer-encoding: chunked\r\n"
KEY = "sk-gateway-key-000000"
LAST = b"connection: close\r\n"
MOST = 4096


def sized(body: bytes = BODY, head: bytes = b"") -> bytes:
    return LINE + head + b"content-length: %d\r\n\r\n" % len(body) + body


def in_chunks(*parts: bytes, head: bytes = b"", end: bytes = b"0\r\n\r\n") -> bytes:
    return LINE + head + CHUNKED + b"\r\n" + b"".join(b"%x\r\n%b\r\n" % (len(p), p) for p in parts) + end


@pytest.fixture
def served(mock: MockUpstream, tmp_path: Path) -> Iterator[Served]:
    settings = Settings(upstream=UpstreamSettings(url=mock.url), data_dir=tmp_path, max_header_bytes=MOST)
    with serve(settings) as made:
        yield made


def told(served: Served, *sent: bytes) -> bytes:
    """All that is answered until the gateway closes the connection."""
    got = b""
    with socket.create_connection(("127.0.0.1", int(served.url.rpartition(":")[2])), timeout=20) as caller:
        with contextlib.suppress(ConnectionError):  # it has answered, and wants no more
            for part in sent:
                caller.sendall(part)
        try:
            while piece := caller.recv(65536):
                got += piece
        except ConnectionError:
            pass  # it had more to read, and did not want to
    return got


def statuses(got: bytes) -> list[int]:
    return [int(found) for found in re.findall(rb"HTTP/1\.1 (\d{3}) ", got)]


# --- trailers and chunks ---


def test_trailers_are_no_headers(mock: MockUpstream, tmp_path: Path) -> None:
    settings = Settings(upstream=UpstreamSettings(url=mock.url), data_dir=tmp_path, api_keys=(KEY,))
    trailers = (
        b"0\r\nauthorization: Bearer another\r\nx-behind: 1\r\nx-promptcache-template: behind\r\n"
        b"content-encoding: gzip\r\nx-promptcache-cache: banana\r\n\r\n"
    )
    head = b"x-early: 1\r\nauthorization: Bearer %s\r\n" % KEY.encode()
    with serve(settings) as served:
        got = told(served, in_chunks(BODY[:9], BODY[9:], head=head + LAST, end=trailers))
        assert statuses(got) == [200]
        assert b"behind" not in got
        refused = told(served, in_chunks(BODY, head=LAST, end=trailers.replace(b"another", KEY.encode())))
        assert statuses(refused) == [401]
    assert mock.last.body == BODY
    assert mock.last.headers["x-early"] == "1"
    assert not {"x-behind", "authorization"} & set(mock.last.headers)


@pytest.mark.parametrize(
    "end",
    [
        b"0\r\nx: " + b"a" * 100 * MOST,
        b"0\r\n" + b"x: a\r\n" * 20 * MOST,
        b"1;" + b"a" * 100 * MOST,
        b"0;" + b"a=b;" * 30 * MOST,
    ],
)
def test_trailers_and_extensions_that_do_not_end_are_refused(
    served: Served, mock: MockUpstream, end: bytes
) -> None:
    got = told(
        served, in_chunks(BODY, end=b""), *(end[at : at + 10_000] for at in range(0, len(end), 10_000))
    )
    assert statuses(got) == [431]
    assert mock.seen == []
    assert told(served, sized(head=LAST)).endswith(CHAT_BYTES)


def test_small_chunks_with_extensions_are_a_body(served: Served, mock: MockUpstream) -> None:
    spaces = b"".join(b"1;a=b\r\n \r\n" for _ in range(2_000))
    end = spaces + b"0\r\nx-trailer: 1\r\n\r\n"
    assert statuses(told(served, in_chunks(BODY, head=LAST, end=end))) == [200]
    assert mock.last.body == BODY + b" " * 2_000


# --- where a request ends ---

_CHUNKS = b"%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY)


@pytest.mark.parametrize(
    "sent",
    [
        LINE + b"content-length: 5\r\ncontent-length: %d\r\n\r\n" % len(BODY) + BODY,
        LINE + b"content-length: %d, %d\r\n\r\n" % (len(BODY), len(BODY)) + BODY,
        LINE + b"content-length: +%d\r\n\r\n" % len(BODY) + BODY,
        LINE + b"content-length: -1\r\n\r\n" + BODY,
        LINE + b"content-length: 0x39\r\n\r\n" + BODY,
        LINE + b"content-length: 99999999999999999999999\r\n\r\n" + BODY,
        LINE + b"content-length : %d\r\n\r\n" % len(BODY) + BODY,
        LINE + b"content-length: %d\r\n" % len(_CHUNKS) + CHUNKED + b"\r\n" + _CHUNKS,
        LINE + CHUNKED + b"content-length: 4\r\n\r\n" + _CHUNKS,
        LINE + b"transfer-encoding: xchunked\r\n\r\n" + _CHUNKS,
        LINE + b"transfer-encoding: chunked, identity\r\n\r\n" + _CHUNKS,
        LINE + b"transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n\r\n" + _CHUNKS,
        LINE + b"transfer-encoding:\x0bchunked\r\n\r\n" + _CHUNKS,
        LINE + CHUNKED + b"\r\nzz\r\n",
        LINE + CHUNKED + b"\r\n-5\r\nabc",
        LINE + CHUNKED + b"\r\nfffffffffffffffff\r\nabc",
        LINE + b"x-a: b\nx-c: d\r\ncontent-length: 0\r\n\r\n",
        LINE + b"x-a: b\rx-c: d\r\ncontent-length: 0\r\n\r\n",
        LINE + b"x-a: b\x00\r\ncontent-length: 0\r\n\r\n",
        LINE + b"x-a: b\r\n folded: c\r\ncontent-length: 0\r\n\r\n",
        b"CONNECT 127.0.0.1:22 HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"a" * 100,
        b"\x00" * 1000,
    ],
)
def test_what_two_could_read_differently_is_refused(served: Served, mock: MockUpstream, sent: bytes) -> None:
    smuggled = b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n"
    got = told(served, sent, smuggled)
    assert statuses(got) == [400]
    head, _, body = got.partition(b"\r\n\r\n")
    assert b"connection: close" in head
    assert json.loads(body)["error"]["code"] == "invalid_http"
    assert mock.seen == []


@pytest.mark.parametrize("behind", [b"gar bage\r\n\r\n", b"CONNECT a:1 HTTP/1.1\r\n\r\n"])
@pytest.mark.parametrize("requests", [1, 3])
def test_garbage_behind_requests_does_not_cost_them_their_answers(
    served: Served, mock: MockUpstream, behind: bytes, requests: int
) -> None:
    got = told(served, sized() * requests + behind)
    assert statuses(got) == [200] * requests
    assert got.endswith(CHAT_BYTES)
    assert len(mock.seen) == requests


def test_garbage_does_not_end_up_in_a_stream(
    served: Served, mock: MockUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = threading.Event()

    async def streams(wire: Wire) -> None:
        await wire.start_events()
        await wire.part(sse(chunk("one")))
        while not heard.is_set():
            await asyncio.sleep(0.01)
        await wire.part(sse(chunk("two")))
        await wire.part(DONE)
        await wire.end()

    mock.script = streams
    refuse = BoundedProtocol.send_400_response

    def hears(protocol: BoundedProtocol, msg: str) -> None:
        refuse(protocol, msg)
        heard.set()

    monkeypatch.setattr(BoundedProtocol, "send_400_response", hears)
    got = told(served, sized(STREAMED), b"\x00\x01 garbage\r\n\r\n", sized())
    assert statuses(got) == [200]
    assert b"garbage" not in got
    assert got.endswith(b"\r\n0\r\n\r\n")
    assert got.index(b"one") < got.index(b"two") < got.index(b"[DONE]")
    assert len(mock.seen) == 1


# --- other protocols ---

H2C = b"connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n"


@pytest.mark.parametrize("pieces", [1, 2, 7, 400])
@pytest.mark.parametrize("chunked", [False, True])
def test_a_client_that_would_rather_speak_http_2_is_answered_by_http_1_1(
    served: Served, mock: MockUpstream, pieces: int, chunked: bool
) -> None:
    """As Java's client asks every plain server, with a body."""
    head = H2C + b"x-kept: 1\r\n"
    sent = (in_chunks(BODY[:20], BODY[20:], head=head) if chunked else sized(head=head)) + sized(head=LAST)
    step = -(-len(sent) // pieces)
    got = told(served, *(sent[at : at + step] for at in range(0, len(sent), step)))
    assert statuses(got) == [200, 200]
    assert [seen.body for seen in mock.seen] == [BODY, BODY]
    assert mock.seen[0].headers["x-kept"] == "1"
    assert not {"upgrade", "http2-settings", "connection"} & set(mock.seen[0].headers)


def test_its_wish_to_close_the_connection_is_heard(served: Served) -> None:
    got = told(served, sized(head=H2C.replace(b"Upgrade,", b"close, Upgrade,")))
    assert statuses(got) == [200]
    assert b"connection: close" in got


def test_a_websocket_is_declined(served: Served) -> None:
    wish = b"connection: close, Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n"
    key = b"sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    for path, status in ((b"/v1/realtime", 404), (b"/health", 200)):
        got = told(served, b"GET %s HTTP/1.1\r\nhost: localhost\r\n" % path + wish + key)
        assert statuses(got) == [status]


def test_bad_requests_are_not_told_to_the_log(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    """Or else anybody could fill it."""
    for _ in range(3):
        told(served, b"\x00\x00")
        told(served, sized(head=H2C.replace(b"Upgrade,", b"close, Upgrade,")))
    assert caplog.text == ""


# --- the rest ---


def test_a_head_that_comes_behind_another_request_has_the_same_limit(
    served: Served, mock: MockUpstream
) -> None:
    large = sized(head=b"x: " + b"a" * 2 * MOST + b"\r\n")
    assert statuses(told(served, large)) == [431]
    got = told(served, sized() + large + sized())
    assert statuses(got) == [200]
    wait_until(lambda: len(mock.seen) == 1)


def test_a_caller_of_http_1_0_gets_its_answer_and_the_end(served: Served) -> None:
    for body in (BODY, STREAMED):
        got = told(served, sized(body).replace(b"HTTP/1.1", b"HTTP/1.0", 1))
        assert statuses(got) == [200]


def test_who_waits_to_be_asked_for_its_body_is_asked(served: Served) -> None:
    head = LINE + LAST + b"expect: 100-continue\r\ncontent-length: %d\r\n\r\n" % len(BODY)
    with socket.create_connection(("127.0.0.1", int(served.url.rpartition(":")[2])), timeout=20) as caller:
        caller.sendall(head)
        assert statuses(caller.recv(65536)) == [
            100
        ]  # not before: a body that is there already is not asked for
        caller.sendall(BODY)
        got = b"".join(iter(lambda: caller.recv(65536), b""))
    assert statuses(got) == [200]


def test_an_absolute_address_leads_nowhere_else(served: Served, mock: MockUpstream) -> None:
    for host in (b"localhost", b"169.254.169.254"):
        line = LINE.replace(b"POST /", b"POST http://%s/" % host) + LAST
        got = told(served, line + b"content-length: %d\r\n\r\n" % len(BODY) + BODY)
        assert statuses(got) == [200]
    got = told(served, b"GET http://169.254.169.254/latest HTTP/1.1\r\nhost: localhost\r\n" + LAST + b"\r\n")
    assert statuses(got) == [404]
    assert len(mock.seen) == 2
