"""How answers of the built-in engine end within a call, at a stop string, or because the caller is gone."""

import json
import socket

import anthropic
import openai
import pytest

from tests.gateway.mock_upstream import wait_until
from tests.gateway.plane.exact_engine import MODEL, served_engine
from tests.gateway.serving import Served

ASK = [{"role": "user", "content": "Which lamp?"}]
SCHEMA = {
    "type": "object",
    "properties": {"watts": {"enum": [40]}, "lamp": {"enum": ["floor", "table"]}},
    "required": ["watts", "lamp"],
    "additionalProperties": False,
}
TOOL = {"type": "function", "function": {"name": "switch_on", "description": "On.", "parameters": SCHEMA}}
CLAUDES = {"name": "switch_on", "description": "On.", "input_schema": SCHEMA}
CALLS = {"tools": [TOOL], "tool_choice": "required", "parallel_tool_calls": False, "seed": 1}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory):
    with served_engine(tmp_path_factory.mktemp("data")) as running:
        yield running


@pytest.fixture
def client(served: Served):
    with openai.OpenAI(base_url=f"{served.url}/v1", api_key="unused", max_retries=0, timeout=60) as made:
        yield made


@pytest.fixture
def claude(served: Served):
    with anthropic.Anthropic(base_url=served.url, api_key="unused", max_retries=0, timeout=60) as made:
        yield made


def ended(client: openai.OpenAI, *, stream: bool, **fields) -> tuple[str, str | None, str, list[str]]:
    """Finish reason, stop string, text, and the arguments of the calls."""
    fields = {"model": MODEL, "messages": ASK, "max_tokens": 200, **CALLS, **fields}
    if not stream:
        choice = client.chat.completions.create(**fields).choices[0]
        calls = [call.function.arguments for call in choice.message.tool_calls or []]
        return (
            choice.finish_reason,
            getattr(choice, "stop_reason", None),
            choice.message.content or "",
            calls,
        )
    text, calls, ids = "", [], []
    for chunk in client.chat.completions.create(**fields, stream=True, extra_body={"return_token_ids": True}):
        choice = chunk.choices[0]
        text += choice.delta.content or ""
        ids += getattr(choice, "token_ids", None) or []
        for call in choice.delta.tool_calls or []:
            if call.index == len(calls):
                calls.append("")
            calls[call.index] += call.function.arguments or ""
    assert ids, "the tokens of what is left out are told all the same"
    return choice.finish_reason, getattr(choice, "stop_reason", None), text, calls


@pytest.mark.parametrize("stream", [False, True])
def test_a_stop_string_within_a_call_leaves_the_call_out(client: openai.OpenAI, stream: bool) -> None:
    assert ended(client, stream=stream, stop=["40"]) == ("stop", "40", "", [])
    finish, stop, _, calls = ended(client, stream=stream, stop=["\n\n\n"])
    assert (finish, stop) == ("tool_calls", None)
    assert [json.loads(call)["watts"] for call in calls] == [40]


@pytest.mark.parametrize("stream", [False, True])
def test_a_stop_string_behind_a_call_leaves_it_whole(client: openai.OpenAI, stream: bool) -> None:
    finish, stop, text, calls = ended(client, stream=stream, stop=["]"])
    assert (finish, stop, text) == ("tool_calls", "]", "")
    assert json.loads(calls[0])["watts"] == 40


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("more", [{}, {"stop": ["never"]}], ids=["plain", "stop"])
def test_a_call_that_the_limit_cuts_stays_as_far_as_it_came(
    client: openai.OpenAI, stream: bool, more: dict
) -> None:
    finish, stop, _, calls = ended(client, stream=stream, max_tokens=64, **more)
    assert (finish, stop) == ("length", None)
    assert calls
    assert '{"watts": 40, "lamp": "floor"}'.startswith(calls[0][:20])
    assert not calls[0].endswith("}")


def says(claude: anthropic.Anthropic, *, stream: bool, **fields) -> anthropic.types.Message:
    asked = {"model": MODEL, "messages": ASK, "max_tokens": 200, "tools": [CLAUDES], **fields}
    asked |= {"tool_choice": {"type": "any"}, "extra_body": {"seed": 1}}
    if not stream:
        return claude.messages.create(**asked)
    with claude.messages.stream(**asked) as events:
        return events.get_final_message()


@pytest.mark.parametrize("stream", [False, True])
def test_a_message_names_the_stop_sequence_and_invents_no_argument(
    claude: anthropic.Anthropic, stream: bool
) -> None:
    told = says(claude, stream=stream, stop_sequences=["40"])
    assert (told.stop_reason, told.stop_sequence, told.content) == ("stop_sequence", "40", [])
    for limit, known in ((52, {}), (66, {"watts": 40}), (70, {"watts": 40})):
        told = says(claude, stream=stream, max_tokens=limit)
        assert told.stop_reason == "max_tokens"
        assert told.content[0].input == known
    told = says(claude, stream=stream)
    assert told.stop_reason == "tool_use"
    assert told.content[0].input["lamp"] in {"floor", "table"}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("path", "more"),
    [
        ("/v1/chat/completions", {"messages": ASK, "n": 2, "max_tokens": 1500, "ignore_eos": True}),
        ("/v1/messages", {"messages": ASK, "max_tokens": 1500, "ignore_eos": True}),
    ],
)
def test_what_a_caller_gave_up_is_recorded_with_its_usage(
    served: Served, stream: bool, path: str, more: dict
) -> None:
    engine = served.gateway.upstream.engine
    body = json.dumps({"model": MODEL, "stream": stream, **more}).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {len(body)}\r\n\r\n"
    count = engine.stats().generated_tokens
    with socket.create_connection(("127.0.0.1", int(served.url.rpartition(":")[2]))) as caller:
        caller.sendall(head.encode() + body)
        wait_until(lambda: engine.stats().generated_tokens > count + 8)
    wait_until(lambda: engine.stats().running == 0)

    def last() -> dict:
        return served.get("/promptcache/v1/requests?limit=1").json()["data"][0]

    wait_until(lambda: last()["status"] == 499)
    found = served.get(f"/promptcache/v1/requests/{last()['id']}").json()
    assert found["usage"]["reported"] is True
    assert found["usage"]["prompt_tokens"] > 10
    assert found["usage"]["cached_tokens"] is not None
    assert 1500 > found["usage"]["output_tokens"] > 0
    assert found["ttft_ms"] is not None


def test_what_has_no_counterpart_here_is_named_in_the_record(
    served: Served, claude: anthropic.Anthropic, client: openai.OpenAI
) -> None:
    thinking = {"type": "enabled", "budget_tokens": 1024}
    claude.messages.create(model=MODEL, messages=ASK, max_tokens=4, thinking=thinking)
    assert skipped(served) == ["thinking"]
    client.responses.create(model=MODEL, input="Which?", max_output_tokens=4, truncation="auto")
    assert skipped(served) == ["truncation"]
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(model=MODEL, input="Which? " * 9000, truncation="auto")
    assert caught.value.code == "context_length_exceeded"


def skipped(served: Served) -> list[str]:
    """What the record of the last request says was left out of it."""
    record = served.get("/promptcache/v1/requests?limit=1").json()["data"][0]
    changes = served.get(f"/promptcache/v1/requests/{record['id']}").json()["changes"]
    return [each["path"] for change in changes for each in change["skipped"]]
