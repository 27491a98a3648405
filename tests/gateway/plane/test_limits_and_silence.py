"""Streams that fall silent stay alive; heads and requests have their limits."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from typing import TYPE_CHECKING

import openai
import pytest

from promptcache_gateway.errors import SettingsError
from promptcache_gateway.plane.heartbeat import COMMENT, Heartbeat
from promptcache_gateway.settings import Settings, UpstreamSettings
from tests.gateway.mock_upstream import DONE, MockUpstream, Wire, answer_chat, chunk, sse, wait_until
from tests.gateway.serving import Served, serve

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

BODY = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
STREAM = {**BODY, "stream": True}


def served_with(mock: MockUpstream, folder: Path, **more: Any):
    return serve(Settings(upstream=UpstreamSettings(url=mock.url), data_dir=folder, **more))


def test_a_silent_stream_is_kept_alive_by_comments(mock: MockUpstream, tmp_path: Path) -> None:
    released = threading.Event()

    async def script(wire: Wire) -> None:
        await wire.start_events()
        await wire.part(sse(chunk("Hello")))
        while not released.is_set():
            await asyncio.sleep(0.01)
        await wire.part(sse(chunk(" there.")) + DONE)
        await wire.end()

    mock.script = script
    with served_with(mock, tmp_path, keep_alive_s=0.05) as served:
        got = b""
        with served.http.stream("POST", "/v1/chat/completions", json=STREAM) as answer:
            for piece in answer.iter_raw():
                got += piece
                if got.count(COMMENT) >= 3:
                    released.set()
        relayed = got.rpartition(b": promptcache ")[0]
        assert relayed.replace(COMMENT, b"") == sse(chunk("Hello")) + sse(chunk(" there.")) + DONE
        released.set()
        with openai.OpenAI(base_url=f"{served.url}/v1", api_key="k", max_retries=0) as client:
            parts = list(client.chat.completions.create(**STREAM))
        assert "".join(part.choices[0].delta.content for part in parts) == "Hello there."


def test_a_stream_that_speaks_needs_no_comment() -> None:
    sent: list[bytes] = []

    async def send(message: Any) -> None:
        sent.append(message["body"])

    async def run(interval_s: float, pause_s: float) -> list[bytes]:
        sent.clear()
        with Heartbeat(send, interval_s) as heart:
            for _ in range(5):
                await heart.send(b"x\n\n")
                await asyncio.sleep(pause_s)
        await asyncio.sleep(0.02)
        return list(sent)

    assert asyncio.run(run(30.0, 0.001)) == [b"x\n\n"] * 5
    assert asyncio.run(run(0.0, 0.02)) == [b"x\n\n"] * 5, "0 turns it off"
    assert COMMENT in asyncio.run(run(0.01, 0.1))


def test_a_caller_who_is_gone_is_no_failure_of_the_heart() -> None:
    async def send(message: Any) -> None:
        raise OSError

    async def run() -> None:
        with Heartbeat(send, 0.005):
            await asyncio.sleep(0.05)

    asyncio.run(run())


@pytest.mark.parametrize(("path", "shape"), [("/v1/chat/completions", "error"), ("/v1/messages", "type")])
def test_one_request_too_many(mock: MockUpstream, tmp_path: Path, path: str, shape: str) -> None:
    released = threading.Event()

    async def script(wire: Wire) -> None:
        while not released.is_set():
            await asyncio.sleep(0.01)
        await answer_chat(wire)

    mock.script = script
    with served_with(mock, tmp_path, max_requests=1) as served:
        waiting = threading.Thread(target=served.post, args=[BODY])
        waiting.start()
        wait_until(lambda: mock.seen)
        answer = served.post(BODY, path=path)
        released.set()
        waiting.join(10)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert shape in answer.json()
        assert served.post(BODY).status_code == 200
        assert served.get("/health").status_code == 200


def head_of(served: Served, head: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", int(served.url.rpartition(":")[2])), timeout=10) as caller:
        caller.sendall(head)
        got = b""
        while piece := caller.recv(65536):
            got += piece
        return got


def test_a_head_that_does_not_end_is_refused(mock: MockUpstream, tmp_path: Path) -> None:
    with served_with(mock, tmp_path, max_header_bytes=2048) as served:
        start = b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nx-long: "
        got = head_of(served, start + b"x" * 4096)
        head, _, body = got.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 431 ")
        assert json.loads(body)["error"]["code"] == "headers_too_large"
        large = {**BODY, "messages": [{"role": "user", "content": "x" * 100_000}]}
        for _ in range(2):  # a large body is no large head, and a connection counts anew for each request
            assert served.post(large).status_code == 200


@pytest.mark.parametrize("excess", [-1, 1, 4_000])
def test_a_head_is_held_to_its_limit_also_where_it_comes_at_once(
    mock: MockUpstream, tmp_path: Path, excess: int
) -> None:
    body = json.dumps(BODY).encode()
    head = [(b"host", b"localhost"), (b"content-length", b"%d" % len(body)), (b"connection", b"close")]
    path = b"/v1/chat/completions"
    there = len(path) + sum(len(name) + len(value) + 4 for name, value in head)
    head.append((b"x-long", b"x" * (64 * 1024 + excess - there - 10)))
    lines = b"".join(b"%s: %s\r\n" % header for header in head)
    with served_with(mock, tmp_path) as served:
        got = head_of(served, b"POST %s HTTP/1.1\r\n%s\r\n%s" % (path, lines, body))
    assert got.startswith(b"HTTP/1.1 200 " if excess < 0 else b"HTTP/1.1 431 ")
    assert len(mock.seen) == (excess < 0)
    if excess > 0:
        assert json.loads(got.partition(b"\r\n\r\n")[2])["error"]["code"] == "headers_too_large"


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_header_bytes": 10},
        {"max_requests": 0},
        {"keep_alive_s": -1.0},
        {"keep_alive_s": 1e9},
        {"head_timeout_s": -1.0},
        {"body_timeout_s": float("nan")},
    ],
)
def test_limits_that_cannot_work(wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(SettingsError, match=name):
        Settings(**wrong)
