"""Anthropic's API in front of a server of the same shape: bytes, the real client, errors."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import anthropic
import pytest

from promptcache_gateway.settings import Settings, UpstreamSettings
from tests.gateway.anthropic_wire import (
    COUNT_BYTES,
    EVENTS,
    MESSAGE_BYTES,
    MODELS_BYTES,
    answer_messages,
    event,
)
from tests.gateway.mock_upstream import MockUpstream, Wire, mock_upstream
from tests.gateway.serving import Served, serve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MARK = {"type": "ephemeral"}
ASK = {
    "model": "claude-x",
    "max_tokens": 50,
    "system": [{"type": "text", "text": "You are terse.", "cache_control": MARK}],
    "messages": [{"role": "user", "content": "Hi"}],
}
WEIRD_BODY = (
    b'\r\n{ "messages":[{"role":"user","content":[{"type":"text","text":"caf\\u00e9  \\/ \xf0\x9f\x98\x80",'
    b'"cache_control":{ "type":"ephemeral" ,"ttl":"1h"}}]}],\t"max_tokens":1.0E+1,"x_new":[ ],'
    b'"system":[{"cache_control":{"type":"ephemeral"},"type":"text","text":"s"}],"model" :"claude-x",'
    b'"metadata":{"user_id":"u"},"model":"claude-x"}\n \n'
)
WEIRD_STREAM = WEIRD_BODY.replace(b'"x_new":[ ]', b'"stream" : true')


@pytest.fixture
def mock() -> Iterator[MockUpstream]:
    with mock_upstream(answer_messages) as server:
        yield server


@pytest.fixture
def served(mock: MockUpstream, tmp_path: Path) -> Iterator[Served]:
    upstream = UpstreamSettings(url=mock.url, kind="anthropic", read_timeout_s=2.0)
    with serve(Settings(upstream=upstream, data_dir=tmp_path)) as made:
        yield made


@pytest.fixture
def claude(served: Served) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=served.url, api_key="sk-ant", max_retries=0, timeout=20) as made:
        yield made


@pytest.mark.parametrize("path", ["/v1/messages", "/messages", "/v1/messages?beta=true"])
@pytest.mark.parametrize("body", [WEIRD_BODY, WEIRD_STREAM])
def test_a_request_arrives_byte_for_byte(served: Served, mock: MockUpstream, path: str, body: bytes) -> None:
    served.post(body, path=path)
    assert mock.last.body == body
    query = path.partition("?")[2]
    assert mock.last.line == f"POST /v1/messages{'?' + query if query else ''} HTTP/1.1"


def test_an_answer_comes_back_byte_for_byte(served: Served) -> None:
    answer = served.post(WEIRD_BODY, path="/v1/messages")
    assert answer.content == MESSAGE_BYTES
    assert (answer.headers["request-id"], answer.headers["anthropic-ratelimit-x"]) == ("req_1", "1")
    assert answer.headers["x-promptcache-cached-tokens"] == "2000"
    assert answer.headers["x-promptcache-prompt-tokens"] == "2112"


def test_events_come_back_byte_for_byte_and_one_comment_follows(served: Served) -> None:
    answer = served.post(WEIRD_STREAM, path="/v1/messages")
    relayed, _, comment = answer.content.rpartition(b": promptcache ")
    assert relayed == b"".join(EVENTS)
    said = json.loads(comment)
    assert (said["cached_tokens"], said["prompt_tokens"]) == (2000, 2112)


def test_streamed_usage_equals_buffered_usage(served: Served) -> None:
    whole = served.record(served.post(WEIRD_BODY, path="/v1/messages"))
    streamed = served.record(served.post(WEIRD_STREAM, path="/v1/messages"))
    assert whole["usage"] == streamed["usage"]
    assert whole["usage"]["cache_write_tokens"] == 100
    assert whole["usage"]["uncached_tokens"] == 12
    assert whole["usage"]["output_tokens"] == 5
    assert streamed["ttft_ms"] is not None


def test_the_caller_s_headers_pass(served: Served, mock: MockUpstream) -> None:
    served.post(
        ASK, path="/v1/messages", x_api_key="sk-ant", anthropic_version="2023-01-01", anthropic_beta="a,b"
    )
    seen = mock.last.headers
    assert (seen["x-api-key"], seen["anthropic-version"], seen["anthropic-beta"]) == (
        "sk-ant",
        "2023-01-01",
        "a,b",
    )
    assert "authorization" not in seen


def test_an_oauth_token_stays_a_bearer_token(served: Served, mock: MockUpstream) -> None:
    served.post(ASK, path="/v1/messages", authorization="Bearer oat", anthropic_version="2023-06-01")
    assert mock.last.headers["authorization"] == "Bearer oat"
    assert "x-api-key" not in mock.last.headers


def test_the_upstream_s_key_replaces_the_caller_s(mock: MockUpstream, tmp_path: Path) -> None:
    upstream = UpstreamSettings(url=f"{mock.url}/v1", kind="anthropic", api_key="sk-ours")
    with serve(Settings(upstream=upstream, data_dir=tmp_path)) as served:
        served.post(ASK, path="/v1/messages", authorization="Bearer theirs")
    seen = mock.last.headers
    assert (seen["x-api-key"], seen["anthropic-version"]) == ("sk-ours", "2023-06-01")
    assert "authorization" not in seen


def test_the_real_client_whole(claude: anthropic.Anthropic) -> None:
    raw = claude.messages.with_raw_response.create(**ASK)
    message = raw.parse()
    assert message.content[0].text == "café  / ok"
    assert message.usage.cache_read_input_tokens == 2000
    assert message.usage.cache_creation.ephemeral_1h_input_tokens == 40
    assert raw.headers["x-promptcache-template"]


def test_the_real_client_streams(claude: anthropic.Anthropic) -> None:
    with claude.messages.stream(**ASK) as stream:
        assert "".join(stream.text_stream) == "Hello there."
        assert stream.get_final_message().usage.cache_read_input_tokens == 2000


def test_the_real_client_counts(claude: anthropic.Anthropic, mock: MockUpstream, served: Served) -> None:
    raw = claude.messages.with_raw_response.count_tokens(model="claude-x", messages=ASK["messages"])
    assert raw.http_response.content == COUNT_BYTES
    assert raw.headers["x-promptcache-request-id"].startswith("pcr_")
    assert mock.last.line.startswith("POST /v1/messages/count_tokens")
    assert served.get("/promptcache/v1/requests").json()["data"] == []


def test_the_real_client_lists_models(claude: anthropic.Anthropic) -> None:
    assert [model.id for model in claude.models.list()] == ["claude-x"]
    assert claude.models.with_raw_response.list().http_response.content == MODELS_BYTES


def test_an_edit_is_blamed_where_nothing_was_read(claude: anthropic.Anthropic, mock: MockUpstream) -> None:
    async def script(wire: Wire) -> None:
        written = MESSAGE_BYTES.replace(b'"cache_read_input_tokens":2000', b'"cache_read_input_tokens":0')
        assert written != MESSAGE_BYTES
        await wire.respond(written)

    def system(clock: str) -> list[dict[str, object]]:
        return [
            {"type": "text", "text": f"It is {clock}. " + "Answer tersely. " * 600, "cache_control": MARK}
        ]

    mock.script = script
    claude.messages.create(**{**ASK, "system": system("2026-11-29T10:00:00")})
    raw = claude.messages.with_raw_response.create(**{**ASK, "system": system("2026-11-29T10:00:07")})
    assert raw.headers["x-promptcache-cause"] == "PC101"
    assert raw.headers["x-promptcache-path"] == "system[0]"


@pytest.mark.parametrize(
    ("status", "kind", "expected"),
    [
        ("400 Bad Request", "invalid_request_error", anthropic.BadRequestError),
        ("429 Too Many Requests", "rate_limit_error", anthropic.RateLimitError),
        ("529 Overloaded", "overloaded_error", anthropic.InternalServerError),
    ],
)
def test_the_upstream_s_errors_pass(
    claude: anthropic.Anthropic, mock: MockUpstream, served: Served, status: str, kind: str, expected: type
) -> None:
    body = json.dumps({"type": "error", "error": {"type": kind, "message": "no"}}).encode()

    async def script(wire: Wire) -> None:
        await wire.respond(body, status=status, headers=("retry-after: 7", "x-should-retry: false"))

    mock.script = script
    with pytest.raises(expected) as caught:
        claude.messages.create(**ASK)
    assert caught.value.response.content == body
    assert caught.value.response.headers["retry-after"] == "7"
    assert served.record(caught.value.response)["error"] == kind


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        (b"{", 400, "invalid_request_error"),
        (b'{"model":3}', 400, "invalid_request_error"),
    ],
)
def test_our_own_errors_have_anthropic_s_shape(served: Served, body: bytes, status: int, kind: str) -> None:
    answer = served.post(body, path="/v1/messages")
    said = answer.json()
    assert (answer.status_code, said["type"], said["error"]["type"]) == (status, "error", kind)
    assert said["request_id"] == answer.headers["x-promptcache-request-id"]


def test_a_wrong_method_has_anthropic_s_shape(served: Served) -> None:
    answer = served.get("/v1/messages")
    assert (answer.status_code, answer.json()["type"]) == (405, "error")


def test_an_upstream_that_hangs_up_is_an_api_error(served: Served, mock: MockUpstream) -> None:
    async def script(wire: Wire) -> None:
        wire.reset()

    mock.script = script
    answer = served.post(ASK, path="/v1/messages")
    assert (answer.status_code, answer.json()["error"]["type"]) == (502, "api_error")


@pytest.mark.parametrize(("dies", "kind"), [(True, "api_error"), (False, "timeout_error")])
def test_a_torn_stream_ends_with_anthropic_s_error_event(
    claude: anthropic.Anthropic, served: Served, mock: MockUpstream, dies: bool, kind: str
) -> None:
    async def script(wire: Wire) -> None:
        await wire.start_events()
        await wire.part(b"".join(EVENTS[:4]) + b'event: content_block_delta\ndata: {"ty')
        await asyncio.sleep(0.05)
        if dies:
            wire.reset()
        else:
            await wire.gone()

    mock.script = script
    answer = served.post({**ASK, "stream": True}, path="/v1/messages")
    events, _, _ = answer.content.rpartition(b": promptcache ")
    assert events.startswith(b"".join(EVENTS[:4]) + b"event: error\ndata: ")
    assert json.loads(events.rpartition(b"data: ")[2])["error"]["type"] == kind
    assert served.record(answer)["status"] == (502 if dies else 504)
    with pytest.raises(anthropic.APIStatusError), claude.messages.stream(**ASK) as stream:
        stream.get_final_message()


def test_an_error_event_of_the_upstream_is_recorded(served: Served, mock: MockUpstream) -> None:
    last = event("error", error={"type": "overloaded_error", "message": "busy"})

    async def script(wire: Wire) -> None:
        await wire.events(EVENTS[0], last)

    mock.script = script
    answer = served.post({**ASK, "stream": True}, path="/v1/messages")
    assert last in answer.content
    assert served.record(answer)["error"] == "overloaded_error"


def test_a_diagnosis_in_the_body(served: Served) -> None:
    answer = served.post(ASK, path="/v1/messages", x_promptcache_diagnose="body")
    assert answer.json()["promptcache"]["cached_tokens"] == 2000
