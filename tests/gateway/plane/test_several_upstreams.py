"""Several upstreams behind one address: aliases, fallbacks, retries, the circuit; each counted once."""

from __future__ import annotations

import asyncio
import json
import socket
from contextlib import ExitStack
from typing import TYPE_CHECKING

import anthropic
import openai
import orjson
import pytest

from promptcache_gateway.settings import ModelSettings, Settings, UpstreamSettings
from promptcache_gateway.translate import bridge
from promptcache_gateway.translate.chat_to_messages import chat_to_messages
from promptcache_gateway.upstream_settings import Target
from tests.gateway.anthropic_wire import MESSAGE_BYTES, answer_messages
from tests.gateway.mock_upstream import CHAT_BYTES, Wire, answer_chat, chunk, mock_upstream, sse
from tests.gateway.serving import Served, serve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import httpx

BODY = b'{ "messages":[{"role":"user","content":"\\u00e9 \\"model\\":\\"x\\""}], "model" : "alias","z":1}\n'


def refused() -> str:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{closed.getsockname()[1]}"


class House:
    """Two upstreams of OpenAI's shape and one of Anthropic's behind a gateway."""

    def __init__(self, tmp_path: Path, stack: ExitStack) -> None:
        self.first = stack.enter_context(mock_upstream(answer_chat))
        self.second = stack.enter_context(mock_upstream(answer_chat))
        self.claude = stack.enter_context(mock_upstream(answer_messages))
        upstreams = (
            UpstreamSettings(name="first", url=self.first.url, models=("m-*",), api_key="sk-first"),
            UpstreamSettings(name="second", url=self.second.url, models=("n",)),
            UpstreamSettings(name="claude", url=self.claude.url, kind="anthropic", models=("claude-*",)),
            UpstreamSettings(name="dead", url=refused(), models=("dead",), retries=0),
        )
        models = (
            ModelSettings("alias", (Target("first", "m-1"), Target("second", "n-1"))),
            ModelSettings("same", (Target("second", "n-1"), Target("second", "n-2"))),
            ModelSettings("risen", (Target("dead", "d"), Target("second", "n-1"))),
            ModelSettings("astray", (Target("dead", "d"), Target("claude", "claude-x"))),
            ModelSettings("sonnet", (Target("claude", "claude-x"),)),
            ModelSettings("counted", (Target("claude", "claude-x"), Target("second", "n-1"))),
            ModelSettings(
                "long", (Target("first", "m-1"), Target("claude", "claude-x"), Target("second", "n-1"))
            ),
        )
        settings = Settings(upstreams=upstreams, models=models, data_dir=tmp_path)
        self.served: Served = stack.enter_context(serve(settings))

    def post(self, model: str, **headers: str):
        messages = [{"role": "user", "content": "Hi"}]
        return self.served.post({"model": model, "messages": messages}, **headers)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with ExitStack() as stack:
        yield House(tmp_path, stack)


async def hangs_up(wire: Wire) -> None:
    wire.writer.close()


def answering(status: str, *headers: str):
    async def script(wire: Wire) -> None:
        await wire.respond(
            b'{"error":{"message":"no","type":"t","code":"c"}}', status=status, headers=headers
        )

    return script


def test_an_alias_is_spliced_and_no_other_byte_changes(house: House) -> None:
    answer = house.served.post(BODY)
    assert answer.content == CHAT_BYTES
    assert house.first.last.body == BODY.replace(b'"alias"', b'"m-1"')
    record = house.served.record(answer)
    assert (record["upstream"], record["model"]) == ("first", "m-1")


def test_a_model_that_is_no_alias_arrives_as_it_is(house: House) -> None:
    body = BODY.replace(b"alias", b"m-7")
    house.served.post(body)
    assert house.first.last.body == body
    assert house.first.last.headers["authorization"] == "Bearer sk-first"


def test_a_model_nobody_has_is_a_404(house: House) -> None:
    answer = house.post("nope")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "model_not_found")
    assert "'alias'" in answer.json()["error"]["message"]
    answer = house.served.post({"model": "nope", "messages": []}, path="/v1/messages")
    assert (answer.status_code, answer.json()["error"]["type"]) == (404, "not_found_error")


def test_two_apis_at_one_address(house: House) -> None:
    with anthropic.Anthropic(base_url=house.served.url, api_key="k", max_retries=0) as claude:
        message = claude.messages.create(
            model="sonnet", max_tokens=9, messages=[{"role": "user", "content": "Hi"}]
        )
        assert message.usage.cache_read_input_tokens == 2000
        counted = claude.messages.count_tokens(model="sonnet", messages=[{"role": "user", "content": "Hi"}])
        assert counted.input_tokens == 2112
        assert json.loads(house.claude.last.body)["model"] == "claude-x"
        with pytest.raises(anthropic.InternalServerError, match="cannot count"):
            claude.messages.count_tokens(model="n", messages=[{"role": "user", "content": "Hi"}])
    assert house.post("n").content == CHAT_BYTES


def test_models_lists_what_is_configured_for_both_clients(house: House) -> None:
    with openai.OpenAI(base_url=f"{house.served.url}/v1", api_key="k", max_retries=0) as client:
        assert [model.id for model in client.models.list()] == [
            "alias",
            "same",
            "risen",
            "astray",
            "sonnet",
            "counted",
            "long",
            "n",
            "dead",
        ]
        assert client.models.retrieve("alias").owned_by == "promptcache"
        with pytest.raises(openai.NotFoundError):
            client.models.retrieve("nope")
    with anthropic.Anthropic(base_url=house.served.url, api_key="k", max_retries=0) as claude:
        assert [model.id for model in claude.models.list()][:2] == ["alias", "same"]
        with pytest.raises(anthropic.NotFoundError):
            claude.models.retrieve("nope")


@pytest.mark.parametrize(
    "script",
    [hangs_up, answering("500 X"), answering("503 X"), answering("429 X", "retry-after: 30")],
    ids=["hangs up", "500", "503", "429"],
)
@pytest.mark.parametrize("stream", [False, True])
def test_a_fallback_answers_and_the_request_is_counted_once(house: House, script, stream: bool) -> None:
    house.first.script = script
    body = BODY.replace(b'"z":1', b'"stream":true') if stream else BODY
    answer = house.served.post(body, authorization="Bearer sk-caller")
    assert answer.status_code == 200
    sent = house.second.last
    assert b'"n-1"' in sent.body
    assert "authorization" not in sent.headers, "the caller's key is for the first upstream at most"
    record = house.served.record(answer)
    assert (record["upstream"], record["model"], record["status"]) == ("second", "n-1", 200)
    assert len(house.served.get("/promptcache/v1/requests").json()["data"]) == 1


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", {"n": 2, "messages": [{"role": "user", "content": "Hi"}]}),
        ("/v1/completions", {"prompt": "Hi"}),
    ],
)
def test_a_fallback_that_cannot_take_a_request_does_not_make_it_wrong(
    house: House, path: str, body: dict[str, object]
) -> None:
    """The first one could have answered: its failure is told, which may be over at the next try."""
    answer = house.served.post({"model": "astray", **body}, path=path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream_unreachable")
    record = house.served.record(answer)
    assert (record["upstream"], record["error"]) == ("dead", "upstream_unreachable")
    assert house.claude.seen == []
    assert house.post("astray").status_code == 200, "what it can take it does"


@pytest.mark.parametrize("status", ["400 Bad Request", "401 X", "404 X", "413 X", "422 X"])
@pytest.mark.parametrize("stream", [False, True])
def test_a_fallback_that_refuses_a_request_does_not_make_it_wrong(
    house: House, status: str, stream: bool
) -> None:
    """Its key, its model or what it takes may be other than the first one's, whose failure is told."""
    house.first.script, house.second.script = hangs_up, answering(status)
    body = BODY.replace(b'"z":1', b'"stream":true') if stream else BODY
    answer = house.served.post(body)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (502, "upstream_disconnected")
    assert f"'second' refused the request ({status[:3]} c)" in error["message"]
    assert len(house.second.seen) == 1
    record = house.served.record(answer)
    assert (record["upstream"], record["model"]) == ("first", "m-1")
    assert (record["status"], record["error"]) == (502, "upstream_disconnected")
    passed_over = {"path": "second", "reason": f"refused the request ({status[:3]} c)"}
    assert {"name": "fallback", "paths": [], "skipped": [passed_over]} in record["changes"]
    assert len(house.served.get("/promptcache/v1/requests").json()["data"]) == 1


def test_a_fallback_may_refuse_with_a_stream(house: House) -> None:
    async def refuses(wire: Wire) -> None:
        head = b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/event-stream\r\n"
        await wire.send(head + b"transfer-encoding: chunked\r\n\r\n")
        await wire.part(sse({"error": {"message": "no"}}))
        await wire.gone()

    house.first.script, house.second.script = hangs_up, refuses
    answer = house.served.post(BODY.replace(b'"z":1', b'"stream":true'))
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream_disconnected")
    assert "'second' refused the request (400)" in answer.json()["error"]["message"]


def test_a_stream_that_refuses_is_a_refusal_where_none_was_asked_for(house: House) -> None:
    """As it is without a translation."""

    async def refuses(wire: Wire) -> None:
        await wire.send(b"HTTP/1.1 400 X\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        await wire.send(sse({"error": {"message": "too long", "code": "c"}}))
        wire.writer.close()

    def asked(model: str) -> httpx.Response:
        body = {"model": model, "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
        return house.served.post(body, path="/v1/messages")

    house.second.script = refuses
    alone = asked("n")
    assert (alone.status_code, alone.json()["error"]["message"]) == (400, "too long")
    record = house.served.record(alone)
    assert (record["status"], record["error"]) == (400, "c")
    house.first.script = hangs_up
    answer = asked("alias")
    assert answer.status_code == 502
    assert "'second' refused the request (400 c)" in answer.json()["error"]["message"]
    assert house.served.record(answer)["upstream"] == "first"


def test_what_the_first_one_answered_is_told_as_it_was_where_the_fallback_refuses(house: House) -> None:
    house.first.script = answering("503 X", "retry-after: 30")
    house.second.script = answering("400 Bad Request")
    answer = house.served.post(BODY)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "30")
    record = house.served.record(answer)
    assert (record["upstream"], record["status"]) == ("first", 503)


@pytest.mark.parametrize("body", [{}, {"n": 2}], ids=["refused", "untranslatable"])
def test_one_fallback_that_cannot_take_a_request_is_not_the_last(
    house: House, body: dict[str, object]
) -> None:
    house.first.script, house.claude.script = hangs_up, answering("400 X")
    answer = house.served.post({"model": "long", "messages": [{"role": "user", "content": "Hi"}], **body})
    assert answer.content == CHAT_BYTES
    assert len(house.claude.seen) == (0 if body else 1)
    record = house.served.record(answer)
    assert (record["upstream"], record["model"], record["status"]) == ("second", "n-1", 200)


def test_a_fallback_behind_an_upstream_that_is_left_alone_does_not_make_a_request_wrong(house: House) -> None:
    house.second.script = answering("400 X")
    codes = {house.post("risen").json()["error"]["code"] for _ in range(7)}
    assert codes == {"upstream_unreachable", "upstream_circuit_open"}


def test_a_request_that_a_large_body_makes_is_told_the_first_one_s_failure_too(house: House) -> None:
    """It is looked at in a thread."""
    house.first.script, house.second.script = hangs_up, answering("400 X")
    body = {"model": "alias", "messages": [{"role": "user", "content": "word " * 60_000}]}
    answer = house.served.post(body)
    assert answer.status_code == 502
    assert house.served.record(answer)["upstream"] == "first"


def test_what_could_not_be_translated_says_nothing_of_an_upstream(house: House) -> None:
    """Five failures in a row close a circuit, and what was never sent is no answer in between."""
    house.claude.script = answering("500 X")
    ask = {"model": "sonnet", "messages": [{"role": "user", "content": "Hi"}]}
    for _ in range(4):
        assert house.served.post(ask).status_code == 500
    assert house.served.post({**ask, "n": 2}).status_code == 400
    assert house.served.post(ask).status_code == 500
    assert house.served.post(ask).json()["error"]["code"] == "upstream_circuit_open"


def test_a_call_is_translated_once_however_often_it_is_sent(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def counted(payload, model):
        made.append(model)
        return chat_to_messages(payload, model)

    monkeypatch.setattr(bridge, "chat_to_messages", counted)
    left = [1]

    async def fails_once(wire: Wire) -> None:
        left[0] -= 1
        await (hangs_up if left[0] >= 0 else answer_messages)(wire)

    house.claude.script = fails_once
    assert house.post("astray").status_code == 200
    assert (len(house.claude.seen), made) == (2, ["claude-x"])


@pytest.mark.parametrize("body", [{}, {"container": "c"}], ids=["refused", "untranslatable"])
def test_a_fallback_that_refuses_to_count_does_not_make_the_question_wrong(
    house: House, body: dict[str, object]
) -> None:
    house.claude.script, house.second.script = hangs_up, answering("400 X")
    ask = {"model": "counted", "messages": [{"role": "user", "content": "Hi"}], **body}
    answer = house.served.post(ask, path="/v1/messages/count_tokens")
    assert (answer.status_code, answer.json()["error"]["type"]) == (502, "api_error")
    assert "closed the connection" in answer.json()["error"]["message"]


def test_a_fallback_to_another_model_of_one_upstream_is_recorded_as_that_model(house: House) -> None:
    async def fails_one_model(wire: Wire) -> None:
        if b'"n-1"' in wire.seen.body:
            await answering("500 X")(wire)
        else:
            await answer_chat(wire)

    house.second.script = fails_one_model
    record = house.served.record(house.post("same"))
    assert (record["upstream"], record["model"], record["status"]) == ("second", "n-2", 200)
    assert len(house.served.get("/promptcache/v1/requests").json()["data"]) == 1


def test_a_fallback_is_compared_with_what_its_own_upstream_saw(house: House) -> None:
    house.first.script = hangs_up
    house.served.post(BODY)
    again = house.served.record(house.served.post(BODY))
    assert again["diagnosis"]["cause"] is None
    assert again["usage"]["cached_tokens"] == 1920


@pytest.mark.parametrize("status", ["400 Bad Request", "401 X", "404 X", "422 X"])
def test_a_wrong_request_is_not_tried_elsewhere(house: House, status: str) -> None:
    house.first.script = answering(status)
    assert house.served.post(BODY).status_code == int(status[:3])
    assert house.second.seen == []


def test_where_all_fail_the_last_answer_is_the_answer(house: House) -> None:
    house.first.script = answering("503 X")
    house.second.script = answering("500 Y")
    answer = house.served.post(BODY)
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "c")


def test_a_stream_that_has_begun_is_never_tried_again(house: House) -> None:
    async def dies(wire: Wire) -> None:
        await wire.start_events()
        await wire.part(sse(chunk("Hel")))
        await asyncio.sleep(0.05)
        wire.reset()

    house.first.script = dies
    answer = house.served.post(BODY.replace(b'"z":1', b'"stream":true'))
    assert b"upstream_disconnected" in answer.content
    assert (len(house.first.seen), house.second.seen) == (1, [])


def failing_first(count: int, script):
    """A script that fails so many times and answers then."""
    left = [count]

    async def run(wire: Wire) -> None:
        left[0] -= 1
        await (script if left[0] >= 0 else answer_chat)(wire)

    return run


@pytest.mark.parametrize(
    "script",
    [hangs_up, answering("429 X", "retry-after: 0"), answering("503 X", "retry-after: 0.1")],
    ids=["hangs up", "429", "503"],
)
def test_what_is_safe_is_sent_again_and_counted_once(house: House, script) -> None:
    house.second.script = failing_first(1, script)
    answer = house.post("n")
    assert answer.content == CHAT_BYTES
    assert len(house.second.seen) == 2
    assert house.second.seen[0].body == house.second.seen[1].body
    assert len(house.served.get("/promptcache/v1/requests").json()["data"]) == 1


@pytest.mark.parametrize(
    "script",
    [
        answering("500 X", "retry-after: 0"),
        answering("429 X"),
        answering("429 X", "retry-after: 60"),
        answering("429 X", "retry-after: Sun, 29 Nov 2026 10:00:00 GMT"),
        answering("429 X", "retry-after: 0", "x-should-retry: false"),
    ],
    ids=["500", "no retry-after", "too long", "a date", "forbidden"],
)
def test_what_is_not_safe_is_sent_once(house: House, script) -> None:
    house.second.script = script
    house.post("n")
    assert len(house.second.seen) == 1


def test_retries_end(house: House) -> None:
    house.second.script = hangs_up
    answer = house.post("n")
    assert (answer.status_code, len(house.second.seen)) == (502, 2)


def test_a_dead_upstream_is_left_alone_after_a_while(house: House) -> None:
    for _ in range(5):
        assert house.post("dead").json()["error"]["code"] == "upstream_unreachable"
    answer = house.post("dead")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "upstream_circuit_open")
    assert 1 <= int(answer.headers["retry-after"]) <= 10
    assert house.post("risen").content == CHAT_BYTES
    record = house.served.record(house.post("risen"))
    assert (record["upstream"], record["status"]) == ("second", 200)


@pytest.mark.parametrize("status", ["500 X", "502 X", "529 X"])
def test_one_that_only_fails_is_left_alone_too(house: House, status: str) -> None:
    house.second.script = answering(status)
    codes = [house.post("n").status_code for _ in range(6)]
    assert codes == [int(status[:3])] * 5 + [503]
    assert len(house.second.seen) == 5


def test_an_answer_in_between_says_that_it_lives(house: House) -> None:
    for _ in range(3):
        house.second.script = answering("500 X")
        assert [house.post("n").status_code for _ in range(4)] == [500] * 4
        house.second.script = answer_chat
        assert house.post("n").status_code == 200


def test_a_caller_s_mistakes_do_not_open_the_circuit(house: House) -> None:
    house.second.script = answering("400 X")
    for _ in range(8):
        assert house.post("n").status_code == 400
    house.second.script = answer_chat
    assert house.post("n").content == CHAT_BYTES


def test_health_knows_all_upstreams(house: House) -> None:
    house.post("dead")
    health = house.served.get("/health")
    assert (health.status_code, health.json()["status"]) == (200, "degraded")
    assert set(health.json()["upstreams"]) == {"first", "second", "claude", "dead"}


def test_an_upstream_without_models_takes_and_lists_the_rest(tmp_path: Path) -> None:
    async def lists(wire: Wire) -> None:
        await wire.respond(orjson.dumps({"object": "list", "data": [{"id": "b", "owned_by": "them"}, 3]}))

    with mock_upstream(lists) as open_one, mock_upstream(answer_chat) as other:
        upstreams = (
            UpstreamSettings(name="x", url=other.url, models=("a",)),
            UpstreamSettings(name="y", url=open_one.url),
            UpstreamSettings(name="z", url=refused()),
        )
        with serve(Settings(upstreams=upstreams, data_dir=tmp_path)) as served:
            data = served.get("/v1/models").json()["data"]
            assert [(model["id"], model["owned_by"]) for model in data] == [
                ("a", "promptcache"),
                ("b", "them"),
            ]
            served.post({"model": "whatever", "messages": []})
            assert len(open_one.seen) == 2


def test_a_whole_answer_of_the_other_api_passes(house: House) -> None:
    body = {"model": "claude-y", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    answer = house.served.post(body, path="/v1/messages")
    assert answer.content == MESSAGE_BYTES
