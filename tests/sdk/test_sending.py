"""Conversations go out through the providers' own clients, over a socket, and come back as they should."""

from __future__ import annotations

import json
import threading
from contextlib import ExitStack
from datetime import date
from typing import TYPE_CHECKING, Any

import anthropic
import openai
import pytest

from promptcache import Conversation
from promptcache.errors import ConversationBusyError, ConversationError
from tests.sdk.loopback import ARGUMENTS, Provider, provider

if TYPE_CHECKING:
    from collections.abc import Iterator

TOOL = {"name": "f", "description": "d", "input_schema": {"type": "object", "properties": {"z": {}, "a": {}}}}
APIS = ["openai", "responses", "anthropic"]
GROWING = {"openai": "messages", "responses": "input", "anthropic": "messages"}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    monkeypatch.setenv("NO_PROXY", "*")
    with provider() as running:
        yield running


@pytest.fixture
def clients(server: Provider) -> Iterator[dict[str, Any]]:
    url = f"{server.url}/v1"
    with ExitStack() as stack:
        chat = stack.enter_context(openai.OpenAI(base_url=url, api_key="k", max_retries=0))
        claude = stack.enter_context(anthropic.Anthropic(base_url=server.url, api_key="k", max_retries=0))
        yield {"openai": chat, "responses": chat, "anthropic": claude}


def aclient(api: str, server: Provider) -> Any:
    if api == "anthropic":
        return anthropic.AsyncAnthropic(base_url=server.url, api_key="k", max_retries=0)
    return openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="k", max_retries=0)


def new() -> Conversation:
    chat = Conversation("Be kind. " * 20, tools=[TOOL], template="agent")
    chat.user("Do it.")
    return chat


def check(server: Provider, api: str) -> None:
    """Both requests carried the template's name, and the second one continues the first, byte for byte."""
    assert [headers["x-promptcache-template"] for _, headers, _ in server.seen] == ["agent", "agent"]
    first, second = (json.dumps(unmarked(body)[GROWING[api]]) for body in server.bodies)
    assert second.startswith(first.removesuffix("]"))
    one, other = (raw for _, _, raw in server.seen)
    assert one.partition(b'"Do it."')[0].partition(b"cache_control")[0] in other
    if api != "anthropic":
        assert json.dumps(ARGUMENTS, ensure_ascii=False).encode() in other


def unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: unmarked(item) for key, item in value.items() if key != "cache_control"}
    return [unmarked(item) for item in value] if isinstance(value, list) else value


def words(chat: Conversation) -> Any:
    return chat.to_openai("m")["messages"][-1]["content"]


@pytest.mark.parametrize("api", APIS)
def test_an_agents_turn_by_a_real_client(api: str, server: Provider, clients: dict[str, Any]) -> None:
    chat = new()
    response = chat.send(clients[api], "gpt-x", api=None if api != "responses" else "responses")
    assert type(response).__module__.startswith(("openai", "anthropic"))
    chat.tool_result("c1", {"b": 1, "a": 2})
    chat.send(clients[api], "gpt-x", api=api)
    assert words(chat) == "Done.\n"
    check(server, api)


@pytest.mark.parametrize("api", APIS)
async def test_the_same_by_an_asynchronous_client(api: str, server: Provider) -> None:
    chat = new()
    async with aclient(api, server) as client:
        await chat.asend(client, "gpt-x", api=api)
        chat.tool_result("c1", "ok")
        await chat.asend(client, "gpt-x", api=api)
    assert words(chat) == "Done.\n"
    check(server, api)


@pytest.mark.parametrize("api", APIS)
def test_streams_are_appended_when_they_end(api: str, server: Provider, clients: dict[str, Any]) -> None:
    chat, whole = new(), new()
    for one in (chat, whole):
        events = list(one.stream(clients[api], "gpt-x", api=api)) if one is chat else []
        assert bool(events) == (one is chat)
        if one is whole:
            one.send(clients[api], "gpt-x", api=api)
        one.tool_result("c1", "ok")
    for form in ("to_openai", "to_responses", "to_anthropic"):
        assert getattr(chat, form)("m") == getattr(whole, form)("m")
    assert server.bodies[0].pop("stream") is True


@pytest.mark.parametrize("api", APIS)
async def test_asynchronous_streams(api: str, server: Provider) -> None:
    chat = new()
    async with aclient(api, server) as client:
        events = [event async for event in chat.astream(client, "gpt-x", api=api)]
        assert len(events) > 1
        chat.tool_result("c1", "ok")
        await chat.asend(client, "gpt-x", api=api)
    assert words(chat) == "Done.\n"


def test_a_request_that_fails_appends_nothing(server: Provider, clients: dict[str, Any]) -> None:
    chat = new()
    before = json.dumps(chat.to_openai("m"))
    server.fail = 3
    with pytest.raises(openai.BadRequestError):
        chat.send(clients["openai"], "m")
    with pytest.raises(anthropic.BadRequestError):
        list(chat.stream(clients["anthropic"], "m"))
    with pytest.raises(openai.BadRequestError):
        chat.send(clients["responses"], "m", api="responses")
    assert json.dumps(chat.to_openai("m")) == before
    chat.send(clients["openai"], "m")
    assert len(chat) == 2


def test_an_abandoned_stream_appends_nothing_and_frees_the_conversation(
    server: Provider, clients: dict[str, Any]
) -> None:
    chat = new()
    events = chat.stream(clients["openai"], "m")
    next(events)
    events.close()  # type: ignore[attr-defined]
    assert len(chat) == 1
    chat.send(clients["openai"], "m")
    assert len(chat) == 2


def test_a_second_request_at_once_is_refused_and_a_fork_is_not(
    server: Provider, clients: dict[str, Any]
) -> None:
    chat = new()
    server.gate = threading.Event()
    events = chat.stream(clients["openai"], "m")
    next(events)
    with pytest.raises(ConversationBusyError, match="waiting for an answer") as caught:
        chat.send(clients["openai"], "m")
    assert "fork()" in caught.value.remedy
    twin = chat.fork()
    twin.send(clients["openai"], "m")
    assert (len(chat), len(twin)) == (1, 2)
    server.gate.set()
    list(events)
    assert len(chat) == 2


def test_no_step_comes_between_a_request_and_its_answer(server: Provider, clients: dict[str, Any]) -> None:
    chat = new()
    server.gate = threading.Event()
    events = chat.stream(clients["openai"], "m")
    next(events)
    steps = [
        lambda: chat.user("Too early"),
        lambda: chat.assistant("Mine"),
        lambda: chat.tool_result("c", "x"),
        lambda: chat.note("News"),
        lambda: chat.today(date(2031, 3, 4)),
        lambda: chat.mask_tools("f"),
        lambda: chat.add_tools([TOOL]),
        lambda: chat.trim(to_tokens=1, at_tokens=2),
        lambda: chat.compact("Short"),
    ]
    for step in steps:
        with pytest.raises(ConversationBusyError):
            step()
    assert len(chat) == 1
    server.gate.set()
    list(events)
    assert len(chat) == 2


async def test_the_wrong_kind_of_client_is_a_clear_error(server: Provider, clients: dict[str, Any]) -> None:
    chat = new()
    async with aclient("openai", server) as client:
        with pytest.raises(ConversationError, match="is asynchronous"):
            chat.send(client, "m")
    with pytest.raises(ConversationError, match="is synchronous"):
        await chat.asend(clients["openai"], "m")
    with pytest.raises(ConversationError, match="A dict is no client"):
        chat.send({}, "m")
    with pytest.raises(ConversationError, match="does not speak 'anthropic'"):
        chat.send(clients["openai"], "m", api="anthropic")
    assert len(chat) == 1


async def test_what_could_not_be_appended_is_refused_before_it_is_sent(
    server: Provider, clients: dict[str, Any]
) -> None:
    chat = new()
    async with aclient("openai", server) as client:
        with pytest.raises(ConversationError, match=r"is asynchronous.*astream"):
            list(chat.stream(client, "m"))
    with pytest.raises(ConversationError, match="no api 'zzz'"):
        chat.send(clients["openai"], "m", api="zzz")  # type: ignore[arg-type]
    with pytest.raises(ConversationError, match=r"stream\(\)"):
        chat.send(clients["openai"], "m", stream=True)
    for client in (clients["openai"], clients["anthropic"]):
        for raw in (client.with_raw_response, client.with_streaming_response):
            with pytest.raises(ConversationError, match="raw response"):
                chat.send(raw, "m")
    assert server.seen == []
    assert len(chat) == 1


def test_a_google_client_by_its_form() -> None:
    asked: list[dict[str, Any]] = []
    answer = {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hello"}]}}]}

    class Models:
        def generate_content(self, **request: Any) -> Any:
            asked.append(request)
            return answer

        def generate_content_stream(self, **request: Any) -> Any:
            asked.append(request)
            return iter([answer, answer])

    client = type("Client", (), {"models": Models()})()
    chat = new()
    assert chat.send(client, "gemini-3") is answer
    chat.user("Again")
    assert list(chat.stream(client, "gemini-3")) == [answer, answer]
    assert words(chat) == "HelloHello"
    assert [len(request["contents"]) for request in asked] == [1, 3]
    assert asked[0]["config"]["systemInstruction"] == {"parts": [{"text": "Be kind. " * 20}]}
