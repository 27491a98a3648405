"""An upstream through LiteLLM, in front of scripted providers; skipped without the extra `litellm`."""

from __future__ import annotations

import importlib.util
import json
from typing import TYPE_CHECKING, Any

import anthropic
import openai
import pytest

from promptcache_gateway.settings import Settings, UpstreamSettings
from promptcache_gateway.upstream_settings import ModelSettings, Target
from tests.gateway.anthropic_wire import answer_messages
from tests.gateway.mock_upstream import CHAT, DONE, USAGE_CHUNK, chunk, sse, wait_until
from tests.gateway.serving import serve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.gateway.mock_upstream import MockUpstream, Wire
    from tests.gateway.serving import Served

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("litellm") is None, reason="needs the extra `litellm`"),
    # LiteLLM's own, not ours.
    pytest.mark.filterwarnings("ignore"),
]

HI: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
WEATHER = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
CALL = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Åre"}'}}


@pytest.fixture
def through(mock: MockUpstream, tmp_path: Path) -> Iterator[Served]:
    """A gateway in front of LiteLLM in front of the scripted server of OpenAI's shape."""
    upstream = UpstreamSettings(
        kind="litellm", name="far", provider="openai", url=f"{mock.url}/v1", api_key="sk-operator",
        read_timeout_s=2.0, retries=0, models=("m", "x*"),
    )  # fmt: skip
    models = (ModelSettings("fast", (Target("far", "m-large"),)),)
    with serve(Settings(upstreams=(upstream,), models=models, data_dir=tmp_path)) as served:
        yield served


@pytest.fixture
def marking(mock: MockUpstream, tmp_path: Path) -> Iterator[Served]:
    """The same in front of a provider of Anthropic's shape."""
    mock.script = answer_messages
    upstream = UpstreamSettings(kind="litellm", provider="anthropic", url=mock.url, api_key="sk-operator")
    with serve(Settings(upstream=upstream, data_dir=tmp_path)) as served:
        yield served


def test_a_chat(through: Served, mock: MockUpstream) -> None:
    with openai.OpenAI(base_url=f"{through.url}/v1", api_key="sk-caller", max_retries=0) as client:
        raw = client.chat.completions.with_raw_response.create(
            model="fast", messages=HI["messages"], temperature=0.5
        )
    answer = raw.parse()
    assert answer.choices[0].message.content == "café  / ok"
    assert answer.usage.prompt_tokens_details.cached_tokens == 1920
    sent = json.loads(mock.last.body)
    assert (sent["model"], sent["messages"], sent["temperature"]) == ("m-large", HI["messages"], 0.5)
    assert mock.last.headers["authorization"] == "Bearer sk-operator"
    record = through.record(raw.http_response)
    assert (record["upstream"], record["usage"]["cached_tokens"]) == ("far", 1920)
    assert record["usage"]["prompt_tokens"] == 2006


def test_half_a_surrogate_pair_and_long_integers(through: Served, mock: MockUpstream) -> None:
    schema = b'{"type":"object","properties":{"id":{"type":"integer","maximum":36893488147419103233}}}'
    function = b'{"name":"weather","description":"cut \\ud83d","parameters":%s}' % schema
    asked = b'{"model":"m","messages":[],"tools":[{"type":"function","function":%s}]}'
    assert through.post(asked % function).status_code == 200
    (tool,) = json.loads(mock.last.body)["tools"]
    assert tool["function"]["description"] == "cut \ufffd"
    assert through.post(asked % function.replace(b"\\ud83d", b"")).status_code == 200
    (tool,) = json.loads(mock.last.body)["tools"]
    assert tool["function"]["parameters"] == json.loads(schema)


async def stream_text(wire: Wire) -> None:
    last = chunk("")
    last["choices"] = [{"index": 0, "delta": {}, "finish_reason": "stop"}]
    await wire.events(*map(sse, [chunk("Hello"), chunk(" there."), last, USAGE_CHUNK]), DONE)


@pytest.mark.parametrize("asks", [True, False])
def test_a_stream(through: Served, mock: MockUpstream, asks: bool) -> None:
    mock.script = stream_text
    options = {"stream_options": {"include_usage": True}} if asks else {}
    answer = through.post({**HI, "stream": True, **options})
    events = [line[6:] for line in answer.text.splitlines() if line.startswith("data: ")]
    assert events[-1] == "[DONE]"
    chunks = [json.loads(event) for event in events[:-1]]
    texts = [choice["delta"].get("content") or "" for one in chunks for choice in one["choices"]]
    assert "".join(texts) == "Hello there."
    told = [one["usage"]["prompt_tokens_details"]["cached_tokens"] for one in chunks if one.get("usage")]
    assert told == ([1920] if asks else [])
    (record,) = through.get("/promptcache/v1/requests").json()["data"]
    assert (record["usage"]["cached_tokens"], record["error"]) == (1920, None)
    assert record["ttft_ms"] is not None


@pytest.mark.parametrize("stream", [False, True])
def test_what_is_not_reported_is_not_estimated(through: Served, mock: MockUpstream, stream: bool) -> None:
    async def silent(wire: Wire) -> None:
        if not stream:
            body = {name: value for name, value in CHAT.items() if name != "usage"}
            await wire.respond(json.dumps(body).encode())
            return
        last = chunk("")
        last["choices"] = [{"index": 0, "delta": {}, "finish_reason": "stop"}]
        await wire.events(sse(chunk("Hello")), sse(last), DONE)

    mock.script = silent
    answer = through.post({**HI, "stream": stream, "stream_options": {"include_usage": True}})
    assert "Hello" in answer.text
    assert "prompt_tokens" not in answer.text
    (record,) = through.get("/promptcache/v1/requests").json()["data"]
    assert record["usage"]["reported"] is False


def test_a_stream_of_another_shape(marking: Served) -> None:
    with openai.OpenAI(base_url=f"{marking.url}/v1", api_key="sk-caller", max_retries=0) as client:
        stream = client.chat.completions.create(
            model="claude-sonnet-4-5", messages=HI["messages"], stream=True,
            stream_options={"include_usage": True},
        )  # fmt: skip
        chunks = list(stream)
    assert "".join(one.choices[0].delta.content or "" for one in chunks if one.choices) == "Hello there."
    (record,) = marking.get("/promptcache/v1/requests").json()["data"]
    usage = record["usage"]
    assert (usage["prompt_tokens"], usage["cached_tokens"], usage["cache_write_tokens"]) == (2112, 2000, 100)
    assert chunks[-1].usage.prompt_tokens_details.cached_tokens == 2000


async def call_weather(wire: Wire) -> None:
    """Call the tool, streamed where asked for."""
    if not json.loads(wire.seen.body).get("stream"):
        message = {"role": "assistant", "content": None, "tool_calls": [CALL]}
        body = {**CHAT, "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
        await wire.respond(json.dumps(body).encode())
        return
    first, last = chunk(""), chunk("")
    first["choices"] = [{"index": 0, "delta": {"tool_calls": [{"index": 0, **CALL}]}, "finish_reason": None}]
    last["choices"] = [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]
    await wire.events(sse(first), sse(last), sse(USAGE_CHUNK), DONE)


@pytest.mark.parametrize("stream", [False, True])
def test_an_anthropic_caller_calls_tools(through: Served, mock: MockUpstream, stream: bool) -> None:
    mock.script = call_weather
    tools = [{"name": "weather", "input_schema": {"type": "object"}}]
    ask: dict[str, Any] = {**HI, "max_tokens": 60, "tools": tools}
    with anthropic.Anthropic(base_url=through.url, api_key="sk-a", max_retries=0) as claude:
        if stream:
            with claude.messages.stream(**ask) as streaming:
                message = streaming.get_final_message()
        else:
            message = claude.messages.create(**ask)
    (used,) = [block for block in message.content if block.type == "tool_use"]
    assert (used.name, used.input) == ("weather", {"city": "Åre"})
    assert (message.stop_reason, message.usage.cache_read_input_tokens) == ("tool_use", 1920)
    assert message.usage.input_tokens == 86
    assert json.loads(mock.last.body)["tools"][0]["function"]["name"] == "weather"


def test_marks_survive(marking: Served, mock: MockUpstream) -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    messages = [
        {"role": "system", "content": [{"type": "text", "text": "You are terse.", **mark}]},
        {"role": "user", "content": [{"type": "text", "text": "Hi", **mark}]},
    ]
    asked = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 60,
        "messages": messages,
        "tools": [{**WEATHER, **mark}],
    }
    answer = marking.post(asked)
    assert answer.status_code == 200, answer.text
    sent = json.loads(mock.last.body)
    assert sent["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert sent["messages"][0]["content"][0]["cache_control"] == {"type": "ephemeral"}
    assert sent["tools"][0]["cache_control"] == {"type": "ephemeral"}
    usage = marking.record(answer)["usage"]
    assert (usage["prompt_tokens"], usage["cached_tokens"], usage["cache_write_tokens"]) == (2112, 2000, 100)


def refusing(status: str, body: object, *headers: str):
    async def script(wire: Wire) -> None:
        await wire.respond(json.dumps(body).encode(), status=status, headers=headers)

    return script


@pytest.mark.parametrize(
    ("status", "headers", "expected"),
    [
        ("400 Bad Request", (), (400, "rate?")),
        ("401 Unauthorized", (), (401, "rate?")),
        ("429 Too Many Requests", ("retry-after: 7",), (429, "rate?")),
        ("500 Internal Server Error", (), (500, "answered 500")),
    ],
)
def test_refusals_in_both_shapes(
    through: Served, mock: MockUpstream, status: str, headers: tuple[str, ...], expected: tuple[int, str]
) -> None:
    error = {"message": "rate?", "type": "some_error", "param": None, "code": "some_code"}
    mock.script = refusing(status, {"error": error}, *headers)
    answer = through.post(HI)
    assert answer.status_code == expected[0]
    assert expected[1] in answer.json()["error"]["message"]
    assert "Traceback" not in answer.text
    assert answer.headers.get("retry-after") == ("7" if headers else None)
    claude = through.post({**HI, "max_tokens": 5}, path="/v1/messages")
    assert claude.status_code == expected[0]
    assert claude.json()["type"] == "error"
    assert expected[1] in claude.json()["error"]["message"]


def test_nobody_there_and_silence(through: Served, mock: MockUpstream) -> None:
    async def hang(wire: Wire) -> None:
        await wire.gone()

    mock.script = hang
    silent = through.post(HI)
    assert (silent.status_code, silent.json()["error"]["code"]) == (504, "upstream_timeout")

    async def drop(wire: Wire) -> None:
        wire.reset()

    mock.script = drop
    dropped = through.post(HI)
    assert (dropped.status_code, dropped.json()["error"]["code"]) == (502, "upstream_unreachable")


def test_a_stream_that_dies(through: Served, mock: MockUpstream) -> None:
    async def die(wire: Wire) -> None:
        await wire.start_events()
        await wire.part(sse(chunk("Hello")))
        wire.reset()

    mock.script = die
    answer = through.post({**HI, "stream": True})
    assert "Hello" in answer.text
    assert '"error"' in answer.text
    assert "Traceback" not in answer.text
    assert "[DONE]" not in answer.text
    (record,) = through.get("/promptcache/v1/requests").json()["data"]
    assert record["status"] == 502


@pytest.mark.parametrize("stream", [False, True])
def test_a_caller_who_leaves_is_not_worked_for(through: Served, mock: MockUpstream, stream: bool) -> None:
    async def hang(wire: Wire) -> None:
        if stream:
            await wire.start_events()
            await wire.part(sse(chunk("Hello")))
        await wire.gone()
        mock.closed.set()

    mock.script = hang
    with (
        through.http.stream("POST", "/v1/chat/completions", json=HI | {"stream": True})
        if stream
        else (pytest.raises(Exception, match="timed out")) as answer
    ):
        if stream:
            next(answer.iter_bytes())
        else:
            through.http.post("/v1/chat/completions", json=HI, timeout=0.7)
    assert mock.wait_closed()
    wait_until(lambda: through.get("/promptcache/v1/requests").json()["data"])
    (record,) = through.get("/promptcache/v1/requests").json()["data"]
    assert record["status"] == 499


@pytest.mark.parametrize(
    ("extra", "param"),
    [
        ({"api_base": "http://169.254.169.254"}, "api_base"),
        ({"base_url": "http://169.254.169.254"}, "base_url"),
        ({"api_key": "k"}, "api_key"),
        ({"mock_response": "x"}, "mock_response"),
        ({"extra_headers": {"a": "b"}}, "extra_headers"),
        ({"tools": [{"type": "mcp", "server_url": "http://a"}]}, "tools[0]"),
        (
            {
                "messages": [
                    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://a/b"}}]}
                ]
            },
            "messages[0].content[0]",
        ),
        ({"model": "xhttp://169.254.169.254/"}, "model"),
        ({"messages": "Hi"}, "messages"),
    ],
)
def test_nothing_leads_elsewhere(
    through: Served, mock: MockUpstream, extra: dict[str, Any], param: str
) -> None:
    answer = through.post({**HI, **extra})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, param)
    assert mock.seen == []


def test_models_and_health(through: Served) -> None:
    assert [model["id"] for model in through.get("/v1/models").json()["data"]] == ["fast", "m"]
    through.post(HI)
    assert through.get("/health").status_code == 200
