"""Providers' own cache diagnostics over every upstream, read by the real clients."""

from __future__ import annotations

import itertools
import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import anthropic
import openai
import orjson
import pytest

from promptcache_engine import Engine, EngineConfig
from promptcache_engine.models.testing import tiny_model
from promptcache_gateway.settings import EngineSettings, Settings, UpstreamSettings
from promptcache_gateway.upstreams.local import LocalUpstream
from tests.gateway.anthropic_wire import EVENTS, START, event
from tests.gateway.mock_upstream import CHAT, DONE, USAGE_CHUNK, MockUpstream, Wire, chunk, mock_upstream, sse
from tests.gateway.plane.test_responses_wire import EVENTS as RESPONSE_EVENTS
from tests.gateway.plane.test_responses_wire import event as response_event
from tests.gateway.plane.test_responses_wire import response
from tests.gateway.serving import Served, serve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.gateway.mock_upstream import Script

SYSTEM = "You answer questions about the warranty of lawn mowers, and nothing else. " * 20
TOOLS: Any = [
    {"name": "find", "description": "finds an order", "input_schema": {"type": "object", "properties": {}}},
    {"name": "void", "description": "voids an order", "input_schema": {"type": "object", "properties": {}}},
]
VERDICT = {"cache_miss_reason": {"type": "tools_changed", "cache_missed_input_tokens": 77}}


def messages_script(verdict: Any = None) -> Script:
    """Anthropic's server; each answer has its own id, and ``verdict`` as its diagnostics."""
    numbers = itertools.count(1)

    async def script(wire: Wire) -> None:
        name = f"msg_{next(numbers)}"
        said = {} if verdict is None else {"diagnostics": verdict}
        if json.loads(wire.seen.body).get("stream"):
            await wire.events(event("message_start", message={**START, "id": name, **said}), *EVENTS[1:])
        else:
            body = {**START, "id": name, "content": [{"type": "text", "text": "Yes."}], **said}
            await wire.respond(orjson.dumps({**body, "stop_reason": "end_turn"}))

    return script


def responses_script(verdict: Any = None) -> Script:
    numbers = itertools.count(1)

    async def script(wire: Wire) -> None:
        said = {"id": f"resp_{next(numbers)}"} | (
            {"prompt_cache_diagnostics": verdict} if verdict is not None else {}
        )
        if json.loads(wire.seen.body).get("stream"):
            first = response_event("response.created", 0, response=response("in_progress", **said))
            last = response_event("response.completed", 7, response=response(**said))
            await wire.events(first, *RESPONSE_EVENTS[1:-1], last)
        else:
            await wire.respond(orjson.dumps(response(**said)))

    return script


def chat_script() -> Script:
    numbers = itertools.count(1)

    async def script(wire: Wire) -> None:
        name = f"chatcmpl-{next(numbers)}"
        if json.loads(wire.seen.body).get("stream"):
            parts = [{**part, "id": name} for part in (chunk("Yes"), USAGE_CHUNK)]
            await wire.events(*[sse(part) for part in parts], DONE)
        else:
            await wire.respond(orjson.dumps({**CHAT, "id": name}))

    return script


@contextmanager
def over(script: Script, path: Path, **settings: Any) -> Iterator[tuple[Served, MockUpstream]]:
    with mock_upstream(script) as mock:
        upstream = UpstreamSettings(url=mock.url, read_timeout_s=5.0, **settings)
        with serve(Settings(upstream=upstream, data_dir=path)) as served:
            yield served, mock


@pytest.fixture(params=["same API", "chat", "engine"])
def claude_over(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The base URL of a gateway in front of each kind of upstream that lacks diagnostics."""
    if request.param == "engine":
        engine = Engine.from_loaded(tiny_model(seed=0), EngineConfig(model="tiny", kv_cache_tokens=8192))
        upstream = LocalUpstream(EngineSettings(model="tiny"), engine)
        with serve(Settings(data_dir=tmp_path), upstream=upstream) as served:
            yield served.url
        return
    script = messages_script() if request.param == "same API" else chat_script()
    kind = "anthropic" if request.param == "same API" else "openai"
    with over(script, tmp_path, kind=kind) as (served, mock):
        yield served.url
        assert all(b"diagnostics" not in seen.body for seen in mock.seen)


def ask(client: anthropic.Anthropic, previous: str | None, *, stream: bool, **more: Any) -> Any:
    """One message by the real client, whole or streamed."""
    body: dict[str, Any] = {
        "model": "tiny",
        "max_tokens": 4,
        "system": SYSTEM,
        "messages": [{"role": "user", "content": "Is rust covered?"}],
        "diagnostics": {"previous_message_id": previous},
        **more,
    }
    if not stream:
        return client.messages.create(**body)
    with client.messages.stream(**body) as events:
        return events.get_final_message()


@pytest.mark.parametrize("stream", [False, True])
def test_anthropics_client_is_told_what_changed_over_every_upstream(claude_over: str, stream: bool) -> None:
    with anthropic.Anthropic(base_url=claude_over, api_key="k", max_retries=0, timeout=30) as client:
        first = ask(client, None, stream=stream)
        assert first.diagnostics is None
        turns: Any = [
            {"role": "user", "content": "Is rust covered?"},
            {"role": "assistant", "content": "No."},
            {"role": "user", "content": "And blades?"},
        ]
        continued = ask(client, first.id, stream=stream, messages=turns)
        assert continued.diagnostics is None

        reason = ask(client, first.id, stream=stream, system="Now: " + SYSTEM).diagnostics.cache_miss_reason
        assert isinstance(reason, anthropic.types.CacheMissSystemChanged)
        assert reason.cache_missed_input_tokens > 0
        edited = [{"role": "user", "content": "Is paint covered?"}, *turns[1:]]
        reason = ask(client, continued.id, stream=stream, messages=edited).diagnostics.cache_miss_reason
        assert isinstance(reason, anthropic.types.CacheMissMessagesChanged)
        unknown = ask(client, "msg_of_another_age", stream=stream).diagnostics.cache_miss_reason
        assert isinstance(unknown, anthropic.types.CacheMissPreviousMessageNotFound)


def test_the_remaining_reasons_of_anthropics_client(tmp_path: Path) -> None:
    with over(messages_script(), tmp_path, kind="anthropic") as (served, _), claude(served) as client:
        first = ask(client, None, stream=False, tools=TOOLS)
        reordered = ask(client, first.id, stream=False, tools=TOOLS[::-1]).diagnostics.cache_miss_reason
        assert isinstance(reordered, anthropic.types.CacheMissToolsChanged)
        model = ask(client, first.id, stream=False, tools=TOOLS, model="n").diagnostics.cache_miss_reason
        assert isinstance(model, anthropic.types.CacheMissModelChanged)
        assert model.cache_missed_input_tokens > reordered.cache_missed_input_tokens > 0
        chosen = ask(client, first.id, stream=False, tools=TOOLS, tool_choice={"type": "any"})
        assert isinstance(chosen.diagnostics.cache_miss_reason, anthropic.types.CacheMissUnavailable)


def claude(served: Served) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=served.url, api_key="k", max_retries=0, timeout=20)


@pytest.mark.parametrize("stream", [False, True])
def test_a_provider_that_answers_is_asked_byte_for_byte_and_kept_beside_us(
    tmp_path: Path, stream: bool
) -> None:
    with over(messages_script(VERDICT), tmp_path, kind="anthropic", diagnostics="provider") as (served, mock):
        body = b'{"model":"m", "max_tokens":4,"system":"s","messages":[{"role":"user","content":"Hi"}],'
        body += b'"stream":true,' if stream else b""
        served.post(body + b'"diagnostics" : {"previous_message_id":null}}', path="/v1/messages")
        asked = body + b'"diagnostics" : {"previous_message_id":"msg_1"}}'
        answer = served.post(asked, path="/v1/messages")
        assert mock.last.body == asked
        sent = event("message_start", message={**START, "id": "msg_2", "diagnostics": VERDICT})
        assert sent in answer.content if stream else answer.json()["diagnostics"] == VERDICT
        kept = served.record(answer)["provider_verdict"]
    assert (kept["theirs"], kept["ours"]) == (VERDICT, None)
    assert (kept["their_reason"], kept["our_reason"], kept["agrees"]) == ("tools_changed", "none", False)
    assert (kept["response_id"], kept["by_caller"]) == ("msg_1", True)


@pytest.mark.parametrize("stream", [False, True])
def test_the_gateway_may_ask_by_itself_and_keeps_the_answer_to_itself(tmp_path: Path, stream: bool) -> None:
    with over(messages_script(VERDICT), tmp_path, kind="anthropic", diagnostics="ask") as (served, mock):
        body = {"model": "m", "max_tokens": 4, "system": SYSTEM, "tools": TOOLS, "stream": stream}
        body["messages"] = [{"role": "user", "content": "Hi"}]
        served.post(body, path="/v1/messages")
        assert json.loads(mock.last.body)["diagnostics"] == {"previous_message_id": None}
        answer = served.post({**body, "tools": TOOLS[::-1]}, path="/v1/messages")
        assert json.loads(mock.last.body)["diagnostics"] == {"previous_message_id": "msg_1"}
        assert b"tools_changed" not in answer.content.partition(b": promptcache ")[0]
        assert b'"diagnostics":null' in answer.content
        kept = served.record(answer)["provider_verdict"]
    assert (kept["theirs"], kept["our_reason"], kept["agrees"]) == (VERDICT, "tools_changed", True)
    assert kept["by_caller"] is False


def test_nobody_asks_nothing_is_added(tmp_path: Path) -> None:
    with over(messages_script(), tmp_path, kind="anthropic") as (served, mock):
        body = b'{"model":"m","max_tokens":4,"messages":[{"role":"user","content":"Hi"}],"diagnostics":null}'
        answer = served.post(body, path="/v1/messages")
        assert mock.last.body == body
        assert "diagnostics" not in answer.json()
        assert served.record(answer)["provider_verdict"] is None


# --- OpenAI ---


@pytest.fixture(params=["same API", "chat", "messages"])
def responses_over(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    scripts: dict[str, tuple[Callable[[], Script], str]] = {
        "same API": (responses_script, "openai"),
        "chat": (chat_script, "openai"),
        "messages": (messages_script, "anthropic"),
    }
    made, kind = scripts[request.param]
    apis = ("chat",) if request.param == "chat" else ()
    with over(made(), tmp_path, kind=kind, apis=apis) as (served, mock):
        yield served.url
        assert all(b"comparison_response_id" not in seen.body for seen in mock.seen)


def respond(client: openai.OpenAI, compared: str | None, *, stream: bool, **more: Any) -> Any:
    """One response by the real client, whole or streamed."""
    body: dict[str, Any] = {"model": "m", "instructions": SYSTEM, "input": "Is rust covered?", **more}
    if compared is not None:
        body["prompt_cache_options"] = {"comparison_response_id": compared}
    if not stream:
        return client.responses.create(**body)
    with client.responses.stream(**body) as events:
        return events.get_final_response()


@pytest.mark.parametrize("stream", [False, True])
def test_openais_client_is_told_what_changed_over_every_upstream(responses_over: str, stream: bool) -> None:
    with openai.OpenAI(base_url=f"{responses_over}/v1", api_key="k", max_retries=0, timeout=30) as client:
        first = respond(client, None, stream=stream)
        assert first.prompt_cache_diagnostics is None
        same = respond(client, first.id, stream=stream).prompt_cache_diagnostics
        assert same.type == "cache_hit"
        told = respond(client, "resp_of_another_age", stream=stream).prompt_cache_diagnostics
        assert told.type == "comparison_response_not_found"
        told = respond(client, first.id, stream=stream, model="n").prompt_cache_diagnostics
        assert told.type in {"cache_miss", "cache_hit"}  # what was read counts, whatever changed


def test_the_gateway_may_ask_openai_by_itself(tmp_path: Path) -> None:
    miss = {"type": "cache_miss", "reason": "input_changed", "cache_missed_tokens": 5}
    with over(responses_script(miss), tmp_path, diagnostics="ask") as (served, mock):
        body = {"model": "m", "instructions": SYSTEM, "input": "Hi", "prompt_cache_options": {"ttl": "30m"}}
        served.post(body, path="/v1/responses")
        assert json.loads(mock.last.body) == body  # there is nothing to compare with yet
        answer = served.post(body, path="/v1/responses")
        options = json.loads(mock.last.body)["prompt_cache_options"]
        assert options == {"ttl": "30m", "comparison_response_id": "resp_1"}
        assert answer.json()["prompt_cache_diagnostics"] is None
        kept = served.record(answer)["provider_verdict"]
    assert (kept["their_reason"], kept["our_reason"], kept["agrees"]) == ("input_changed", "cache_hit", False)
