"""A conversation that grows by a turn extends the bytes of the one before, in every direction and process."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache_gateway.translate.chat_to_messages import chat_to_messages
from promptcache_gateway.translate.flavor import BY_BLOCKS, ENGINE, LENIENT, STRICT
from promptcache_gateway.translate.messages_to_chat import messages_to_chat
from promptcache_gateway.translate.responses_to_chat import responses_to_chat
from promptcache_gateway.translate.seals import sealed
from tests.gateway.translate.test_odd_requests import CHAT, MESSAGES, RESPONSES

if TYPE_CHECKING:
    from collections.abc import Callable

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
PICTURE = "data:image/png;base64,AAAA"
SOURCE = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
MARK = {"type": "ephemeral"}
ARGUMENTS = st.dictionaries(WORDS, WORDS | st.integers(0, 99) | st.booleans(), max_size=3)
Turn = tuple[list[dict[str, Any]], list[dict[str, Any]]]
"""What is asked, and what is answered."""


def marked(part: dict[str, Any], yes: bool) -> dict[str, Any]:
    return {**part, "cache_control": MARK} if yes else part


@st.composite
def chat_turn(draw: st.DrawFn, number: int) -> Turn:
    parts = [
        {"type": "text", "text": draw(WORDS) or "x"},
        {"type": "image_url", "image_url": {"url": PICTURE}},
    ]
    content = draw(st.sampled_from([parts[0]["text"], parts[:1], parts]))
    asked: list[dict[str, Any]] = [{"role": "user", "content": content}]
    if draw(st.booleans()):
        asked.append({"role": "system", "content": draw(WORDS) or "x"})
    calls = [
        {
            "id": f"c{number}_{at}",
            "type": "function",
            "function": {"name": "t", "arguments": json.dumps(arguments)},
        }
        for at, arguments in enumerate(draw(st.lists(ARGUMENTS, max_size=2)))
    ]
    answered: list[dict[str, Any]] = []
    if calls:
        said = draw(st.sampled_from([None, "", "so"]))
        answered.append({"role": "assistant", "content": said, "tool_calls": calls})
        results = draw(st.lists(WORDS, min_size=len(calls), max_size=len(calls)))
        for call, result in zip(calls, results, strict=True):
            answered.append({"role": "tool", "tool_call_id": call["id"], "content": result})
    last = {"role": "assistant", "content": draw(WORDS) or "x"}
    if draw(st.booleans()):
        last["thinking_blocks"] = [{"type": "thinking", "thinking": "hm", "signature": "s"}]
    return asked, [*answered, last]


@st.composite
def message_turn(draw: st.DrawFn, number: int) -> Turn:
    text = marked({"type": "text", "text": draw(WORDS)}, draw(st.booleans()))
    image = {"type": "image", "source": SOURCE}
    asked = [{"role": "user", "content": draw(st.sampled_from(["hm", [text], [text, image]]))}]
    uses = [
        {"type": "tool_use", "id": f"c{number}_{at}", "name": "t", "input": arguments}
        for at, arguments in enumerate(draw(st.lists(ARGUMENTS, max_size=2)))
    ]
    thought = {"type": "thinking", "thinking": "hm", "signature": draw(st.sampled_from(["", "s"]))}
    answered: list[dict[str, Any]] = []
    if uses:
        answered.append({"role": "assistant", "content": [thought, *uses]})
        results = [
            marked(
                {
                    "type": "tool_result",
                    "tool_use_id": use["id"],
                    "content": draw(st.sampled_from(["", "r", [text], [image], [text, image], []])),
                },
                draw(st.booleans()),
            )
            for use in uses
        ]
        answered.append({"role": "user", "content": [*results, *([text] if draw(st.booleans()) else [])]})
    return asked, [*answered, {"role": "assistant", "content": [thought, {"type": "text", "text": "a"}]}]


@st.composite
def response_turn(draw: st.DrawFn, number: int) -> Turn:
    text = {"type": "input_text", "text": draw(WORDS) or "x"}
    image = {"type": "input_image", "image_url": PICTURE}
    asked = [{"role": "user", "content": draw(st.sampled_from(["hm", [text], [text, image]]))}]
    blocks = [{"type": "thinking", "thinking": "hm", "signature": "s"}]
    thought = {"type": "reasoning", "id": "r", "content": [{"type": "reasoning_text", "text": "hm"}]}
    if draw(st.booleans()):
        thought["encrypted_content"] = sealed(blocks)
    answered: list[dict[str, Any]] = [thought]
    arguments = draw(st.lists(ARGUMENTS, max_size=2))
    for at, one in enumerate(arguments):
        call = {"call_id": f"c{number}_{at}", "name": "t", "arguments": json.dumps(one)}
        answered.append({"type": "function_call", **call})
        answered += [thought] if draw(st.booleans()) else []
    answered += [
        {
            "type": "function_call_output",
            "call_id": f"c{number}_{at}",
            "output": draw(st.sampled_from(["", "r", [text], [image], [text, image]])),
        }
        for at in range(len(arguments))
    ]
    return asked, [*answered, {"role": "assistant", "content": [{"type": "output_text", "text": "a"}]}]


@st.composite
def conversation(draw: st.DrawFn, turn: Callable[[int], st.SearchStrategy[Turn]]) -> list[Turn]:
    return [draw(turn(number)) for number in range(draw(st.integers(2, 4)))]


def requests(turns: list[Turn]) -> list[list[dict[str, Any]]]:
    """What is sent, turn by turn: all that was said so far, and what is asked now."""
    said: list[dict[str, Any]] = []
    sent = []
    for asked, answered in turns:
        sent.append([*said, *asked])
        said += [*asked, *answered]
    return sent


def assert_grows(bodies: list[dict[str, Any]]) -> None:
    for body, following in itertools.pairwise(bodies):
        earlier, later = orjson.dumps(body), orjson.dumps(following)
        end = b"]}]}" if isinstance(body["messages"][-1]["content"], list) else b"]}"
        assert earlier.endswith(end)
        assert later.startswith(earlier[: -len(end)])


TOOLS = [{"type": "function", "function": {"name": "t", "parameters": {"type": "object"}}}]


@settings(max_examples=60, deadline=None)
@given(conversation(chat_turn))
def test_chats_to_messages(turns: list[Turn]) -> None:
    head = {"role": "system", "content": "Be terse."}
    assert_grows(
        [chat_to_messages({"messages": [head, *sent], "tools": TOOLS}, "m") for sent in requests(turns)]
    )


@pytest.mark.parametrize("flavor", [LENIENT, STRICT, ENGINE])
@settings(max_examples=40, deadline=None)
@given(turns=conversation(message_turn))
def test_messages_to_chats(turns: list[Turn], flavor: Any) -> None:
    head = {"system": [{"type": "text", "text": "s", "cache_control": MARK}], "max_tokens": 9}
    assert_grows([messages_to_chat({**head, "messages": sent}, "m", flavor) for sent in requests(turns)])


@pytest.mark.parametrize("flavor", [LENIENT, STRICT, ENGINE])
@settings(max_examples=40, deadline=None)
@given(turns=conversation(response_turn))
def test_responses_to_chats(turns: list[Turn], flavor: Any) -> None:
    head = {"instructions": "s", "max_output_tokens": 9}
    assert_grows([responses_to_chat({**head, "input": sent}, "m", flavor) for sent in requests(turns)])


@settings(max_examples=60, deadline=None)
@given(conversation(response_turn))
def test_responses_to_messages(turns: list[Turn]) -> None:
    bodies = [responses_to_chat({"input": sent}, "m", BY_BLOCKS) for sent in requests(turns)]
    assert_grows([chat_to_messages(body, "m") for body in bodies])


IN_A_PROCESS = """
import sys, orjson
from promptcache_gateway.errors import ApiError
from promptcache_gateway.translate.chat_to_messages import chat_to_messages
from promptcache_gateway.translate.flavor import LENIENT
from promptcache_gateway.translate.messages_to_chat import messages_to_chat
from promptcache_gateway.translate.responses_to_chat import responses_to_chat
chat, message, response = orjson.loads(sys.stdin.buffer.read())
for translated in (
    chat_to_messages(chat, "m"),
    messages_to_chat(message, "m", LENIENT),
    responses_to_chat(response, "m", LENIENT),
):
    print(orjson.dumps(translated))
refused = dict.fromkeys(("functions", "logprobs", "container", "mcp_servers", "prompt", "background"), [1])
for translate, payload in (
    (lambda payload: chat_to_messages(payload, "m"), chat),
    (lambda payload: messages_to_chat(payload, "m", LENIENT), message),
    (lambda payload: responses_to_chat(payload, "m", LENIENT), response),
):
    try:
        translate({**payload, **refused})
    except ApiError as error:
        print(error.param)
"""


def test_every_process_says_the_same() -> None:
    """Whatever the seed of its hashes: what is sent, and which of several faults is named."""
    extra = {name: name for name in "zyxwvutsrq"}
    message = {**MESSAGES, **extra, "messages": MESSAGES["messages"][:2]}
    asked = json.dumps([{**CHAT, **extra}, message, {**RESPONSES, **extra}])
    said = set()
    for seed in ("1", "2", "3"):
        done = subprocess.run(
            [sys.executable, "-c", IN_A_PROCESS],
            env={**os.environ, "PYTHONHASHSEED": seed},
            input=asked,
            capture_output=True,
            text=True,
            check=True,
        )
        said.add(done.stdout)
    (lines,) = said
    assert lines.splitlines()[3:] == ["logprobs", "mcp_servers", "prompt"]
