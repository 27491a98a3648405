"""Answers of upstreams that are held whole take so much memory together, and no more."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest

from promptcache_gateway.fleet.settings import FleetSettings, ReplicaSettings
from promptcache_gateway.settings import Settings, UpstreamSettings
from promptcache_gateway.translate import events
from promptcache_gateway.upstreams import json_weight, whole_bodies
from promptcache_gateway.upstreams.whole_bodies import HELD_COST
from tests.gateway.mock_upstream import CHAT, DONE, MockUpstream, Wire, chunk, sse, wait_until
from tests.gateway.serving import Served, serve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ASK = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 5}


def chat(size: int) -> bytes:
    message = {"role": "assistant", "content": "x" * size}
    return json.dumps(
        CHAT | {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    ).encode()


class Answering:
    """An upstream that answers with a body, the first time in two parts with a wait between them."""

    def __init__(self, body: bytes, *headers: str) -> None:
        self.body, self.headers = body, headers
        self.go_on = threading.Event()
        self.go_on.set()

    async def __call__(self, wire: Wire) -> None:
        body, waits = self.body, not self.go_on.is_set()
        if not waits:
            await wire.respond(body, headers=self.headers)
            return
        await wire.send(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        await wire.part(body[:-10])
        while not self.go_on.is_set():
            await asyncio.sleep(0.01)
        await wire.part(body[-10:])
        await wire.end()


@pytest.fixture
def served(mock: MockUpstream, tmp_path: Path) -> Iterator[Served]:
    upstream = UpstreamSettings(url=mock.url, apis=("chat", "embeddings"))
    with serve(Settings(upstream=upstream, data_dir=tmp_path, answers_mib=1)) as made:
        yield made
        wait_until(lambda: made.gateway.room.answers.bytes == 0)


@pytest.fixture
def crowded(served: Served, mock: MockUpstream) -> Iterator[tuple[Served, Answering]]:
    """A gateway that holds 300,000 bytes of an answer, of the 1 MiB that answers may take."""
    mock.script = script = Answering(chat(300_000))
    script.go_on.clear()
    answers: list[Any] = []
    running = threading.Thread(target=lambda: answers.append(served.post(ASK)))
    running.start()
    wait_until(lambda: served.gateway.room.answers.bytes >= HELD_COST * 299_000)
    other = Answering(chat(250_000))
    mock.script = other
    yield served, other
    script.go_on.set()
    running.join()
    assert [answer.status_code for answer in answers] == [200]
    assert answers[0].content == script.body


@pytest.mark.parametrize("announced", [True, False])
def test_one_that_finds_no_room_is_relayed_unheld_to_who_speaks_its_api(
    crowded: tuple[Served, Answering], announced: bool
) -> None:
    served, other = crowded
    if not announced:
        other.go_on.clear()
        threading.Timer(0.2, other.go_on.set).start()
    held = served.gateway.room.answers.bytes
    answer = served.post(ASK)
    assert (answer.status_code, answer.content) == (200, other.body)
    assert served.record(answer)["usage"]["prompt_tokens"] == 2006
    assert served.gateway.room.answers.bytes == held


@pytest.mark.parametrize("announced", [True, False])
@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("/v1/messages", ASK),
        ("/v1/responses", {"model": "m", "input": "hi"}),
        ("/v1/models", None),
    ],
)
def test_one_that_finds_no_room_is_a_503_in_the_caller_s_shape(
    crowded: tuple[Served, Answering], path: str, asked: Any, announced: bool
) -> None:
    """It is paid for all the same: what it cost is recorded."""
    served, other = crowded
    if not announced:
        other.go_on.clear()
        threading.Timer(0.2, other.go_on.set).start()
    answer = served.get(path) if asked is None else served.post(asked, path=path)
    assert answer.status_code == 503
    if asked is not None:
        record = served.record(answer)
        assert (record["error"], record["usage"]["prompt_tokens"]) == ("overloaded", 2006)
    assert answer.headers["retry-after"] == "1"
    assert "[serve] answers_mib" in answer.json()["error"]["message"]
    assert (answer.json().get("type") == "error") == (path == "/v1/messages")
    page = served.get("/metrics").text
    assert 'promptcache_limited_requests_total{limit="answers",tenant="default"} 1.0' in page
    other.body = chat(10_000)
    other.go_on.set()
    assert served.post(ASK).status_code == 200, "small ones go on"


def test_one_that_is_larger_than_all_goes_alone(served: Served, mock: MockUpstream) -> None:
    mock.script = Answering(chat(1_000_000))
    assert served.post(ASK).content == mock.script.body


def test_what_compression_hides_is_counted(crowded: tuple[Served, Answering]) -> None:
    served, other = crowded
    other.body, other.headers = gzip.compress(chat(1_000_000)), ("content-encoding: gzip",)
    answer = served.post(ASK)
    assert (answer.status_code, served.record(answer)["usage"]["prompt_tokens"]) == (503, 2006)


def test_one_that_is_translated_takes_more(crowded: tuple[Served, Answering]) -> None:
    served, other = crowded
    other.body = chat(150_000)
    assert served.post(ASK).status_code == 200
    answer = served.post(ASK, path="/v1/messages")
    assert (answer.status_code, served.record(answer)["usage"]["prompt_tokens"]) == (503, 2006)


@pytest.fixture
def one_replica(mock: MockUpstream, tmp_path: Path) -> Iterator[Served]:
    fleet = FleetSettings(replicas=(ReplicaSettings(url=mock.url),), health_path="")
    upstream = UpstreamSettings(name="f", fleet=fleet, apis=("chat", "embeddings"))
    with serve(Settings(upstreams=(upstream,), data_dir=tmp_path / "f")) as made:
        yield made


@pytest.mark.parametrize("announced", [True, False])
@pytest.mark.parametrize("where", ["served", "one_replica"])
def test_one_that_is_too_large_is_relayed_with_its_usage_or_paid_for(
    request: pytest.FixtureRequest,
    mock: MockUpstream,
    monkeypatch: pytest.MonkeyPatch,
    where: str,
    announced: bool,
) -> None:
    served: Served = request.getfixturevalue(where)
    monkeypatch.setattr(whole_bodies, "MAX_WHOLE_BODY", 100_000)
    usage = {"prompt_tokens": 7, "total_tokens": 7}
    rows = [{"object": "embedding", "index": at, "embedding": [0.25] * 30_000} for at in range(4)]
    mock.script = script = Answering(json.dumps({"object": "list", "data": rows, "usage": usage}).encode())
    if not announced:
        script.go_on.clear()
        threading.Timer(0.2, script.go_on.set).start()
    answer = served.post({"model": "m", "input": ["x"] * 4}, path="/v1/embeddings")
    assert answer.content == script.body
    assert served.record(answer)["usage"]["prompt_tokens"] == 7
    script.body = chat(150_000)
    answer = served.post(ASK, path="/v1/messages")
    assert answer.status_code == 502
    assert "is larger than" in answer.json()["error"]["message"]
    record = served.record(answer)
    assert (record["error"], record["usage"]["prompt_tokens"]) == ("upstream_answer_too_large", 2006)
    answer = served.post(ASK)
    assert (answer.content, served.record(answer)["response_id"]) == (script.body, CHAT["id"])


def test_it_is_held_until_the_caller_has_taken_it(served: Served, mock: MockUpstream) -> None:
    mock.script = Answering(chat(8_000_000))
    body = json.dumps(ASK).encode()
    with socket.create_connection(("127.0.0.1", int(served.url.rpartition(":")[2])), timeout=20) as caller:
        head = (
            "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: "
        )
        caller.sendall(f"{head}{len(body)}\r\n\r\n".encode() + body)
        assert caller.recv(1)
        assert served.gateway.room.answers.bytes >= HELD_COST * 8_000_000
        while caller.recv(1 << 20):
            pass


def test_one_that_dies_on_the_way_gives_its_part_back(served: Served, mock: MockUpstream) -> None:
    async def dies(wire: Wire) -> None:
        await wire.send(b"HTTP/1.1 200 OK\r\ncontent-length: 200000\r\n\r\n" + bytes(150_000))
        wire.reset()

    mock.script = dies
    answer = served.post(ASK)
    assert (answer.status_code, served.record(answer)["usage"]["reported"]) == (502, False)


# --- streams of which something is gathered ---


@pytest.fixture
def bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "MAX_WHOLE_BODY", 1_000_000)


ARGUMENTS = {"index": 0, "id": "c", "function": {"name": "f", "arguments": "x" * 90_000}}


@pytest.mark.usefixtures("bounded")
@pytest.mark.parametrize(
    "delta", [{"content": "x" * 90_000}, {"tool_calls": [ARGUMENTS]}], ids=["text", "call"]
)
@pytest.mark.parametrize("path", ["/v1/responses", "/v1/messages"])
def test_a_stream_without_end_ends_where_it_is_gathered(
    served: Served, mock: MockUpstream, delta: dict[str, Any], path: str
) -> None:
    async def endless(wire: Wire) -> None:
        await wire.start_events()
        for _ in range(30):
            await wire.part(
                sse(chunk("") | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
            )
        await wire.part(DONE)
        await wire.end()

    mock.script = endless
    asked = {"model": "m", "input": "hi"} if path == "/v1/responses" else ASK
    answer = served.post({**asked, "stream": True}, path=path)
    relayed = path == "/v1/messages" and "content" in delta
    assert ("is larger than" in answer.text) is not relayed
    assert served.record(answer)["error"] == (None if relayed else "upstream_answer_too_large")


def test_what_is_gathered_takes_of_the_same_memory(
    crowded: tuple[Served, Answering], mock: MockUpstream
) -> None:
    served, _ = crowded

    async def long(wire: Wire) -> None:
        await wire.events(*[sse(chunk("x" * 30_000)) for _ in range(10)], DONE)

    mock.script = long
    answer = served.post({"model": "m", "input": "hi", "stream": True}, path="/v1/responses")
    assert "[serve] answers_mib" in answer.text
    assert served.record(answer)["error"] == "overloaded"
    assert "x" * 300_000 in "".join(
        json.loads(line[6:])["choices"][0]["delta"]["content"]
        for line in served.post({**ASK, "stream": True}).text.splitlines()
        if line.startswith("data: {")
    ), "a relayed one gathers nothing"


# --- more values than can be decoded in time ---


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_weight, "MAX_VALUES", 5_000)


@pytest.mark.usefixtures("few")
def test_a_list_of_many_numbers_is_relayed_and_its_usage_found(served: Served, mock: MockUpstream) -> None:
    usage = {"prompt_tokens": 7, "total_tokens": 7}
    rows = [{"object": "embedding", "index": at, "embedding": [0.25] * 3_000} for at in range(4)]
    mock.script = Answering(json.dumps({"object": "list", "data": rows, "usage": usage}).encode())
    answer = served.post({"model": "m", "input": ["x"] * 4}, path="/v1/embeddings")
    assert answer.content == mock.script.body
    assert served.record(answer)["usage"]["prompt_tokens"] == 7


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    "body", [b'{"usage":' + b"[]," * 300_000, b'{"a":[' + b"1," * 9_000 + b'1],"usage":{']
)
def test_what_cannot_be_looked_through_is_relayed_unread_and_never_translated(
    served: Served, mock: MockUpstream, body: bytes
) -> None:
    mock.script = Answering(body)
    answer = served.post(ASK)
    assert (answer.status_code, answer.content) == (200, body)
    assert served.record(answer)["usage"]["reported"] is False
    assert served.post(ASK, path="/v1/messages").status_code == 502
