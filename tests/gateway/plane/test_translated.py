"""Real clients of one API in front of upstreams of the other: whole, streamed, tools, errors, accounting."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import anthropic
import openai
import orjson
import pytest

from promptcache_engine import Engine, EngineConfig
from promptcache_engine.models.testing import tiny_model
from promptcache_gateway.settings import EngineSettings, Settings, UpstreamSettings
from promptcache_gateway.upstreams.local import LocalUpstream
from tests.gateway.anthropic_wire import EVENTS, MESSAGE_BYTES, START, USAGE, answer_messages, event
from tests.gateway.mock_upstream import (
    CHAT,
    CHAT_BYTES,
    DONE,
    USAGE_CHUNK,
    MockUpstream,
    Wire,
    answer_chat,
    chunk,
    mock_upstream,
    sse,
)
from tests.gateway.serving import Served, serve, serve_both

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ASK = {"model": "m", "max_tokens": 50, "messages": [{"role": "user", "content": "Hi"}]}
TOOL = {"name": "t", "description": "d", "input_schema": {"type": "object", "properties": {}}}
CALL = {"id": "c1", "type": "function", "function": {"name": "t", "arguments": '{"a":1}'}}


@pytest.fixture
def chat() -> Iterator[MockUpstream]:
    with mock_upstream(answer_chat) as server:
        yield server


@pytest.fixture
def over_chat(chat: MockUpstream, tmp_path: Path) -> Iterator[Served]:
    upstream = UpstreamSettings(url=chat.url, read_timeout_s=1.0)
    with serve(Settings(upstream=upstream, data_dir=tmp_path)) as served:
        yield served


@pytest.fixture
def claude(over_chat: Served) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=over_chat.url, api_key="sk-a", max_retries=0, timeout=20) as made:
        yield made


@pytest.fixture
def messages() -> Iterator[MockUpstream]:
    with mock_upstream(answer_messages) as server:
        yield server


@pytest.fixture
def over_messages(messages: MockUpstream, tmp_path: Path) -> Iterator[Served]:
    upstream = UpstreamSettings(url=messages.url, kind="anthropic", read_timeout_s=1.0)
    with serve(Settings(upstream=upstream, data_dir=tmp_path)) as served:
        yield served


@pytest.fixture
def client(over_messages: Served) -> Iterator[openai.OpenAI]:
    url = f"{over_messages.url}/v1"
    with openai.OpenAI(base_url=url, api_key="sk-o", max_retries=0, timeout=20) as made:
        yield made


# --- Anthropic's client over a chat upstream ---


def test_anthropic_over_chat(claude: anthropic.Anthropic, chat: MockUpstream, over_chat: Served) -> None:
    raw = claude.messages.with_raw_response.create(**ASK)
    message = raw.parse()
    assert message.content[0].text == "café  / ok"
    assert (message.stop_reason, message.usage.cache_read_input_tokens) == ("end_turn", 1920)
    assert message.usage.input_tokens == 86
    assert chat.last.line == "POST /v1/chat/completions HTTP/1.1"
    assert chat.last.headers["authorization"] == "Bearer sk-a"
    assert json.loads(chat.last.body) == {**ASK, "model": "m"}
    record = over_chat.record(raw.http_response)
    assert (record["usage"]["prompt_tokens"], record["usage"]["cached_tokens"]) == (2006, 1920)


def test_anthropic_streams_over_chat(
    claude: anthropic.Anthropic, chat: MockUpstream, over_chat: Served
) -> None:
    with claude.messages.stream(**ASK) as stream:
        assert "".join(stream.text_stream) == "Hello there."
        message = stream.get_final_message()
    assert message.usage.cache_read_input_tokens == 1920
    assert message.usage.input_tokens == 86
    assert json.loads(chat.last.body)["stream_options"] == {"include_usage": True}
    (record,) = over_chat.get("/promptcache/v1/requests").json()["data"]
    assert record["usage"]["cached_tokens"] == 1920
    assert record["ttft_ms"] is not None


def test_anthropic_calls_tools_over_chat(claude: anthropic.Anthropic, chat: MockUpstream) -> None:
    said = {"role": "assistant", "content": None, "tool_calls": [CALL]}

    async def script(wire: Wire) -> None:
        if json.loads(wire.seen.body).get("stream"):
            delta = {"index": 0, "delta": {"tool_calls": [{"index": 0, **CALL}]}, "finish_reason": None}
            last = {"index": 0, "delta": {}, "finish_reason": "tool_calls"}
            parts = [{**chunk(""), "choices": [choice]} for choice in (delta, last)]
            await wire.events(*[sse(part) for part in parts], sse(USAGE_CHUNK), DONE)
        else:
            choice = {"index": 0, "message": said, "finish_reason": "tool_calls"}
            await wire.respond(orjson.dumps({**CHAT, "choices": [choice]}))

    chat.script = script
    whole = claude.messages.create(**ASK, tools=[TOOL])
    with claude.messages.stream(**ASK, tools=[TOOL]) as stream:
        streamed = stream.get_final_message()
    for message in (whole, streamed):
        assert message.stop_reason == "tool_use"
        (use,) = message.content
        assert (use.type, use.id, use.name, use.input) == ("tool_use", "c1", "t", {"a": 1})
    turns = [
        *ASK["messages"],
        {"role": "assistant", "content": [use.to_dict()]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "done"}]},
    ]
    chat.script = answer_chat
    claude.messages.create(**{**ASK, "messages": turns}, tools=[TOOL])
    sent = json.loads(chat.last.body)["messages"]
    assert sent[1]["tool_calls"] == [CALL]
    assert sent[2] == {"role": "tool", "tool_call_id": "c1", "content": "done"}


def test_calls_that_a_chat_streams_mixed_up_are_blocks_in_a_row(
    claude: anthropic.Anthropic, chat: MockUpstream
) -> None:
    """Their pieces alternate; the client keeps one block at a time."""

    async def script(wire: Wire) -> None:
        told = [(0, "c0", "t", '{"a":'), (1, "c1", "u", '{"b":'), (0, "", "", "1}"), (1, "", "", '"x"}')]
        deltas = [
            {"index": at, "id": name, "type": "function", "function": {"name": tool, "arguments": text}}
            if name
            else {"index": at, "function": {"arguments": text}}
            for at, name, tool, text in told
        ]
        chunks = [{**chunk(""), "choices": [{"index": 0, "delta": {"tool_calls": [one]}}]} for one in deltas]
        last = {**chunk(""), "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
        await wire.events(sse(chunk("Both.")), *map(sse, chunks), sse(last), sse(USAGE_CHUNK), DONE)

    chat.script = script
    is_open: list[int] = []
    with claude.messages.stream(**ASK, tools=[TOOL]) as stream:
        for told in stream:
            if told.type == "content_block_start":
                is_open.append(told.index)
                assert len(is_open) == 1
            elif told.type == "content_block_stop":
                is_open.remove(told.index)
        message = stream.get_final_message()
    assert [block.type for block in message.content] == ["text", "tool_use", "tool_use"]
    assert [block.input for block in message.content[1:]] == [{"a": 1}, {"b": "x"}]


@pytest.mark.parametrize(("finish", "said"), [("stop", "I will not."), ("content_filter", None)])
def test_a_chat_that_refuses_ends_as_anthropic_s_refusal(
    claude: anthropic.Anthropic, chat: MockUpstream, finish: str, said: str | None
) -> None:
    message = {"role": "assistant", "content": None, "refusal": said}

    async def script(wire: Wire) -> None:
        last = {"index": 0, "finish_reason": finish}
        if json.loads(wire.seen.body).get("stream"):
            told = [{"refusal": piece} for piece in ("I will ", "not.") if said]
            choices = [{"index": 0, "delta": delta} for delta in told] + [{**last, "delta": {}}]
            parts = [sse({**chunk(""), "choices": [choice]}) for choice in choices]
            await wire.events(*parts, sse(USAGE_CHUNK), DONE)
        else:
            await wire.respond(orjson.dumps({**CHAT, "choices": [{**last, "message": message}]}))

    chat.script = script
    whole = claude.messages.create(**ASK)
    with claude.messages.stream(**ASK) as stream:
        streamed = stream.get_final_message()
    for made in (whole, streamed):
        assert (made.stop_reason, made.stop_details.explanation) == ("refusal", said)
        assert [block.text for block in made.content] == ([said] if said else [])
        assert made.usage.cache_read_input_tokens == 1920


@pytest.mark.parametrize(
    ("status", "kind", "expected"),
    [
        ("400 Bad", "invalid_request_error", anthropic.BadRequestError),
        ("401 No", "authentication_error", anthropic.AuthenticationError),
        ("429 Slow", "rate_limit_error", anthropic.RateLimitError),
        ("500 X", "api_error", anthropic.InternalServerError),
    ],
)
def test_a_refusal_comes_in_anthropic_s_shape(
    claude: anthropic.Anthropic, chat: MockUpstream, over_chat: Served, status: str, kind: str, expected: type
) -> None:
    async def script(wire: Wire) -> None:
        body = b'{"error":{"message":"because","type":"x","code":"their_code"}}'
        await wire.respond(body, status=status, headers=("retry-after: 9",))

    chat.script = script
    with pytest.raises(expected) as caught:
        claude.messages.create(**ASK)
    said = caught.value.response.json()
    assert (said["type"], said["error"]) == ("error", {"type": kind, "message": "because"})
    assert caught.value.response.headers["retry-after"] == "9"
    assert over_chat.record(caught.value.response)["error"] == "their_code"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"<html>", "upstream_unreadable"),
        (b"[]", "upstream_unreadable"),
        (b"{}", "upstream_unreadable"),
        (b'{"choices":[]}', "upstream_unreadable"),
        (b'{"choices":3}', "upstream_unreadable"),
        (b'{"choices":[{"message":{"tool_calls":[3]}}]}', "upstream_unreadable"),
        (b'{"error":{"message":"No credits","code":"broke"}}', "broke"),
    ],
)
def test_what_is_no_answer_is_an_error(over_chat: Served, chat: MockUpstream, body: bytes, code: str) -> None:
    async def script(wire: Wire) -> None:
        await wire.respond(body)

    chat.script = script
    answer = over_chat.post(ASK, path="/v1/messages")
    assert answer.status_code == 502
    assert over_chat.record(answer)["error"] == code
    assert code != "broke" or answer.json()["error"]["message"] == "No credits"


@pytest.mark.parametrize(
    "way", ["dies", "stalls", "ends", "ends, and its text has the word", "says so", "is odd", "is torn"]
)
def test_a_stream_that_fails_ends_with_anthropic_s_error_event(
    claude: anthropic.Anthropic, over_chat: Served, chat: MockUpstream, way: str
) -> None:
    async def script(wire: Wire) -> None:
        await wire.start_events()
        await wire.part(sse(chunk("The last is data: [DONE]." if "word" in way else "Hel")))
        await asyncio.sleep(0.05)
        if way == "dies":
            wire.reset()
        elif way == "stalls":
            await wire.gone()
        elif "ends" in way:  # in good order, and without a word of why
            await wire.end()
        else:
            error = {"error": {"message": "busy", "type": "t", "code": "busy"}}
            last = {"says so": sse(error), "is odd": sse({"choices": 3}), "is torn": sse(chunk("lo"))[:-9]}
            await wire.part(last[way] + b"\n\n")
            await wire.end()

    chat.script, lost = script, "upstream_disconnected"
    code = {"stalls": "upstream_timeout", "says so": "busy"}
    code |= dict.fromkeys(["is odd", "is torn"], "upstream_unreadable")
    code |= dict.fromkeys(["ends", "ends, and its text has the word"], "upstream_torn")
    answer = over_chat.post({**ASK, "stream": True}, path="/v1/messages")
    events, _, _ = answer.content.rpartition(b": promptcache ")
    assert b"event: error\ndata: " in events
    assert b"message_stop" not in events
    record = over_chat.record(answer)
    assert record["error"] == code.get(way, lost)
    assert record["status"] == (504 if way == "stalls" else 502)
    with pytest.raises(anthropic.APIStatusError), claude.messages.stream(**ASK) as stream:
        stream.get_final_message()


def test_an_event_of_a_megabyte_is_translated_whole(claude: anthropic.Anthropic, chat: MockUpstream) -> None:
    async def script(wire: Wire) -> None:
        await wire.start_events()
        whole = sse(chunk("word " * 200_000))
        for start in range(0, len(whole), 50_000):
            await wire.part(whole[start : start + 50_000])
        await wire.part(sse(chunk("", finish="stop")) + DONE)
        await wire.end()

    chat.script = script
    with claude.messages.stream(**ASK) as stream:
        assert stream.get_final_text() == "word " * 200_000


def test_what_cannot_be_translated_says_where(claude: anthropic.Anthropic, chat: MockUpstream) -> None:
    with pytest.raises(anthropic.BadRequestError, match=r"tools\.0"):
        claude.messages.create(**ASK, tools=[{"type": "web_search_20250305", "name": "web_search"}])
    assert chat.seen == []


# --- OpenAI's client over an upstream of Anthropic's shape ---


def test_openai_over_messages(client: openai.OpenAI, messages: MockUpstream, over_messages: Served) -> None:
    raw = client.chat.completions.with_raw_response.create(
        model="claude-x", messages=[{"role": "system", "content": "S"}, *ASK["messages"]], max_tokens=9
    )
    made = raw.parse()
    assert made.choices[0].message.content == "café  / ok"
    assert made.choices[0].finish_reason == "stop"
    assert made.usage.prompt_tokens == 2112
    assert made.usage.prompt_tokens_details.cached_tokens == 2000
    seen = messages.last
    assert seen.line == "POST /v1/messages HTTP/1.1"
    assert (seen.headers["x-api-key"], seen.headers["anthropic-version"]) == ("sk-o", "2023-06-01")
    assert json.loads(seen.body)["system"] == [{"type": "text", "text": "S"}]
    assert over_messages.record(raw.http_response)["usage"]["cache_write_tokens"] == 100


def test_openai_streams_over_messages(client: openai.OpenAI, messages: MockUpstream) -> None:
    options = {"include_usage": True}
    chunks = list(
        client.chat.completions.create(
            model="claude-x", messages=ASK["messages"], stream=True, stream_options=options
        )
    )
    assert "".join(part.choices[0].delta.content or "" for part in chunks if part.choices) == "Hello there."
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-1].usage.prompt_tokens_details.cached_tokens == 2000
    plain = list(client.chat.completions.create(model="claude-x", messages=ASK["messages"], stream=True))
    assert all(part.usage is None and part.choices for part in plain)

    async def without_a_reason(wire: Wire) -> None:
        await wire.events(*(event for event in EVENTS if b"end_turn" not in event))

    messages.script = without_a_reason
    *_, last = client.chat.completions.create(model="claude-x", messages=ASK["messages"], stream=True)
    assert last.choices[0].finish_reason == "stop", "that it ended is said all the same"


def test_openai_calls_tools_over_messages(client: openai.OpenAI, messages: MockUpstream) -> None:
    block = {"type": "tool_use", "id": "c1", "name": "t", "input": {}}
    delta = {"type": "input_json_delta", "partial_json": '{"a":1}'}

    async def script(wire: Wire) -> None:
        await wire.events(
            event("message_start", message=START),
            event("content_block_start", index=0, content_block=block),
            event("content_block_delta", index=0, delta=delta),
            event("content_block_stop", index=0),
            event("message_delta", delta={"stop_reason": "tool_use"}, usage={"output_tokens": 5}),
            EVENTS[-1],
        )

    messages.script = script
    function = {"name": "t", "parameters": TOOL["input_schema"]}
    with client.chat.completions.stream(
        model="claude-x", messages=ASK["messages"], tools=[{"type": "function", "function": function}]
    ) as stream:
        made = stream.get_final_completion()
    (call,) = made.choices[0].message.tool_calls
    assert (call.id, call.function.name, call.function.arguments) == ("c1", "t", '{"a":1}')
    assert made.choices[0].finish_reason == "tool_calls"


@pytest.mark.parametrize("why", [None, "It could harm."])
def test_anthropic_s_refusal_is_a_filtered_answer_to_openai_s_client(
    client: openai.OpenAI, messages: MockUpstream, why: str | None
) -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": why}
    ended = {"stop_reason": "refusal", "stop_sequence": None, "stop_details": details if why else None}

    async def script(wire: Wire) -> None:
        if json.loads(wire.seen.body).get("stream"):
            await wire.events(*EVENTS[:-2], event("message_delta", delta=ended, usage=USAGE), EVENTS[-1])
        else:
            await wire.respond(orjson.dumps({**json.loads(MESSAGE_BYTES), **ended}))

    messages.script = script
    ask = {"model": "claude-x", "messages": ASK["messages"]}
    (whole,) = client.chat.completions.create(**ask).choices
    assert (whole.finish_reason, whole.message.refusal) == ("content_filter", why)
    streamed = [part.choices[0] for part in client.chat.completions.create(**ask, stream=True)]
    assert streamed[-1].finish_reason == "content_filter"
    assert "".join(choice.delta.refusal or "" for choice in streamed) == (why or "")
    with (
        pytest.raises(openai.ContentFilterFinishReasonError),
        client.chat.completions.stream(**ask) as stream,
    ):
        stream.get_final_completion()
    response = client.responses.create(model="claude-x", input="Hi")
    *_, last = client.responses.create(model="claude-x", input="Hi", stream=True)
    assert last.type == "response.incomplete"
    for made in (response, last.response):
        assert (made.status, made.incomplete_details.reason) == ("incomplete", "content_filter")
        kinds = [part.type for item in made.output for part in item.content]
        assert kinds == ["output_text", "refusal"] if why else ["output_text"]


def test_anthropic_s_error_comes_in_openai_s_shape(client: openai.OpenAI, messages: MockUpstream) -> None:
    async def script(wire: Wire) -> None:
        body = b'{"type":"error","error":{"type":"overloaded_error","message":"busy"}}'
        await wire.respond(body, status="529 Overloaded")

    messages.script = script
    with pytest.raises(openai.InternalServerError) as caught:
        client.chat.completions.create(model="claude-x", messages=ASK["messages"])
    assert (caught.value.status_code, caught.value.code) == (529, "overloaded_error")
    assert "busy" in str(caught.value)


async def the_other_way_than_asked(wire: Wire) -> None:
    """Whole where a stream was asked for, and the reverse."""
    streams = bool(json.loads(wire.seen.body).get("stream"))
    if wire.seen.line.startswith("POST /v1/messages"):
        await (wire.respond(MESSAGE_BYTES) if streams else wire.events(*EVENTS))
    elif streams:
        await wire.respond(CHAT_BYTES)
    else:
        await wire.events(*map(sse, (chunk("Hello"), chunk(" there.", finish="stop"), USAGE_CHUNK)), DONE)


def test_who_asked_for_a_stream_gets_one_and_who_did_not_does_not(
    chat: MockUpstream, messages: MockUpstream, over_both: Served
) -> None:
    """Whatever the upstream makes of `stream`; and what it counted is told and recorded."""
    chat.script = messages.script = the_other_way_than_asked
    told: list[tuple[str, str, int]] = []
    with anthropic.Anthropic(base_url=over_both.url, api_key="k", max_retries=0, timeout=20) as claude:
        with claude.messages.stream(**ASK) as stream:
            streamed = stream.get_final_message()
        told += [
            (made.content[0].text, made.stop_reason, made.usage.cache_read_input_tokens)
            for made in (claude.messages.create(**ASK), streamed)
        ]
    with openai.OpenAI(base_url=f"{over_both.url}/v1", api_key="k", max_retries=0, timeout=20) as client:
        for model in ("m", "claude-x"):
            with client.responses.stream(model=model, input="Hi") as stream:
                streamed = stream.get_final_response()
            told += [
                (made.output_text, made.status, made.usage.input_tokens_details.cached_tokens)
                for made in (client.responses.create(model=model, input="Hi"), streamed)
            ]
        ask = {"model": "claude-x", "messages": ASK["messages"]}
        with client.chat.completions.stream(**ask, stream_options={"include_usage": True}) as stream:
            streamed = stream.get_final_completion()
        for made in (client.chat.completions.create(**ask), streamed):
            (choice,) = made.choices
            cached = made.usage.prompt_tokens_details.cached_tokens
            told.append((choice.message.content, choice.finish_reason, cached))
    ends = [("end_turn", 1920), ("completed", 1920), ("completed", 2000), ("stop", 2000)]
    assert told[::2] == [("Hello there.", *end) for end in ends], "of what was streamed"
    assert told[1::2] == [("café  / ok", *end) for end in ends]
    records = over_both.get("/promptcache/v1/requests").json()["data"]
    assert [record["usage"]["cached_tokens"] for record in records] == [2000] * 4 + [1920] * 4
    assert {(record["status"], record["error"]) for record in records} == {(200, None)}


def test_a_stream_nobody_asked_for_that_breaks_off_is_an_error(over_chat: Served, chat: MockUpstream) -> None:
    async def script(wire: Wire) -> None:
        await wire.start_events()
        await wire.part(sse(chunk("Hel")))
        await wire.end()

    chat.script = script
    answer = over_chat.post(ASK, path="/v1/messages")
    assert (answer.status_code, answer.json()["error"]["type"]) == (502, "api_error")
    assert over_chat.record(answer)["error"] == "upstream_torn"


NO_ANSWERS = [
    ("/v1/messages", "m", [DONE]),
    ("/v1/messages", "m", []),
    ("/v1/messages", "m", [b": ping\n\n", sse(USAGE_CHUNK), DONE]),
    ("/v1/responses", "m", [DONE]),
    ("/v1/responses", "claude-x", [event("ping"), event("message_stop")]),
    ("/v1/chat/completions", "claude-x", [event("message_stop")]),
    ("/v1/chat/completions", "claude-x", [DONE]),
]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_stream_without_an_answer_is_no_empty_answer(
    chat: MockUpstream, messages: MockUpstream, over_both: Served, stream: bool
) -> None:
    """What ends before it has begun was cut short, as one that breaks off is."""
    for path, model, events in NO_ANSWERS:

        async def script(wire: Wire, events: list[bytes] = events) -> None:
            await wire.events(*events)

        chat.script = messages.script = script
        said = {"input": "Hi"} if path == "/v1/responses" else ASK
        answer = over_both.post({**said, "model": model, "stream": stream}, path=path)
        assert answer.status_code == (200 if stream else 502)
        assert b"ended its stream before its answer was complete" in answer.content
        assert b'"stop_reason":"end_turn"' not in answer.content
        assert b"response.completed" not in answer.content
        record = over_both.record(answer)
        assert (record["status"], record["error"]) == (502, "upstream_torn")


@pytest.mark.parametrize("said", [{}, {"max_tokens": None}], ids=["none", "null"])
def test_a_message_without_a_limit_is_refused_as_anthropic_refuses_it(
    over_chat: Served, chat: MockUpstream, engine_served: Served, said: dict[str, None]
) -> None:
    """Whatever the upstream is: what works here must work at Anthropic's. To count needs no limit."""
    ask = {"messages": [{"role": "user", "content": "Hi"}], **said}
    for served, model in ((over_chat, "m"), (engine_served, "tiny")):
        answer = served.post({**ask, "model": model}, path="/v1/messages")
        error = answer.json()["error"]
        assert (answer.status_code, error["type"]) == (400, "invalid_request_error")
        assert error["message"] == "max_tokens: Field required"
        assert served.record(answer)["error"] == "missing_required_parameter"
    assert not chat.seen
    counted = engine_served.post({**ask, "model": "tiny"}, path="/v1/messages/count_tokens")
    assert counted.json()["input_tokens"] > 0


def test_a_format_without_its_schema_is_refused(over_messages: Served, messages: MockUpstream) -> None:
    ask = {"model": "claude-x", "messages": ASK["messages"], "response_format": {"type": "json_schema"}}
    answer = over_messages.post(ask)
    error = answer.json()["error"]
    assert (answer.status_code, error["param"]) == (400, "response_format.json_schema")
    assert messages.seen == []


def test_completions_and_embeddings_lead_nowhere_over_messages(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="does not serve OpenAI's completions"):
        client.completions.create(model="claude-x", prompt="x")
    with pytest.raises(openai.BadRequestError, match="does not serve embeddings"):
        client.embeddings.create(model="claude-x", input="x")


def test_a_server_that_speaks_both_is_not_translated(messages: MockUpstream, tmp_path: Path) -> None:
    upstream = UpstreamSettings(url=messages.url, apis=("chat", "messages"))
    with serve(Settings(upstream=upstream, data_dir=tmp_path)) as served:
        body = b'{ "model":"m","max_tokens":5,"messages":[] }'
        served.post(body, path="/v1/messages")
        assert messages.last.body == body


# --- Anthropic's client over the built-in engine ---


@pytest.fixture(scope="module")
def engine_served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    engine = Engine.from_loaded(tiny_model(seed=0), EngineConfig(model="tiny", kv_cache_tokens=8192))
    upstream = LocalUpstream(EngineSettings(model="tiny"), engine)
    with serve(Settings(data_dir=tmp_path_factory.mktemp("data")), upstream=upstream) as served:
        yield served


def test_anthropic_over_the_engine(engine_served: Served) -> None:
    system = [{"type": "text", "text": "You answer politely. " * 20, "cache_control": {"type": "ephemeral"}}]
    ask = {**ASK, "model": "tiny", "system": system, "max_tokens": 6, "extra_body": {"temperature": 0}}
    with anthropic.Anthropic(base_url=engine_served.url, api_key="x", max_retries=0, timeout=60) as claude:
        first = claude.messages.create(**ask)
        raw = claude.messages.with_raw_response.create(**ask)
        second = raw.parse()
        with claude.messages.stream(**ask) as stream:
            started = next(iter(stream))
            streamed = stream.get_final_message()
        counted = claude.messages.count_tokens(model="tiny", system=system, messages=ASK["messages"])
    total = first.usage.input_tokens + first.usage.cache_read_input_tokens
    assert first.usage.cache_read_input_tokens == 0
    assert second.usage.cache_read_input_tokens == total - 1, "all but the token that is always recomputed"
    assert second.usage.input_tokens == 1
    assert started.message.usage.cache_read_input_tokens == total - 1, "known before the first token"
    assert streamed.usage.cache_read_input_tokens == total - 1
    assert second.stop_reason == "max_tokens"
    assert counted.input_tokens == total
    assert raw.headers["x-promptcache-cached-tokens"] == str(total - 1)
    assert "x-promptcache-cause" not in raw.headers


def test_the_engine_s_errors_have_anthropic_s_shape(engine_served: Served) -> None:
    answer = engine_served.post({**ASK, "model": "none"}, path="/v1/messages")
    assert (answer.status_code, answer.json()["error"]["type"]) == (404, "not_found_error")


def test_the_engine_tells_which_stop_sequence_ended_a_message(engine_served: Served) -> None:
    ask = {**ASK, "model": "tiny", "max_tokens": 24, "extra_body": {"temperature": 0}}
    with anthropic.Anthropic(base_url=engine_served.url, api_key="x", max_retries=0, timeout=60) as claude:
        text = claude.messages.create(**ask).content[0].text
        ask["stop_sequences"] = ["never", text[4:6]]
        whole = claude.messages.create(**ask)
        with claude.messages.stream(**ask) as stream:
            streamed = stream.get_final_message()
        unstopped = claude.messages.create(**{**ask, "stop_sequences": ["never"]})
    for made in (whole, streamed):
        assert (made.stop_reason, made.stop_sequence) == ("stop_sequence", text[4:6])
        assert made.content[0].text == text[: text.index(text[4:6])]
    assert (unstopped.stop_reason, unstopped.stop_sequence) == ("max_tokens", None)


def test_the_engine_s_refusal_names_what_the_caller_sent(engine_served: Served) -> None:
    ask = {**ASK, "model": "tiny", "stop_sequences": list("abcdefghi")}
    answer = engine_served.post(ask, path="/v1/messages")
    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "invalid_request_error")
    assert "'stop_sequences'" in answer.json()["error"]["message"]


# --- OpenAI's responses over both ---


def test_responses_over_chat(chat: MockUpstream, over_both: Served) -> None:
    with openai.OpenAI(base_url=f"{over_both.url}/v1", api_key="k", max_retries=0, timeout=20) as client:
        raw = client.responses.with_raw_response.create(model="m", input="Hi", instructions="Be terse.")
        made = raw.parse()
        assert made.output_text == "café  / ok"
        assert made.usage.input_tokens_details.cached_tokens == 1920
        assert json.loads(chat.last.body)["messages"][0] == {"role": "system", "content": "Be terse."}
        with client.responses.stream(model="m", input="Hi") as stream:
            assert stream.get_final_response().output_text == "Hello there."
    assert over_both.record(raw.http_response)["usage"]["cached_tokens"] == 1920


def test_usage_that_was_not_reported_is_null(chat: MockUpstream, over_both: Served) -> None:
    async def script(wire: Wire) -> None:
        said = {"message": {"role": "assistant", "content": "x"}, "index": 0, "finish_reason": "stop"}
        if b'"stream":true' not in wire.seen.body:
            await wire.respond(json.dumps({"id": "c", "choices": [said]}).encode())
            return
        await wire.start_events()
        await wire.part(sse(chunk("x")) + DONE)
        await wire.end()

    chat.script = script
    with openai.OpenAI(base_url=f"{over_both.url}/v1", api_key="k", max_retries=0, timeout=20) as client:
        whole = client.responses.create(model="m", input="Hi")
        with client.responses.stream(model="m", input="Hi") as stream:
            streamed = stream.get_final_response()
    for made in (whole, streamed):
        assert (made.status, made.output_text, made.usage) == ("completed", "x", None)
    with anthropic.Anthropic(base_url=over_both.url, api_key="k", max_retries=0, timeout=20) as client:
        usage = client.messages.create(**ASK).usage
    assert (usage.input_tokens, usage.output_tokens) == (0, 0), "its clients need numbers"
    assert usage.cache_read_input_tokens is None


def test_responses_over_messages(over_both: Served) -> None:
    with openai.OpenAI(base_url=f"{over_both.url}/v1", api_key="k", max_retries=0, timeout=20) as client:
        made = client.responses.create(model="claude-x", input="Hi")
        assert made.output_text == "café  / ok"
        assert made.usage.input_tokens == 2112
        with client.responses.stream(model="claude-x", input="Hi") as stream:
            final = stream.get_final_response()
        assert (final.output_text, final.usage.input_tokens_details.cached_tokens) == ("Hello there.", 2000)
        with pytest.raises(openai.BadRequestError, match="'resp_0' not found"):
            client.responses.create(model="m", input="Hi", previous_response_id="resp_0")


def test_responses_over_the_engine(engine_served: Served) -> None:
    with openai.OpenAI(base_url=f"{engine_served.url}/v1", api_key="k", max_retries=0, timeout=60) as client:
        ask = {"model": "tiny", "input": "Hi", "instructions": "You answer politely. " * 30, "temperature": 0}
        client.responses.create(**ask, max_output_tokens=4)
        raw = client.responses.with_raw_response.create(**ask, max_output_tokens=4)
    made = raw.parse()
    assert (made.status, made.incomplete_details.reason) == ("incomplete", "max_output_tokens")
    assert made.usage.input_tokens_details.cached_tokens == made.usage.input_tokens - 1
    assert "x-promptcache-cause" not in raw.headers


@pytest.fixture
def over_both(chat: MockUpstream, messages: MockUpstream, tmp_path: Path) -> Iterator[Served]:
    with serve_both(chat.url, messages.url, tmp_path) as served:
        yield served
