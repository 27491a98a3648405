"""Upstreams that fail in every way they do: the caller gets the API's own error, and others are served."""

import asyncio
import json
import socket
import threading
import time
from pathlib import Path

import httpx
import openai
import pytest

from promptcache_gateway.settings import Settings, UpstreamSettings
from tests.gateway.mock_upstream import (
    CHAT_BYTES,
    DONE,
    MockUpstream,
    Wire,
    answer_chat,
    chunk,
    sse,
    wait_until,
)
from tests.gateway.serving import Served, serve

BODY = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
STREAM = {**BODY, "stream": True}


async def no_answer(wire: Wire) -> None:
    wire.reset()


async def hangs_up(wire: Wire) -> None:
    wire.writer.close()


async def garbage(wire: Wire) -> None:
    await wire.send(b"SSH-2.0-OpenSSH_9.9\r\n\r\n")
    wire.writer.close()


async def silence(wire: Wire) -> None:
    await wire.gone()


async def dies_in_the_body(wire: Wire) -> None:
    await wire.send(b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{"id":')
    wire.reset()


async def stops_in_the_body(wire: Wire) -> None:
    await wire.send(b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{"id":')
    await wire.gone()


@pytest.mark.parametrize(
    ("script", "status", "code"),
    [
        (no_answer, 502, "upstream_disconnected"),
        (hangs_up, 502, "upstream_disconnected"),
        (garbage, 502, "upstream_disconnected"),
        (dies_in_the_body, 502, "upstream_disconnected"),
    ],
)
def test_an_upstream_that_fails_becomes_an_api_error(
    proxied: Served, mock: MockUpstream, script, status: int, code: str
) -> None:
    mock.script = script
    answer = proxied.post(BODY)
    assert answer.status_code == status
    error = answer.json()["error"]
    assert (error["type"], error["code"]) == ("upstream_error", code)
    record = proxied.record(answer)
    assert (record["status"], record["error"], record["usage"]["cached_tokens"]) == (status, code, None)
    mock.script = answer_chat
    assert proxied.post(BODY).content == CHAT_BYTES


async def breaks_off_in_the_head(wire: Wire) -> None:
    await wire.send(b"HTTP/1.1 200 OK\r\ncontent-ty")
    wire.writer.close()


@pytest.mark.parametrize(
    ("script", "asked"), [(hangs_up, 2), (garbage, 1), (breaks_off_in_the_head, 1), (dies_in_the_body, 1)]
)
def test_who_has_begun_to_answer_is_not_asked_again(
    proxied: Served, mock: MockUpstream, script, asked: int
) -> None:
    mock.script = script
    before = len(mock.seen)
    answer = proxied.post(BODY)
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream_disconnected")
    assert len(mock.seen) - before == asked


@pytest.mark.parametrize(
    ("length", "code"), [(500, "upstream_disconnected"), (40_000_000, "upstream_answer_too_large")]
)
def test_a_list_of_models_that_is_torn_or_too_large_is_an_error(
    proxied: Served, mock: MockUpstream, length: int, code: str
) -> None:
    async def torn(wire: Wire) -> None:
        await wire.send(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n[" % length)
        wire.writer.close()

    mock.script = torn
    answer = proxied.get("/v1/models")
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, code)


@pytest.mark.parametrize("script", [silence, stops_in_the_body])
def test_an_upstream_that_falls_silent_is_given_up(impatient: Served, mock: MockUpstream, script) -> None:
    mock.script = script
    answer = impatient.post(BODY)
    assert (answer.status_code, answer.json()["error"]["code"]) == (504, "upstream_timeout")
    assert impatient.record(answer)["error"] == "upstream_timeout"


def test_a_stream_that_falls_silent_ends_with_an_error_event(impatient: Served, mock: MockUpstream) -> None:
    mock.script = stalls
    answer = impatient.post(STREAM)
    events, _, _ = answer.content.rpartition(b": promptcache ")
    assert events.startswith(sse(chunk("Hel")) + sse(chunk("lo")) + b'data: {"error"')
    assert _failed(impatient, answer) == (504, "upstream_timeout")


def _failed(served: Served, answer: httpx.Response) -> tuple[int, str]:
    """Status and error of the record, which the template's totals must count as failed."""
    assert answer.status_code == 200
    record = served.record(answer)
    (template,) = served.get("/promptcache/v1/templates").json()
    assert template["failed_requests"] == 1
    return record["status"], record["error"]


def test_an_unreachable_upstream_is_a_502(tmp_path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        with serve(Settings(upstream=UpstreamSettings(url=url), data_dir=tmp_path)) as served:
            for body in (BODY, STREAM):
                answer = served.post(body)
                assert answer.status_code == 502
                assert answer.json()["error"]["code"] == "upstream_unreachable"
            assert served.get("/v1/models").status_code == 502
            health = served.get("/health")
            (entry,) = health.json()["upstreams"].values()
            assert (health.status_code, health.json()["status"]) == (503, "unavailable")
            assert (entry["ok"], entry["error"]) == (False, "upstream_unreachable")
            assert time.time() - 20 < entry["failing_since"] <= entry["failed_at"] <= time.time()


def test_health_says_what_the_last_call_met(proxied: Served, mock: MockUpstream) -> None:
    def entry() -> tuple[int, object, set[str]]:
        answer = proxied.get("/health")
        (said,) = answer.json()["upstreams"].values()
        return answer.status_code, said.pop("ok"), set(said)

    assert entry() == (200, None, {"url"})
    proxied.post(BODY)
    assert entry() == (200, True, {"url", "answered_at"})
    mock.script = no_answer
    proxied.post(BODY)
    assert entry() == (503, False, {"url", "answered_at", "failing_since", "failed_at", "error"})
    mock.script = answer_chat
    assert proxied.post(BODY).status_code == 200
    assert entry()[:2] == (200, True)


def test_one_slow_answer_is_no_outage(impatient: Served, mock: MockUpstream) -> None:
    mock.script = silence
    assert impatient.post(BODY).status_code == 504
    assert impatient.get("/health").status_code == 200


async def dies_between_events(wire: Wire) -> None:
    await wire.start_events()
    await wire.part(sse(chunk("Hel")))
    await wire.part(sse(chunk("lo")))
    await asyncio.sleep(0.05)
    wire.reset()


async def dies_inside_an_event(wire: Wire) -> None:
    await wire.start_events()
    await wire.part(sse(chunk("Hel")) + sse(chunk("lo")) + b'data: {"id":"chatcmpl-mock","cho')
    await asyncio.sleep(0.05)
    wire.reset()


async def stalls(wire: Wire) -> None:
    await wire.start_events()
    await wire.part(sse(chunk("Hel")))
    await wire.part(sse(chunk("lo")))
    await wire.gone()


@pytest.mark.parametrize(
    ("script", "code"),
    [
        (dies_between_events, "upstream_disconnected"),
        (dies_inside_an_event, "upstream_disconnected"),
    ],
)
def test_a_stream_that_dies_ends_with_an_error_event(
    proxied: Served, client: openai.OpenAI, mock: MockUpstream, script, code: str
) -> None:
    mock.script = script
    texts: list[str] = []
    stream = client.chat.completions.create(**STREAM)
    with pytest.raises(openai.APIError) as caught:
        texts.extend(part.choices[0].delta.content for part in stream)
    assert "".join(texts) == "Hello"
    assert caught.value.code == code

    answer = proxied.post(STREAM)
    before, _, comment = answer.content.rpartition(b": promptcache ")
    assert before.startswith(sse(chunk("Hel")) + sse(chunk("lo")) + b'data: {"error"')
    assert json.loads(comment)["request_id"]
    record = proxied.record(answer)
    assert (record["status"], record["error"]) == (502, code)


LAST = {**chunk(""), "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}


@pytest.mark.parametrize(
    ("last", "recorded"),
    [
        ([], (502, "upstream_torn")),
        ([sse(LAST)], (200, None)),
        ([sse({**LAST, "usage": {"prompt_tokens": 3, "completion_tokens": 1}})], (200, None)),
        ([DONE], (200, None)),
    ],
)
def test_a_stream_that_just_ends_is_relayed_as_it_is(
    proxied: Served, mock: MockUpstream, last: list[bytes], recorded: tuple[int, str | None]
) -> None:
    """Some servers send no [DONE] and no last blank line; one that told no reason either broke off."""
    sent = [sse(chunk("Hello")), *last, b'data: {"choices":[]}\n']

    async def script(wire: Wire) -> None:
        await wire.events(*sent)

    mock.script = script
    answer = proxied.post(STREAM)
    events = answer.content.split(b": promptcache ")[0]
    assert events.rstrip(b"\n") == b"".join(sent).rstrip(b"\n")
    assert answer.content.count(b"\n\n: promptcache ") == 1
    record = proxied.record(answer)
    assert (record["status"], record["error"]) == recorded


def test_an_error_event_of_the_upstream_s_own_passes_and_is_recorded(
    proxied: Served, mock: MockUpstream
) -> None:
    event = b'data: {"error":{"message":"overloaded","type":"server_error","code":"overloaded"}}\n\n'

    async def script(wire: Wire) -> None:
        await wire.events(sse(chunk("Hel")), event)

    mock.script = script
    answer = proxied.post(STREAM)
    assert event in answer.content
    assert _failed(proxied, answer) == (502, "server_error"), "overloaded is what the gateway may be"


@pytest.mark.parametrize(
    ("event", "code"),
    [
        (b'{"error":"boom"}', "upstream_error"),
        (b'{"error":"boom","error_type":"overloaded_by_many"}', "overloaded_by_many"),
        (
            b'{"object":"error","message":"boom","type":"InternalServerError","code":null}',
            "InternalServerError",
        ),
    ],
)
def test_an_error_that_is_no_object_is_one_whatever_follows(
    proxied: Served, mock: MockUpstream, event: bytes, code: str
) -> None:
    """As Ollama, TGI and SGLang say it; a translated stream must not pass for an empty answer."""

    async def script(wire: Wire) -> None:
        await wire.events(b"data: " + event + b"\n\n", DONE)

    mock.script = script
    assert _failed(proxied, proxied.post(STREAM)) == (502, code)
    asked = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    streamed = proxied.post({**asked, "stream": True}, path="/v1/messages")
    assert b"event: error" in streamed.content
    assert b"boom" in streamed.content
    assert b"message_stop" not in streamed.content
    whole = proxied.post(asked, path="/v1/messages")
    assert (whole.status_code, whole.json()["error"]["message"]) == (502, "boom")


@pytest.mark.parametrize(
    "body",
    [
        b'{"object":"error","message":"Too long","type":"BadRequestError","param":null,"code":400}',
        b'{"error":"Too long"}',
        b'{"message":"Too long"}',
        b'{"detail":"Too long"}',
        b'{"detail":[{"loc":["body"],"msg":"Too long","type":"t"}]}',
        b'[{"error":{"code":400,"message":"Too long","status":"INVALID_ARGUMENT"}}]',
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_a_refusal_keeps_its_words_in_another_api(
    proxied: Served, mock: MockUpstream, body: bytes, stream: bool
) -> None:
    async def script(wire: Wire) -> None:
        await wire.respond(body, status="400 Bad Request")

    mock.script = script
    asked = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    answer = proxied.post({**asked, "stream": stream}, path="/v1/messages")
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].endswith("Too long")


@pytest.mark.parametrize(
    ("body", "recorded"),
    [
        (b'{"error": {"message":"No credits","code":"broke"}}', (502, "broke")),
        (b'{"type":"error","error":{"message":"No"},"request_id":"r"}', (502, "upstream_error")),
        (b'{"error":"model not found"}', (502, "upstream_error")),
        (
            b'{"object":"error","message":"no","type":"BadRequestError","param":null,"code":null}',
            (502, "BadRequestError"),
        ),
        (b'{"error":null,"choices":[]}', (200, None)),
        (b'{"id":"x","error":{"code":"odd"},"choices":[]}', (200, None)),
    ],
)
def test_an_answer_that_holds_nothing_but_an_error_passes_and_is_recorded_as_one(
    proxied: Served, mock: MockUpstream, body: bytes, recorded: tuple[int, str | None]
) -> None:
    async def script(wire: Wire) -> None:
        await wire.respond(body)

    mock.script = script
    answer = proxied.post({**STREAM, "stream": False})
    assert (answer.status_code, answer.content) == (200, body)
    record = proxied.record(answer)
    assert (record["status"], record["error"]) == recorded


def test_a_plain_answer_to_a_streaming_request_is_relayed(proxied: Served, mock: MockUpstream) -> None:
    async def script(wire: Wire) -> None:
        await wire.respond(CHAT_BYTES)

    mock.script = script
    answer = proxied.post(STREAM)
    assert answer.content == CHAT_BYTES
    assert answer.headers["content-type"] == "application/json"


def test_a_redirect_is_not_followed(proxied: Served, mock: MockUpstream) -> None:
    async def script(wire: Wire) -> None:
        await wire.respond(
            b"", status="307 Temporary Redirect", headers=("location: http://169.254.169.254/",)
        )

    mock.script = script
    answer = proxied.post(BODY)
    assert answer.status_code == 307
    assert len(mock.seen) == 1
    record = proxied.record(answer)
    assert (record["status"], record["error"]) == (502, "upstream_307"), "nobody was answered"
    assert "redirect" in record["failure"]["what"]
    assert record["diagnosis"]["cause"] is None


@pytest.mark.parametrize("stream", [False, True])
def test_a_caller_who_hangs_up_cancels_the_upstream_call(
    proxied: Served, mock: MockUpstream, stream: bool
) -> None:
    arrived = []

    async def script(wire: Wire) -> None:
        arrived.append(1)
        if stream:
            await wire.start_events()
            await wire.part(sse(chunk("Hel")))
        await asyncio.wait_for(wire.gone(), 5)
        mock.closed.set()

    mock.script = script
    with socket.create_connection(("127.0.0.1", int(proxied.url.rpartition(":")[2]))) as caller:
        body = json.dumps({**BODY, "stream": stream}).encode()
        head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n\r\n"
        caller.sendall(head.encode() + body)
        wait_until(lambda: arrived)
        if stream:
            assert b"200 OK" in caller.recv(65536)
    assert mock.wait_closed(), "the upstream call went on"
    mock.script = answer_chat
    assert proxied.post(BODY).content == CHAT_BYTES
    wait_until(lambda: _statuses(proxied) == [200, 499])


@pytest.mark.parametrize("asked", [b"GET /v1/models", b"POST /v1/messages/count_tokens"])
def test_a_caller_who_hangs_up_cancels_a_question_too(
    mock: MockUpstream, tmp_path: Path, asked: bytes
) -> None:
    arrived = []

    async def script(wire: Wire) -> None:
        arrived.append(1)
        await asyncio.wait_for(wire.gone(), 5)
        mock.closed.set()

    mock.script = script
    upstream = UpstreamSettings(url=mock.url, kind="anthropic")
    body = b"" if asked.startswith(b"GET") else json.dumps({**BODY, "max_tokens": 1}).encode()
    with serve(Settings(upstream=upstream, data_dir=tmp_path)) as served:
        with socket.create_connection(("127.0.0.1", int(served.url.rpartition(":")[2]))) as caller:
            head = b"%s HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n" % (asked, len(body))
            caller.sendall(head + body)
            wait_until(lambda: arrived)
        assert mock.wait_closed(), "the upstream call went on"
        assert served.get("/health").status_code == 200


def _statuses(served: Served) -> list[int]:
    return [record["status"] for record in served.get("/promptcache/v1/requests").json()["data"]]


def test_a_slow_reader_gets_everything(proxied: Served, mock: MockUpstream) -> None:
    events = [sse(chunk("x" * 20_000)) for _ in range(200)]

    async def script(wire: Wire) -> None:
        await wire.events(*events)

    mock.script = script
    with proxied.http.stream("POST", "/v1/chat/completions", json=STREAM) as answer:
        parts = answer.iter_raw()
        first = next(parts)
        wait_until(lambda: mock.seen)
        whole = first + b"".join(parts)
    assert whole.startswith(b"".join(events))


def test_a_stop_that_cannot_wait_ends_streams_with_an_error_event(mock: MockUpstream, tmp_path) -> None:
    mock.script = stalls
    settings = Settings(upstream=UpstreamSettings(url=mock.url), data_dir=tmp_path, shutdown_grace_s=1)
    got: list[bytes] = []

    def read(url: str) -> None:
        with httpx.stream("POST", f"{url}/v1/chat/completions", json=STREAM, timeout=30) as answer:
            got.extend(answer.iter_raw())

    with serve(settings) as served:
        reader = threading.Thread(target=read, args=[served.url])
        reader.start()
        wait_until(lambda: b"lo" in b"".join(got))
    reader.join(10)
    events = b"".join(got).split(b"\n\n")
    assert b'"code":"shutting_down"' in events[-3]
    assert events[-2].startswith(b": promptcache ")
