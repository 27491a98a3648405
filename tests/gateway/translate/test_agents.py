"""Agents with the real clients over the other API: a turn that thinks and calls, and the next."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import anthropic
import openai
import orjson
import pytest

from promptcache_gateway.settings import Settings, UpstreamSettings
from tests.gateway.anthropic_wire import START, USAGE, event
from tests.gateway.mock_upstream import CHAT, MockUpstream, Wire, answer_chat, mock_upstream
from tests.gateway.serving import serve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

THOUGHTS = [
    {"type": "thinking", "thinking": "Two cities.", "signature": "sig/1=="},
    {"type": "redacted_thinking", "data": "sealed"},
]
USES = [
    {"type": "tool_use", "id": f"toolu_{at}", "name": "weather", "input": {"city": city, "é": 1.5}}
    for at, city in enumerate(("Oslo", "Rome"))
]
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}}
QUESTION = "What is the weather in Oslo and Rome?"


async def answer_thinking(wire: Wire) -> None:
    """Claude thinks and calls twice; once there are results, it says so."""
    asked = json.loads(wire.seen.body)
    blocks: list[dict[str, Any]] = [*THOUGHTS, *USES]
    reason = "tool_use"
    if len(asked["messages"]) > 1:
        blocks, reason = [{"type": "text", "text": "Both are fine."}], "end_turn"
    if not asked.get("stream"):
        await wire.respond(orjson.dumps({**START, "content": blocks, "stop_reason": reason, "usage": USAGE}))
        return
    events = [event("message_start", message=START)]
    for index, block in enumerate(blocks):
        events += events_of(index, block)
    end = {"stop_reason": reason, "stop_sequence": None}
    events.append(event("message_delta", delta=end, usage={"output_tokens": 5}))
    await wire.events(*events, event("message_stop"))


def events_of(index: int, block: dict[str, Any]) -> list[bytes]:
    begun = {name: "" if name in {"thinking", "signature", "text"} else block[name] for name in block}
    deltas: list[dict[str, Any]] = []
    if block["type"] == "tool_use":
        begun["input"] = {}
        written = json.dumps(block["input"])
        deltas = [{"type": "input_json_delta", "partial_json": part} for part in (written[:9], written[9:])]
    for name in ("thinking", "text", "signature"):
        if name in block:
            deltas.append({"type": f"{name}_delta", name: block[name]})
    return [
        event("content_block_start", index=index, content_block=begun),
        *(event("content_block_delta", index=index, delta=delta) for delta in deltas),
        event("content_block_stop", index=index),
    ]


@pytest.fixture
def claude() -> Iterator[MockUpstream]:
    with mock_upstream(answer_thinking) as server:
        yield server


@pytest.fixture
def client(claude: MockUpstream, tmp_path: Path) -> Iterator[openai.OpenAI]:
    upstream = UpstreamSettings(url=claude.url, kind="anthropic")
    with (
        serve(Settings(upstream=upstream, data_dir=tmp_path)) as served,
        openai.OpenAI(base_url=f"{served.url}/v1", api_key="k", max_retries=0, timeout=20) as made,
    ):
        yield made


def assert_goes_on(claude: MockUpstream) -> None:
    """The second request has the first as its prefix, the answer as it was said, and the results."""
    first, second = (seen.body for seen in claude.seen)
    assert second.replace(b'"stream":true,', b"").startswith(
        first.replace(b'"stream":true,', b"")[: -len(b"]}")]
    )
    _, said, results = json.loads(second)["messages"]
    assert said == {"role": "assistant", "content": [*THOUGHTS, *USES]}
    assert results["content"] == [
        {"type": "tool_result", "tool_use_id": use["id"], "content": "mild"} for use in USES
    ]


@pytest.mark.parametrize("streamed", [False, True])
def test_openai_s_chats_over_claude(client: openai.OpenAI, claude: MockUpstream, streamed: bool) -> None:
    tool = {"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}
    ask: dict[str, Any] = {"model": "claude-x", "tools": [tool]}
    turns: list[Any] = [{"role": "user", "content": QUESTION}]
    if streamed:
        with client.chat.completions.stream(**ask, messages=turns) as stream:
            made = stream.get_final_completion()
    else:
        made = client.chat.completions.create(**ask, messages=turns)
    (choice,) = made.choices
    assert (choice.finish_reason, choice.message.content or None) == ("tool_calls", None)
    calls = choice.message.tool_calls or []
    assert [json.loads(call.function.arguments) for call in calls] == [use["input"] for use in USES]
    turns.append(choice.message.to_dict())
    turns += [{"role": "tool", "tool_call_id": call.id, "content": "mild"} for call in calls]
    assert (
        client.chat.completions.create(**ask, messages=turns).choices[0].message.content == "Both are fine."
    )
    assert_goes_on(claude)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("kept", [False, True])
def test_openai_s_responses_over_claude(
    client: openai.OpenAI, claude: MockUpstream, streamed: bool, kept: bool
) -> None:
    ask: dict[str, Any] = {
        "model": "claude-x",
        "tools": [{"type": "function", "name": "weather", "parameters": SCHEMA}],
        "store": kept,
    }
    question = {"role": "user", "content": QUESTION}
    if streamed:
        with client.responses.stream(**ask, input=[question]) as stream:
            first = stream.get_final_response()
    else:
        first = client.responses.create(**ask, input=[question])
    assert [item.type for item in first.output] == ["reasoning", "function_call", "function_call"]
    results: list[Any] = [
        {"type": "function_call_output", "call_id": item.call_id, "output": "mild"}
        for item in first.output
        if item.type == "function_call"
    ]
    if kept:
        second = client.responses.create(**ask, previous_response_id=first.id, input=results)
    else:
        said = [item.to_dict() for item in first.output]
        second = client.responses.create(**ask, input=[question, *said, *results])
    assert second.output_text == "Both are fine."
    assert_goes_on(claude)


def test_what_responses_cannot_say_to_claude_is_named_where_it_stands(
    client: openai.OpenAI, claude: MockUpstream
) -> None:
    items = [
        {"role": "user", "content": "Hi"},
        {"type": "function_call", "call_id": "c", "name": "t", "arguments": "[1"},
        {"type": "function_call_output", "call_id": "c", "output": "r"},
    ]
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(model="claude-x", instructions="Be terse.", input=items)  # type: ignore[arg-type]
    assert caught.value.param == "input[1].arguments"
    assert "'input[1].arguments'" in caught.value.message
    with pytest.raises(openai.BadRequestError, match=r"'reasoning\.effort'"):
        client.responses.create(model="claude-x", input="Hi", reasoning={"effort": "minimal"})
    assert claude.seen == []


@pytest.fixture
def chat() -> Iterator[MockUpstream]:
    with mock_upstream(answer_chat) as server:
        yield server


@pytest.fixture
def over_chat(chat: MockUpstream, tmp_path: Path) -> Iterator[anthropic.Anthropic]:
    with (
        serve(Settings(upstream=UpstreamSettings(url=chat.url), data_dir=tmp_path)) as served,
        anthropic.Anthropic(base_url=served.url, api_key="k", max_retries=0, timeout=20) as made,
    ):
        yield made


def test_a_call_that_was_forced_ends_the_turn_as_a_call(
    over_chat: anthropic.Anthropic, chat: MockUpstream
) -> None:
    """OpenAI ends it with 'stop'; loops of Anthropic's callers go on where it says 'tool_use'."""
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}

    async def script(wire: Wire) -> None:
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        await wire.respond(orjson.dumps({**CHAT, "choices": [choice]}))

    chat.script = script
    made = over_chat.messages.create(
        model="m",
        max_tokens=9,
        tools=[{"name": "weather", "input_schema": SCHEMA, "strict": True}],
        tool_choice={"type": "tool", "name": "weather"},
        output_config={"effort": "low"},
        messages=[{"role": "user", "content": QUESTION}, {"role": "assistant", "content": "Let me see:"}],
    )
    assert made.stop_reason == "tool_use"
    sent = json.loads(chat.last.body)
    assert sent["tool_choice"] == {"type": "function", "function": {"name": "weather"}}
    assert (sent["tools"][0]["function"]["strict"], sent["reasoning_effort"]) == (True, "low")
    assert (sent["continue_final_message"], sent["add_generation_prompt"]) == (True, False)
