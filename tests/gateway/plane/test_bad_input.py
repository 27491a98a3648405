"""What callers send by mistake or on purpose: one clear error each, in OpenAI's shape, and nothing breaks."""

import gzip
import json
import socket
import threading
import zlib
from pathlib import Path

import pytest

from promptcache_gateway.settings import Settings, UpstreamSettings
from tests.gateway.mock_upstream import CHAT_BYTES, MockUpstream
from tests.gateway.serving import Served, serve

GOOD = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}


def error_of(answer) -> dict[str, object]:
    body = answer.json()
    assert set(body["error"]) == {"message", "type", "param", "code"}
    assert "Traceback" not in answer.text
    return body["error"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"model": "m", "messages": [}',
        b"\xff\xfe{}",
        b'{"model": NaN}',
        b"nonsense",
        b'{"a":"\\ud800',
        b"[" * 100_000,
        b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
        b'{"x":"\\ud800","y":' + b"[" * 5_000 + b"]" * 5_000 + b"}",
    ],
)
def test_malformed_json(proxied: Served, mock: MockUpstream, body: bytes) -> None:
    answer = proxied.post(body)
    assert answer.status_code == 400
    assert error_of(answer)["type"] == "invalid_request_error"
    assert answer.headers["x-promptcache-request-id"].startswith("pcr_")
    assert mock.seen == []


@pytest.mark.parametrize(
    "body",
    [
        b'{"x":[' + b"[]," * 60_000 + b"0]}",
        b'{"x":"\\"",' + b'"y":{},' * 100_000 + b'"z":0}',
    ],
)
def test_more_values_than_can_be_decoded_in_time(
    proxied: Served, monkeypatch: pytest.MonkeyPatch, body: bytes
) -> None:
    monkeypatch.setattr("promptcache_gateway.upstreams.json_weight.MAX_VALUES", 100_000)
    answer = proxied.post(body)
    assert (answer.status_code, error_of(answer)["code"]) == (400, "too_many_values")
    assert proxied.post({**GOOD, "x": '"[],' * 60_000}).status_code == 200, "it is only text"


def test_a_header_of_ours_with_a_wrong_value_is_named(proxied: Served, mock: MockUpstream) -> None:
    answer = proxied.post(GOOD, x_promptcache_cache="banana")
    assert (answer.status_code, error_of(answer)["param"]) == (400, "x-promptcache-cache")
    assert mock.seen == []
    for said in ("on", "OFF", "off"):
        assert proxied.post(GOOD, x_promptcache_cache=said).status_code == 200


@pytest.mark.parametrize("body", [b"[]", b'"text"', b"null", b"3"])
def test_a_body_that_is_no_object(proxied: Served, body: bytes) -> None:
    answer = proxied.post(body)
    assert answer.status_code == 400
    assert "JSON object" in str(error_of(answer)["message"])


@pytest.mark.parametrize(
    ("field", "value"), [("model", 3), ("model", ["m"]), ("stream", "yes"), ("stream", 1)]
)
def test_wrong_types_name_the_path(proxied: Served, field: str, value: object) -> None:
    answer = proxied.post({**GOOD, field: value})
    assert answer.status_code == 400
    assert error_of(answer)["param"] == field


def test_what_only_the_upstream_can_judge_is_left_to_it(proxied: Served, mock: MockUpstream) -> None:
    strange = {"model": None, "messages": "hi", "metadata": [1], "stream_options": 3}
    assert proxied.post(strange).status_code == 200
    assert json.loads(mock.last.body) == strange


def test_an_announced_body_of_50_mb_is_refused_unread(proxied: Served, mock: MockUpstream) -> None:
    with socket.create_connection(("127.0.0.1", int(proxied.url.rpartition(":")[2])), timeout=10) as caller:
        caller.sendall(
            b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 52428800\r\n"
            b"expect: 100-continue\r\n\r\n"
        )
        answer = b""
        while b"request_too_large" not in answer and (part := caller.recv(65536)):
            answer += part
    assert answer.startswith(b"HTTP/1.1 413")
    assert b"1,000,000 bytes" in answer
    assert mock.seen == []


def test_a_50_mb_body_that_is_sent_all_the_same_is_answered(proxied: Served, mock: MockUpstream) -> None:
    answer = proxied.post(b'{"model":"m","x":"' + b"x" * 50_000_000 + b'"}')
    assert answer.status_code == 413
    assert error_of(answer)["code"] == "request_too_large"
    assert mock.seen == []
    assert proxied.post(GOOD).content == CHAT_BYTES


def test_a_body_of_unknown_length_is_not_held(proxied: Served) -> None:
    def parts():
        for _ in range(500):
            yield b"x" * 100_000

    answer = proxied.http.post("/v1/chat/completions", content=parts())
    assert answer.status_code == 413


@pytest.mark.parametrize(
    ("body", "encoding", "status"),
    [
        (gzip.compress(b"x" * 30_000_000), "gzip", 413),
        (gzip.compress(b"x" * 600_000) * 2, "gzip", 413),
        (b"not gzip", "gzip", 400),
        (gzip.compress(gzip.compress(b"{}", mtime=0), mtime=0), "gzip, gzip", 415),
        (gzip.compress(b"{}", mtime=0)[:-4], "gzip", 400),
        (b"{}", "br", 415),
    ],
)
def test_compressed_bodies_are_bounded_and_checked(
    proxied: Served, body: bytes, encoding: str, status: int
) -> None:
    assert proxied.post(body, content_encoding=encoding).status_code == status


def test_a_compressed_body_may_have_several_parts(proxied: Served, mock: MockUpstream) -> None:
    body = json.dumps(GOOD).encode()
    for sent in (gzip.compress(body), gzip.compress(body[:9]) + gzip.compress(body[9:]), zlib.compress(body)):
        encoding = "deflate" if sent.startswith(b"x") else "GZip"
        assert proxied.post(sent, content_encoding=encoding).status_code == 200
        assert mock.last.body == body


def test_compressions_in_two_lines_are_two(proxied: Served, mock: MockUpstream) -> None:
    twice = gzip.compress(gzip.compress(json.dumps(GOOD).encode()))
    headers = [("content-encoding", "gzip"), ("content-encoding", "gzip")]
    answer = proxied.http.post("/v1/chat/completions", content=twice, headers=headers)
    assert (answer.status_code, error_of(answer)["code"]) == (415, "unsupported_content_encoding")
    assert mock.seen == []


@pytest.mark.parametrize("number", [b"1e999", b"-1e999", b"9" * 5000, b"NaN", b"Infinity", b"01", b"+1"])
@pytest.mark.parametrize("user", [b"u", b"\\ud83d"])
def test_numbers_that_are_none_are_refused(
    proxied: Served, mock: MockUpstream, number: bytes, user: bytes
) -> None:
    """Whether or not half a surrogate pair has the body read more leniently."""
    answer = proxied.post(b'{"model":"m","messages":[],"user":"%s","temperature":%s}' % (user, number))
    assert (answer.status_code, error_of(answer)["code"]) == (400, "invalid_json")
    assert mock.seen == []


@pytest.mark.parametrize("user", [b"u", b"\\ud83d"])
def test_a_number_that_is_too_large_for_64_bits_is_the_upstream_s_to_judge(
    proxied: Served, mock: MockUpstream, user: bytes
) -> None:
    body = b'{"model":"m","input":"Hi","user":"%s","seed":123456789012345678901234567890}' % user
    assert proxied.post(body, path="/v1/responses").status_code == 200
    assert mock.last.body == body


def test_a_name_of_a_model_has_an_end(proxied: Served, mock: MockUpstream) -> None:
    """It is kept with every record."""
    assert proxied.post({**GOOD, "model": "m" * 1024}).status_code == 200
    answer = proxied.post({**GOOD, "model": "m" * 1025})
    assert (answer.status_code, error_of(answer)["param"]) == (400, "model")
    assert len(mock.seen) == 1


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        ("org/name:free@v1", "org/name:free@v1"),
        ("a%3Fb=c%23d", "a%3Fb=c%23d"),
        ("a%0D%0Ax-evil:%201", "a%0D%0Ax-evil:%201"),
        ("a%20b", "a%20b"),
        ("caf%C3%A9%25", "caf%C3%A9%25"),
    ],
)
def test_a_model_that_is_asked_for_is_the_one_that_is_asked_about(
    proxied: Served, mock: MockUpstream, asked: str, sent: str
) -> None:
    request = proxied.http.build_request("GET", "/")
    request.url = request.url.copy_with(raw_path=f"/v1/models/{asked}?limit=2".encode())
    assert proxied.http.send(request).status_code == 200
    assert mock.last.line == f"GET /v1/models/{sent}?limit=2 HTTP/1.1"


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/v1/chat/completions", 405, "method_not_allowed"),
        ("PUT", "/completions", 405, "method_not_allowed"),
        ("POST", "/v1/models", 405, "method_not_allowed"),
        ("POST", "/v1/nonsense", 404, "unknown_url"),
        ("GET", "/nonsense", 404, "unknown_url"),
        ("DELETE", "/health", 405, "method_not_allowed"),
        ("GET", "/v1/models/../../secret", 404, "unknown_url"),
    ],
)
def test_unknown_routes_answer_in_the_api_s_shape(
    proxied: Served, mock: MockUpstream, method: str, path: str, status: int, code: str
) -> None:
    request = proxied.http.build_request(method, "/")
    request.url = request.url.copy_with(raw_path=path.encode())
    answer = proxied.http.send(request)
    assert answer.status_code == status
    assert error_of(answer)["code"] == code
    assert mock.seen == []


def test_options_and_head(proxied: Served) -> None:
    answer = proxied.http.options("/v1/chat/completions")
    assert (answer.status_code, answer.headers["allow"]) == (204, "POST, OPTIONS")
    for path in ("/v1/models", "/health", "/metrics", "/dashboard"):
        answer = proxied.http.head(path)
        assert (answer.status_code, answer.content) == (200, b""), path
    assert proxied.http.head("/promptcache/v1/events").status_code == 405
    root = proxied.get("/")
    assert (root.status_code, root.headers["location"]) == (307, "dashboard")


@pytest.mark.parametrize(
    "junk", [b"BREW / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nhost: x\r\nno colon\r\n\r\n"]
)
def test_what_is_no_http_is_refused_in_the_api_s_shape(proxied: Served, junk: bytes) -> None:
    with socket.create_connection(("127.0.0.1", int(proxied.url.rpartition(":")[2])), timeout=5) as caller:
        caller.sendall(junk)
        answer = b"".join(iter(lambda: caller.recv(65536), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"content-type: application/json" in head
    assert json.loads(body)["error"]["code"] == "invalid_http"


def test_garbage_on_the_socket_stops_nobody(proxied: Served) -> None:
    port = int(proxied.url.rpartition(":")[2])
    for junk in (
        b"\x16\x03\x01garbage\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /v1/chat/completions HTTP/1.1\r\n",
    ):
        with socket.create_connection(("127.0.0.1", port), timeout=5) as caller:
            caller.sendall(junk)
    assert proxied.post(GOOD).content == CHAT_BYTES


def test_a_caller_who_leaves_in_the_middle_of_the_body_stops_nobody(
    proxied: Served, mock: MockUpstream
) -> None:
    port = int(proxied.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=5) as caller:
        caller.sendall(
            b'POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 500\r\n\r\n{"model":'
        )
    assert proxied.post(GOOD).content == CHAT_BYTES
    assert len(mock.seen) == 1


def test_others_are_served_while_bad_requests_rain(proxied: Served) -> None:
    answers: list[int] = []

    def rain() -> None:
        answers.extend(proxied.post(b"{").status_code for _ in range(30))

    threads = [threading.Thread(target=rain) for _ in range(4)]
    for thread in threads:
        thread.start()
    good = [proxied.post(GOOD).status_code for _ in range(30)]
    for thread in threads:
        thread.join()
    assert set(answers) == {400}
    assert set(good) == {200}


def test_no_prompt_text_reaches_the_log(
    proxied: Served, mock: MockUpstream, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(call, inbound):
        raise KeyError(call.payload["messages"][0]["content"])

    monkeypatch.setattr(proxied.gateway.upstream, "send", broken)
    answer = proxied.post({"model": "m", "messages": [{"role": "user", "content": "my secret prompt"}]})
    assert answer.status_code == 500
    error = error_of(answer)
    assert error["code"] == "internal_error"
    assert "KeyError" in caplog.text
    assert answer.headers["x-promptcache-request-id"] in caplog.text
    assert "secret" not in caplog.text
    assert "secret" not in answer.text


def test_others_are_answered_while_a_large_request_is_looked_at(
    proxied: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    observer, begun, seen = proxied.gateway.observer, threading.Event(), threading.Event()
    really_open = observer.open

    def slow(call):
        begun.set()
        assert seen.wait(10), "nobody else was answered"
        return really_open(call)

    monkeypatch.setattr(observer, "open", slow)
    large = json.dumps({**GOOD, "x": "x" * 400_000}).encode()
    answers: list[bytes] = []
    caller = threading.Thread(target=lambda: answers.append(proxied.post(large).content))
    caller.start()
    assert begun.wait(10)
    assert proxied.get("/health").status_code == 200
    seen.set()
    caller.join(10)
    assert answers == [CHAT_BYTES]


@pytest.mark.parametrize("depth", [300, 900, 1010])
@pytest.mark.parametrize(
    "path", ["/v1/chat/completions", "/v1/messages", "/v1/messages/count_tokens", "/v1/responses"]
)
def test_what_is_nested_too_deeply_is_relayed_or_refused(
    mock: MockUpstream, tmp_path: Path, path: str, depth: int, caplog: pytest.LogCaptureFixture
) -> None:
    """JSON is read a thousand levels deep, and written not so deep: what cannot be translated is said so."""
    tools = b'"tools":[{"type":"function","name":"f","function":{"name":"f","parameters":%s}}]'
    text = "input" if path == "/v1/responses" else "messages"
    said = f'{{"model":"m","max_tokens":5,"{text}":[{{"role":"user","content":"x"}}],'.encode()
    deep = b"[" * depth + b"]" * depth
    body = said + tools % deep + b',"metadata":{"x":%s}}' % deep
    mock.script = lambda wire: wire.respond(CHAT_BYTES)
    settings = Settings(upstream=UpstreamSettings(url=mock.url, apis=("chat",)), data_dir=tmp_path)
    with serve(settings) as served:
        answer, again = [served.post(body, path=path) for _ in range(2)]
    assert again.status_code == answer.status_code
    assert not [said for said in caplog.records if said.levelname == "ERROR"]
    if path == "/v1/chat/completions":
        assert (answer.status_code, mock.last.body) == (200, body)
    else:
        assert answer.status_code == 400
        assert "nested too deeply" in answer.json()["error"]["message"]
        assert mock.seen == []
