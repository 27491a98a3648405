"""The bodies of requests under way take so much memory together, and no more."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache_gateway.errors import ApiError, SettingsError
from promptcache_gateway.plane.body import BYTE_COST, FREE, CallerGoneError, bodies_under_way, read_body
from promptcache_gateway.settings import Settings, UpstreamSettings
from tests.gateway.mock_upstream import MockUpstream, Wire, answer_chat, wait_until
from tests.gateway.serving import Served, serve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MIB = 1024 * 1024
LIMIT = 300_000


def ask(size: int) -> bytes:
    return json.dumps({"model": "m", "messages": [{"role": "user", "content": "x" * size}]}).encode()


# --- reading ---

BODIES = st.lists(
    st.tuples(
        st.lists(st.integers(0, 60_000), min_size=1, max_size=6),
        st.sampled_from(["whole", "announced", "gone", "too large", "zipped", "torn zip"]),
        st.booleans(),
    ),
    max_size=8,
)


@settings(max_examples=60)
@given(BODIES)
def test_however_reading_ends_nothing_stays_taken(bodies: list[tuple[list[int], str, bool]]) -> None:
    under_way = bodies_under_way(700_000)

    async def read(pieces: list[int], how: str, held: bool) -> None:
        headers: list[tuple[bytes, bytes]] = []
        parts = [b"," * size for size in pieces]
        if how == "announced":
            headers.append((b"content-length", b"%d" % sum(pieces)))
        if how == "too large":
            parts.append(bytes(LIMIT + 1))
        if "zip" in how:
            headers.append((b"content-encoding", b"gzip"))
            parts = [gzip.compress(b"".join(parts))[: -5 if how == "torn zip" else None]]
        messages = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
        messages[-1]["more_body"] = how == "gone"
        coming = iter([*messages, {"type": "http.disconnect"}])

        async def receive() -> Any:
            await asyncio.sleep(0)
            return next(coming)

        with under_way.portion("t") as portion:
            try:
                body = await read_body(headers, receive, LIMIT, portion)
            except (ApiError, CallerGoneError):
                return
            assert len(body) == sum(pieces)
            assert portion.size >= BYTE_COST * len(body) or len(body) <= FREE
            if held:
                await asyncio.sleep(0.001)

    async def run() -> None:
        await asyncio.gather(*(read(*one) for one in bodies))

    asyncio.run(run())
    assert under_way.bytes == 0


@pytest.mark.parametrize(
    ("body", "least"),
    [
        (b"[" + b"[]," * 33_333, 25),
        (b'[{"%05x":{"b":"c"}},' % 7 * 5_000, 29),
        (b'{"type":"text","text":"%05x"},' % 7 * 5_000, 30),
        (b'{"%06x":1,' % 7 * 9_000, 16),
        (b'"' + b"x" * 99_990 + "\N{GRINNING FACE}".encode() + b'"', 13),
        (b'"' + b"x" * 99_990 + rb"\ud83d\ude00" + b'"', 13),
    ],
)
def test_what_holds_many_values_takes_more(body: bytes, least: int) -> None:
    """At least what a gateway took whose memory was measured, times its bytes."""

    async def taken(body: bytes) -> int:
        async def receive() -> Any:
            return {"type": "http.request", "body": body}

        portion = bodies_under_way(10**9).portion("t")
        await read_body([], receive, MIB, portion)
        return portion.size

    text = b'"' + b"x" * 99_998 + b'"'
    assert asyncio.run(taken(text)) == BYTE_COST * len(text)
    assert least * len(body) < asyncio.run(taken(body)) < 120 * len(body)


# --- through the gateway ---


class Held:
    """An upstream that answers when it is let."""

    def __init__(self) -> None:
        self.go_on = threading.Event()

    async def __call__(self, wire: Wire) -> None:
        while not self.go_on.is_set():
            await asyncio.sleep(0.01)
        await answer_chat(wire)


@pytest.fixture
def served(mock: MockUpstream, tmp_path: Path) -> Iterator[Served]:
    with serve(Settings(upstream=UpstreamSettings(url=mock.url), data_dir=tmp_path, bodies_mib=1)) as made:
        yield made


@pytest.fixture
def crowded(served: Served, mock: MockUpstream) -> Iterator[Served]:
    """A gateway with a body of 100,000 bytes under way, of the 1 MiB that bodies may take."""
    mock.script = held = Held()
    answers: list[Any] = []
    running = threading.Thread(target=lambda: answers.append(served.post(ask(100_000))))
    running.start()
    wait_until(lambda: len(mock.seen) == 1)
    yield served
    held.go_on.set()
    running.join()
    assert [answer.status_code for answer in answers] == [200]
    wait_until(lambda: served.gateway.room.bodies.bytes == 0)


def connect(served: Served) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(served.url.rpartition(":")[2])), timeout=20)


def head(path: str, *lines: str) -> bytes:
    return "\r\n".join([f"POST {path} HTTP/1.1", "host: localhost", *lines, "", ""]).encode()


def refusal(caller: socket.socket) -> tuple[bytes, dict[str, Any]]:
    got = b""
    while b"\r\n\r\n" not in got or not got.endswith(b"}"):
        piece = caller.recv(65536)
        assert piece, got
        got += piece
    start, _, body = got.partition(b"\r\n\r\n")
    return start, json.loads(body)


@pytest.mark.parametrize(
    ("path", "shape"),
    [
        ("/v1/chat/completions", "error"),
        ("/v1/responses", "error"),
        ("/v1/embeddings", "error"),
        ("/v1/messages", "type"),
        ("/v1/messages/count_tokens", "type"),
        ("/tokenize", "error"),
        ("/promptcache/v1/cache/warm", "error"),
        ("/promptcache/v1/templates/rename", "error"),
        ("/nowhere", "error"),
    ],
)
def test_what_announces_too_much_is_refused_before_it_comes(crowded: Served, path: str, shape: str) -> None:
    with connect(crowded) as caller:
        caller.sendall(head(path, "content-length: 200000", "expect: 100-continue"))
        start, body = refusal(caller)
    assert start.startswith(b"HTTP/1.1 503 ")
    assert b"\r\nretry-after: 1" in start.lower()
    assert shape in body
    assert "bodies_mib" in body["error"]["message"]
    page = crowded.get("/metrics").text
    assert 'promptcache_limited_requests_total{limit="bodies",tenant="default"} 1.0' in page


def test_what_grows_too_large_is_refused_as_it_comes(crowded: Served) -> None:
    with connect(crowded) as caller:
        caller.sendall(head("/v1/chat/completions", "transfer-encoding: chunked"))
        caller.sendall((b"%x\r\n" % 10_000 + b"x" * 10_000 + b"\r\n") * 16)
        start, body = refusal(caller)
    assert start.startswith(b"HTTP/1.1 503 ")
    assert body["error"]["code"] == "overloaded"
    wait_until(lambda: crowded.gateway.room.bodies.bytes < BYTE_COST * 110_000)
    assert crowded.gateway.room.bodies.refused == {"default": 1}


def test_small_ones_are_answered_meanwhile(crowded: Served, mock: MockUpstream) -> None:
    mock.script = answer_chat
    assert crowded.post(ask(10_000)).status_code == 200
    assert crowded.post(ask(30_000)).status_code == 200
    assert crowded.post(ask(200_000)).status_code == 503
    packed = gzip.compress(ask(200_000))
    assert crowded.post(packed, content_encoding="gzip").status_code == 503


def test_one_that_hangs_up_gives_its_part_back(served: Served) -> None:
    with connect(served) as caller:
        caller.sendall(head("/v1/chat/completions", "content-length: 200000") + b"x" * 150_000)
        wait_until(lambda: served.gateway.room.bodies.bytes >= BYTE_COST * 140_000)
    wait_until(lambda: served.gateway.room.bodies.bytes == 0)


def test_what_ends_badly_gives_its_part_back(served: Served, mock: MockUpstream) -> None:
    async def slams(wire: Wire) -> None:
        wire.writer.close()

    mock.script = slams
    assert served.post(ask(200_000)).status_code == 502
    assert served.post(b"x" * 200_000).status_code == 400
    assert served.post(b"x" * 200_000, path="/tokenize").status_code == 400
    assert served.post(b"x" * 200_000, path="/v1/messages/count_tokens").status_code == 400
    assert served.post(b"x" * 200_000, content_encoding="br").status_code == 415
    assert served.gateway.room.bodies.bytes == 0


@pytest.mark.parametrize("path", ["/promptcache/v1/cache/warm", "/promptcache/v1/templates/merge"])
def test_the_admin_s_are_held_to_the_same_bounds(served: Served, path: str) -> None:
    with connect(served) as caller:
        caller.sendall(head(path, f"content-length: {33 * MIB}"))
        assert refusal(caller)[0].startswith(b"HTTP/1.1 413 ")
    assert (
        served.post(b"[" + b"[]," * 600_000 + b"1]", path=path).json()["error"]["code"] == "too_many_values"
    )
    packed = gzip.compress(b'{"model":"m","name":"a","into":"b"}')
    answer = served.post(packed, path=path, content_encoding="gzip")
    assert answer.status_code in {400, 404}, answer.text
    assert answer.json()["error"]["code"] in {"missing_required_parameter", "not_found"}
    assert served.post(b"\xff\x00" * 40, path=path).status_code == 400
    assert served.gateway.room.bodies.bytes == 0


def test_a_bound_that_cannot_work() -> None:
    for wrong in (0, -1, 2**21):
        with pytest.raises(SettingsError, match="bodies_mib"):
            Settings(bodies_mib=wrong)
