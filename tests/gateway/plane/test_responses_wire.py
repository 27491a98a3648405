"""OpenAI's responses and embeddings in front of a server of the same shape, with the real client."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import openai
import orjson
import pytest

from promptcache_gateway.settings import Settings, UpstreamSettings
from tests.gateway.mock_upstream import MockUpstream, Wire, mock_upstream
from tests.gateway.serving import Served, serve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

USAGE = {
    "input_tokens": 2006,
    "input_tokens_details": {"cached_tokens": 1920, "cache_write_tokens": 0},
    "output_tokens": 3,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 2009,
}
TEXT = {"type": "output_text", "text": "Hello there.", "annotations": []}
ITEM = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [TEXT]}


def response(status: str = "completed", **more: object) -> dict[str, object]:
    return {
        "id": "resp_mock",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": status,
        "output": [ITEM] if status == "completed" else [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "error": None,
        "usage": USAGE if status == "completed" else None,
        **more,
    }


WHOLE = b'{ "x_odd":1e400,' + orjson.dumps(response())[1:] + b"\n"


def event(name: str, number: int, **fields: object) -> bytes:
    said = {"type": name, "sequence_number": number, **fields}
    return b"event: " + name.encode() + b"\ndata: " + orjson.dumps(said) + b"\n\n"


PLACE = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
EVENTS = [
    event("response.created", 0, response=response("in_progress")),
    event(
        "response.output_item.added", 1, output_index=0, item={**ITEM, "status": "in_progress", "content": []}
    ),
    event("response.content_part.added", 2, **PLACE, part={**TEXT, "text": ""}),
    event("response.output_text.delta", 3, **PLACE, delta="Hello", logprobs=[]),
    event("response.output_text.delta", 4, **PLACE, delta=" there.", logprobs=[]),
    event("response.output_text.done", 5, **PLACE, text="Hello there.", logprobs=[]),
    event("response.output_item.done", 6, output_index=0, item=ITEM),
    event("response.completed", 7, response=response()),
]
EMBEDDING = (
    b'{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.5, 1E-3]}],"model":"e",'
    b'"usage":{"prompt_tokens":4,"total_tokens":4}}'
)
EMBEDDING_BODY = b'{"model":"e", "input":["caf\\u00e9"],"encoding_format":"float"}'
WEIRD_BODY = b'{ "model":"m","input":"caf\\u00e9 \\/","x":123456789012345678901,"instructions":"i" }\n'
WEIRD_STREAM = WEIRD_BODY.replace(b'"x":123456789012345678901', b'"stream" :true')


async def answer(wire: Wire) -> None:
    if "/embeddings" in wire.seen.line:
        await wire.respond(EMBEDDING)
    elif json.loads(wire.seen.body).get("stream"):
        await wire.events(*EVENTS)
    else:
        await wire.respond(WHOLE)


@pytest.fixture
def mock() -> Iterator[MockUpstream]:
    with mock_upstream(answer) as server:
        yield server


@pytest.fixture
def served(mock: MockUpstream, tmp_path: Path) -> Iterator[Served]:
    with serve(Settings(upstream=UpstreamSettings(url=mock.url), data_dir=tmp_path)) as made:
        yield made


@pytest.fixture
def client(served: Served) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{served.url}/v1", api_key="sk-caller", max_retries=0, timeout=20) as made:
        yield made


@pytest.mark.parametrize("body", [WEIRD_BODY, WEIRD_STREAM])
def test_a_request_arrives_byte_for_byte(served: Served, mock: MockUpstream, body: bytes) -> None:
    served.post(body, path="/v1/responses")
    assert mock.last.body == body
    assert mock.last.line == "POST /v1/responses HTTP/1.1"


def test_an_answer_comes_back_byte_for_byte(served: Served) -> None:
    whole = served.post(WEIRD_BODY, path="/v1/responses")
    assert whole.content == WHOLE
    assert (
        served.record(whole)["usage"]["prompt_tokens"] is None
    )  # not JSON to every parser: nothing is guessed


def test_events_come_back_byte_for_byte_and_usage_is_read(served: Served) -> None:
    streamed = served.post(WEIRD_STREAM, path="/v1/responses")
    relayed, _, comment = streamed.content.rpartition(b": promptcache ")
    assert relayed == b"".join(EVENTS)
    assert json.loads(comment)["cached_tokens"] == 1920
    record = served.record(streamed)
    assert (record["usage"]["output_tokens"], record["status"]) == (3, 200)
    assert record["ttft_ms"] is not None


def test_the_last_event_may_be_very_large(served: Served, mock: MockUpstream) -> None:
    large = event("response.completed", 8, response=response(instructions="x" * 1_000_000))

    async def script(wire: Wire) -> None:
        await wire.events(*EVENTS[:-1], large)

    mock.script = script
    streamed = served.post(WEIRD_STREAM, path="/v1/responses")
    assert large in streamed.content
    assert served.record(streamed)["usage"]["cached_tokens"] == 1920


def test_the_real_client(client: openai.OpenAI, mock: MockUpstream) -> None:
    async def script(wire: Wire) -> None:
        await wire.respond(orjson.dumps(response()))

    mock.script = script
    raw = client.responses.with_raw_response.create(model="m", input="Hi", instructions="Be terse.")
    parsed = raw.parse()
    assert parsed.output_text == "Hello there."
    assert parsed.usage.input_tokens_details.cached_tokens == 1920
    assert raw.headers["x-promptcache-cached-tokens"] == "1920"


def test_the_real_client_streams(client: openai.OpenAI) -> None:
    events = list(client.responses.create(model="m", input="Hi", stream=True))
    assert [event.delta for event in events if event.type == "response.output_text.delta"] == [
        "Hello",
        " there.",
    ]
    assert events[-1].response.usage.input_tokens_details.cached_tokens == 1920


def test_a_failed_response_is_recorded_as_failed_though_it_came_whole(
    served: Served, mock: MockUpstream
) -> None:
    failed = (
        b'{"id":"resp_1","object":"response","status":"failed","error":{"code":"server_error"},"output":[]}'
    )

    async def script(wire: Wire) -> None:
        await wire.respond(failed)

    mock.script = script
    answer = served.post(WEIRD_BODY, path="/v1/responses")
    assert (answer.status_code, answer.content) == (200, failed)
    assert served.record(answer)["error"] == "server_error"


def test_a_failed_response_is_recorded_as_failed(served: Served, mock: MockUpstream) -> None:
    error = {"code": "server_error", "message": "no"}

    async def script(wire: Wire) -> None:
        await wire.events(EVENTS[0], event("response.failed", 1, response=response("failed", error=error)))

    mock.script = script
    assert served.record(served.post(WEIRD_STREAM, path="/v1/responses"))["error"] == "server_error"


@pytest.mark.parametrize("code", ["rate_limit_exceeded", None])
def test_an_error_event_is_recorded_as_what_it_says(
    served: Served, mock: MockUpstream, code: str | None
) -> None:
    told = event("error", 1, code=code, message="no", param=None)

    async def script(wire: Wire) -> None:
        await wire.events(EVENTS[0], told)

    mock.script = script
    streamed = served.post(WEIRD_STREAM, path="/v1/responses")
    assert told in streamed.content
    assert served.record(streamed)["error"] == (code or "upstream_error")


def test_a_torn_stream_ends_with_the_api_s_error_event(
    client: openai.OpenAI, served: Served, mock: MockUpstream
) -> None:
    async def script(wire: Wire) -> None:
        await wire.start_events()
        await wire.part(b"".join(EVENTS[:4]))
        wire.reset()

    mock.script = script
    streamed = served.post(WEIRD_STREAM, path="/v1/responses")
    assert b'event: error\ndata: {"type":"error","code":"upstream_disconnected"' in streamed.content
    last = list(client.responses.create(model="m", input="Hi", stream=True))[-1]
    assert (last.type, last.code) == ("error", "upstream_disconnected")


def test_embeddings_pass_and_are_counted(served: Served, mock: MockUpstream) -> None:
    got = served.post(EMBEDDING_BODY, path="/v1/embeddings")
    assert (got.content, mock.last.body) == (EMBEDDING, EMBEDDING_BODY)
    record = served.record(got)
    assert (record["usage"]["prompt_tokens"], record["usage"]["reported"]) == (4, False)
    assert record["diagnosis"]["cause"] is None
    again = served.record(served.post(EMBEDDING_BODY, path="/v1/embeddings"))
    assert again["diagnosis"]["cause"] is None


def test_the_real_client_embeds(client: openai.OpenAI) -> None:
    made = client.embeddings.create(model="e", input=["café"], encoding_format="float")
    assert made.data[0].embedding == [0.5, 0.001]
