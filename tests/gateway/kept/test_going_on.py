"""``previous_response_id`` by the real client, over upstreams that keep no responses."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import openai
import orjson
import pytest

from promptcache_engine import Engine, EngineConfig
from promptcache_engine.models.testing import tiny_model
from promptcache_gateway.kept import KeptSettings
from promptcache_gateway.settings import EngineSettings, Settings, UpstreamSettings
from promptcache_gateway.tenancy.key_file import KeyFile
from promptcache_gateway.upstreams.local import LocalUpstream
from tests.gateway.anthropic_wire import answer_messages
from tests.gateway.mock_upstream import CHAT, DONE, USAGE_CHUNK, answer_chat, chunk, mock_upstream, sse
from tests.gateway.serving import Served, serve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.gateway.mock_upstream import MockUpstream, Wire

SECRET = "zebra-quartz-violin"
TOOL: dict[str, Any] = {
    "type": "function",
    "name": "weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}
# As a model writes them: no encoder would put it so.
ARGUMENTS = ['{"city" :  "Bonn\\u0021"}', '{ "city":"Köln" }']
CALLS = [
    {"index": at, "id": f"c{at}", "type": "function", "function": {"name": "weather", "arguments": text}}
    for at, text in enumerate(ARGUMENTS)
]


def gateway(mock: MockUpstream, folder: Path, **more: Any) -> Settings:
    return Settings(upstream=UpstreamSettings(url=mock.url, apis=("chat",)), data_dir=folder, **more)


def client_of(served: Served, key: str = "sk-caller") -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{served.url}/v1", api_key=key, max_retries=0, timeout=30)


@pytest.fixture
def served(mock: MockUpstream, tmp_path: Path) -> Iterator[Served]:
    with serve(gateway(mock, tmp_path)) as made:
        yield made


@pytest.fixture
def client(served: Served) -> Iterator[openai.OpenAI]:
    with client_of(served) as made:
        yield made


def respond(client: openai.OpenAI, streams: bool, **ask: Any) -> Any:
    """A response, whole or streamed, as the client puts it together."""
    if not streams:
        return client.responses.create(model="m", **ask)
    tools = {"tools": ask.pop("tools")} if "tools" in ask else {}
    with client.responses.stream(model="m", **ask, **tools) as stream:
        return stream.get_final_response()


async def call_tools(wire: Wire) -> None:
    """Call two tools in the first turn; answer in the next."""
    asked = json.loads(wire.seen.body)
    if any(message["role"] == "tool" for message in asked["messages"]):
        await answer_chat(wire)
    elif asked.get("stream"):
        delta = {"index": 0, "delta": {"role": "assistant", "tool_calls": CALLS}, "finish_reason": None}
        last = {"index": 0, "delta": {}, "finish_reason": "tool_calls"}
        chunks = [{**chunk(""), "choices": [choice]} for choice in (delta, last)]
        await wire.events(*map(sse, chunks), sse(USAGE_CHUNK), DONE)
    else:
        calls = [{name: value for name, value in call.items() if name != "index"} for call in CALLS]
        said = {"role": "assistant", "content": None, "tool_calls": calls}
        choice = {"index": 0, "message": said, "finish_reason": "tool_calls"}
        await wire.respond(orjson.dumps({**CHAT, "choices": [choice]}))


@pytest.mark.parametrize("streams", [False, True])
def test_each_turn_begins_with_the_bytes_of_the_one_before(
    client: openai.OpenAI, mock: MockUpstream, streams: bool
) -> None:
    asks = ["Who are you? \\u00e9 é 🙂", "And  then?", "Good.\n"]
    previous, texts = None, []
    for text in asks:
        more = {} if previous is None else {"previous_response_id": previous.id}
        made = respond(client, streams, input=text, instructions="Be terse.", **more)
        assert made.previous_response_id == more.get("previous_response_id")
        assert made.store is True
        texts.append(made.output_text)
        previous = made
    bodies = [seen.body for seen in mock.seen]
    assert len(bodies) == 3
    for before, after in pairwise(bodies):
        assert before.endswith(b"]}")
        assert after.startswith(before[:-2] + b",")
    last = json.loads(bodies[-1])["messages"]
    assert [message["role"] for message in last] == ["system", *["user", "assistant"] * 2, "user"]
    assert [message["content"] for message in last[1::2]] == asks
    assert [message["content"][0]["text"] for message in last[2::2]] == texts[:2]


@pytest.mark.parametrize("streams", [False, True])
def test_tools_are_called_and_their_results_sent_by_the_id_alone(
    client: openai.OpenAI, mock: MockUpstream, streams: bool
) -> None:
    mock.script = call_tools
    asked = respond(client, streams, input="Weather?", tools=[TOOL])
    assert [(item.call_id, item.arguments) for item in asked.output] == [
        ("c0", ARGUMENTS[0]),
        ("c1", ARGUMENTS[1]),
    ]
    results = [
        {"type": "function_call_output", "call_id": item.call_id, "output": f"sunny {item.call_id}"}
        for item in asked.output
    ]
    made = respond(client, streams, input=results, tools=[TOOL], previous_response_id=asked.id)
    assert made.output_text
    first, second = (seen.body for seen in mock.seen)
    assert second.startswith(first[:-2] + b",")
    turns = json.loads(second)["messages"]
    assert [turn["role"] for turn in turns] == ["user", "assistant", "tool", "tool"]
    sent = [call["function"]["arguments"] for call in turns[1]["tool_calls"]]
    assert sent == ARGUMENTS, "the model's own bytes"
    assert [turn["content"] for turn in turns[2:]] == ["sunny c0", "sunny c1"]


async def think(wire: Wire) -> None:
    """Think, and call a tool; answer once its result is there."""
    asked = json.loads(wire.seen.body)
    if any(message["role"] == "tool" for message in asked["messages"]):
        await answer_chat(wire)
    elif asked.get("stream"):
        call = {"tool_calls": [CALLS[0]]}
        deltas = [{"reasoning_content": "So,  "}, {"reasoning_content": "rain?"}, call]
        chunks = [{**chunk(""), "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
        await wire.events(*map(sse, chunks), sse(USAGE_CHUNK), DONE)
    else:
        said = {"content": None, "reasoning_content": "So,  rain?", "tool_calls": [CALLS[0]]}
        choice = {"index": 0, "message": said, "finish_reason": "tool_calls"}
        await wire.respond(orjson.dumps({**CHAT, "choices": [choice]}))


@pytest.mark.parametrize("streams", [False, True])
def test_what_the_model_thought_goes_back_with_what_came_of_it(
    client: openai.OpenAI, mock: MockUpstream, streams: bool
) -> None:
    mock.script = think
    asked = respond(client, streams, input="Weather?", tools=[TOOL])
    thought, call = asked.output
    assert (thought.type, thought.content[0].text) == ("reasoning", "So,  rain?")
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}
    made = respond(client, streams, input=[result], tools=[TOOL], previous_response_id=asked.id)
    assert made.output_text
    _, said, _ = json.loads(mock.last.body)["messages"]
    assert said["reasoning_content"] == "So,  rain?"
    assert said["tool_calls"][0]["function"]["arguments"] == ARGUMENTS[0]
    respond(client, streams, input="And now?", tools=[TOOL], previous_response_id=made.id)
    before, after = (seen.body for seen in mock.seen[-2:])
    assert after.startswith(before[:-2] + b",")


def test_a_conversation_forks_and_each_branch_is_its_own(client: openai.OpenAI, mock: MockUpstream) -> None:
    root = client.responses.create(model="m", input="root")
    left = client.responses.create(model="m", input="left", previous_response_id=root.id)
    client.responses.create(model="m", input="right", previous_response_id=root.id)
    client.responses.create(model="m", input="left again", previous_response_id=left.id)
    said = [
        [turn["content"] for turn in json.loads(seen.body)["messages"] if turn["role"] == "user"]
        for seen in mock.seen
    ]
    assert said == [["root"], ["root", "left"], ["root", "right"], ["root", "left", "left again"]]


def test_it_is_recorded_as_the_whole_conversation_that_it_is(served: Served, client: openai.OpenAI) -> None:
    long = "Rules of the house. " * 200
    root = client.responses.create(model="m", input=long)
    raw = client.responses.with_raw_response.create(model="m", input="Hi", previous_response_id=root.id)
    record = served.record(raw.http_response)
    assert record["diagnosis"]["cause"] is None, "it continues the one before"
    changes = {change["name"]: change for change in record["changes"]}
    assert changes["previous_response_id"]["paths"] == ["input", "previous_response_id"]


def test_over_anthropic_s_api(tmp_path: Path) -> None:
    with mock_upstream(answer_messages) as mock:
        upstream = UpstreamSettings(url=mock.url, kind="anthropic")
        with serve(Settings(upstream=upstream, data_dir=tmp_path)) as served, client_of(served) as client:
            for streams in (False, True):
                mock.seen.clear()
                first = respond(client, streams, input="Hi", instructions="Be terse.")
                more = {"previous_response_id": first.id, "instructions": "Be terse."}
                respond(client, streams, input="Go on", **more)
                before, after = (seen.body for seen in mock.seen)
                assert after.startswith(before[:-2] + b",")
                turns = json.loads(after)["messages"]
                assert [turn["role"] for turn in turns] == ["user", "assistant", "user"]
                assert turns[1]["content"] == [{"type": "text", "text": first.output_text}]


def test_over_the_engine_the_cache_is_read_to_the_last_answer(tmp_path: Path) -> None:
    engine = Engine.from_loaded(tiny_model(seed=0), EngineConfig(model="tiny", kv_cache_tokens=8192))
    upstream = LocalUpstream(EngineSettings(model="tiny"), engine)
    with serve(Settings(data_dir=tmp_path), upstream=upstream) as served, client_of(served) as client:
        rules = "You answer politely. " * 20
        ask: dict[str, Any] = {"model": "tiny", "instructions": rules, "max_output_tokens": 6}
        first = client.responses.create(input="Hi", **ask)
        second = client.responses.create(input="Go on", previous_response_id=first.id, **ask)
        cached = second.usage.input_tokens_details.cached_tokens
        assert cached >= first.usage.input_tokens - 1
        shown = client.responses.retrieve(second.id)
        assert (shown.previous_response_id, shown.status) == (first.id, second.status)


def test_what_is_not_there_is_refused_as_the_api_does(
    client: openai.OpenAI, served: Served, mock: MockUpstream
) -> None:
    with pytest.raises(openai.BadRequestError, match="'resp_0' not found") as caught:
        client.responses.create(model="m", input="Hi", previous_response_id="resp_0")
    assert (caught.value.code, caught.value.param) == ("previous_response_not_found", "previous_response_id")
    unkept = client.responses.create(model="m", input="Hi", store=False)
    assert unkept.store is False
    with pytest.raises(openai.BadRequestError, match="not found"):
        client.responses.create(model="m", input="Hi", previous_response_id=unkept.id)
    for odd in (5, {}, [""]):
        answer = served.post({"model": "m", "input": "x", "previous_response_id": odd}, path="/v1/responses")
        assert (answer.status_code, answer.json()["error"]["param"]) == (400, "previous_response_id")
    assert len(mock.seen) == 1, "nothing was asked of the upstream without what it goes on from"


def test_a_failed_answer_is_not_gone_on_from(served: Served, mock: MockUpstream) -> None:
    async def torn(wire: Wire) -> None:
        await wire.start_events()
        await wire.part(sse(chunk("Hel")))
        wire.reset()

    mock.script = torn
    answer = served.post({"model": "m", "input": "x", "stream": True}, path="/v1/responses")
    events = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: {")]
    assert events[-1]["type"] == "error"
    name = events[0]["response"]["id"]
    mock.script = answer_chat
    again = served.post({"model": "m", "input": "x", "previous_response_id": name}, path="/v1/responses")
    assert again.json()["error"]["code"] == "previous_response_not_found"


def test_it_is_read_again_and_deleted(client: openai.OpenAI, served: Served) -> None:
    made = client.responses.create(model="m", input="Hi", metadata={"a": "b"})
    again = client.responses.retrieve(made.id)
    assert again.to_dict() == made.to_dict()
    assert served.http.head(f"/v1/responses/{made.id}").status_code == 200
    later = client.responses.create(model="m", input="Go on", previous_response_id=made.id)
    answer = served.http.delete(f"/responses/{made.id}")
    assert answer.json() == {"id": made.id, "object": "response", "deleted": True}
    for name in (made.id, "resp_0", "resp_" + "x" * 5000):
        with pytest.raises(openai.NotFoundError, match="not found"):
            client.responses.retrieve(name)
        with pytest.raises(openai.NotFoundError, match="not found"):
            client.responses.delete(name)
    for name in (made.id, later.id):  # what is deleted is gone from the conversations it was part of
        with pytest.raises(openai.BadRequestError, match="not found"):
            client.responses.create(model="m", input="x", previous_response_id=name)
    with pytest.raises(openai.BadRequestError, match="not streamed again"):
        client.responses.retrieve(later.id, stream=True)
    for path in ("compact", "input_tokens", f"{later.id}/cancel"):
        answer = served.post({}, path=f"/v1/responses/{path}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "unknown_url")
    answer = served.http.put(f"/v1/responses/{later.id}")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD, DELETE, OPTIONS")


def test_a_tenant_s_responses_are_its_own_and_deleted_with_it(mock: MockUpstream, tmp_path: Path) -> None:
    keys = KeyFile(tmp_path / "keys.json")
    one, two, boss = (keys.create(name, admin=name == "boss")[0] for name in ("one", "two", "boss"))
    with (
        serve(gateway(mock, tmp_path)) as served,
        client_of(served, one) as mine,
        client_of(served, two) as theirs,
    ):
        kept = mine.responses.create(model="m", input=SECRET)
        for asks in (theirs.responses.retrieve, theirs.responses.delete):
            with pytest.raises(openai.NotFoundError):
                asks(kept.id)
        with pytest.raises(openai.BadRequestError, match="not found"):
            theirs.responses.create(model="m", input="x", previous_response_id=kept.id)
        assert mine.responses.retrieve(kept.id).id == kept.id
        assert served.get(f"/v1/responses/{kept.id}").status_code == 401
        other = theirs.responses.create(model="m", input="x")
        gone = served.http.delete("/promptcache/v1/tenants/one", headers={"x-api-key": boss})
        assert gone.status_code == 200
        with pytest.raises(openai.NotFoundError):
            mine.responses.retrieve(kept.id)
        assert theirs.responses.retrieve(other.id).id == other.id


def test_no_text_is_on_disk_unless_it_was_asked_for(mock: MockUpstream, tmp_path: Path) -> None:
    asked = KeptSettings(keep="database")
    for folder, settings, there in (("quiet", KeptSettings(), False), ("asked", asked, True)):
        with (
            serve(gateway(mock, tmp_path / folder, responses=settings)) as served,
            client_of(served) as client,
        ):
            made = client.responses.create(model="m", input=SECRET)
            client.responses.create(model="m", input="x", previous_response_id=made.id)
        files = [file.read_bytes() for file in (tmp_path / folder).rglob("*") if file.is_file()]
        assert any(SECRET.encode() in data for data in files) == there


def test_in_the_database_it_outlives_the_process_and_goes_with_its_tenant(
    mock: MockUpstream, tmp_path: Path
) -> None:
    settings = gateway(mock, tmp_path, responses=KeptSettings(keep="database"))
    with serve(settings) as served, client_of(served) as client:
        made = client.responses.create(model="m", input=SECRET)
    with serve(settings) as served, client_of(served) as client:
        later = client.responses.create(model="m", input="Go on", previous_response_id=made.id)
        assert later.previous_response_id == made.id
        assert json.loads(mock.last.body)["messages"][0]["content"] == SECRET
        assert served.http.delete("/promptcache/v1/tenants/default").status_code == 200
        with pytest.raises(openai.NotFoundError):
            client.responses.retrieve(made.id)
    files = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
    assert not any(SECRET.encode() in data for data in files), "overwritten"


def test_it_can_be_turned_off(mock: MockUpstream, tmp_path: Path) -> None:
    settings = gateway(mock, tmp_path, responses=KeptSettings(keep="off"))
    with serve(settings) as served, client_of(served) as client:
        made = client.responses.create(model="m", input="Hi")
        assert made.store is False
        with pytest.raises(openai.BadRequestError, match="keeps no responses"):
            client.responses.create(model="m", input="x", previous_response_id=made.id)


def test_what_is_too_large_is_not_kept_and_says_so(mock: MockUpstream, tmp_path: Path) -> None:
    settings = gateway(mock, tmp_path, responses=KeptSettings(max_mib=1), max_body_bytes=400_000)
    with serve(settings) as served, client_of(served) as client:
        assert client.responses.create(model="m", input="x" * 300_000).store is False
        made = client.responses.create(model="m", input="x" * 200_000)
        assert made.store is True
        with pytest.raises(openai.APIStatusError) as caught:
            client.responses.create(model="m", input="y" * 250_000, previous_response_id=made.id)
        assert caught.value.status_code == 413, "the whole is held to the limit of a body"


def test_an_upstream_that_keeps_responses_itself_gets_the_caller_s_bytes(
    mock: MockUpstream, tmp_path: Path
) -> None:
    body = b'{ "model":"m","previous_response_id" : "resp_theirs","input":"x" }'
    with serve(Settings(upstream=UpstreamSettings(url=mock.url), data_dir=tmp_path)) as served:
        served.post(body, path="/v1/responses")
        assert mock.last.body == body
        assert served.get("/v1/responses/resp_theirs").json()["error"]["code"] == "unknown_url"


def test_a_fallback_that_keeps_none_does_not_answer_what_it_does_not_know(
    mock: MockUpstream, tmp_path: Path
) -> None:
    """The first keeps responses itself: what it has is unknown here, and the second is not asked."""

    async def fails(wire: Wire) -> None:
        if wire.seen.line.startswith("POST /v1/responses"):
            await wire.respond(b'{"error":{"message":"busy"}}', status="503 Busy")
        else:
            await answer_chat(wire)

    mock.script = fails
    config = tmp_path / "promptcache.toml"
    config.write_text(
        f'[upstreams.native]\nurl = "{mock.url}"\nretries = 0\n[upstreams.plain]\nurl = "{mock.url}"\n'
        'apis = ["chat"]\n[models]\nboth = ["native/m", "plain/m"]\n'
    )
    from promptcache_gateway.arguments import make_settings, parse_arguments

    settings = make_settings(parse_arguments(["--config", str(config), "--data-dir", str(tmp_path)]), {})
    with serve(settings) as served, client_of(served) as client:
        first = client.responses.create(model="both", input="Hi")
        assert first.output_text == "café  / ok"
        client.responses.create(model="both", input="Go on", previous_response_id=first.id)
        assert len(json.loads(mock.last.body)["messages"]) == 3, "what the second answered is known here"
        asked = len(mock.seen)
        with pytest.raises(openai.InternalServerError, match="busy"):
            client.responses.create(model="both", input="x", previous_response_id="resp_theirs", timeout=20)
        assert {wire.line for wire in mock.seen[asked:]} == {"POST /v1/responses HTTP/1.1"}
