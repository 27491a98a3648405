"""Whatever happens in a conversation, its request for turn n begins that for turn n+1, byte for byte."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache.conversation import Conversation
from promptcache.forms.marks import block_at

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
said = texts.filter(lambda text: bool(text.strip()))  # an answer without words is refused
facts = st.dictionaries(st.sampled_from(["now", "place"]), st.integers() | texts, max_size=2)
images = st.lists(st.sampled_from([b"\xff\xd8\xffa", b"\x89PNG\r\n\x1a\nb", "attached"]), max_size=2)
arguments = st.dictionaries(texts, st.integers() | texts, max_size=3)


def openai_answer(text: str, calls: list[dict[str, Any]], tag: int) -> Any:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {
                "id": f"c{tag}.{i}",
                "type": "function",
                "function": {"name": "f", "arguments": json.dumps(call)},
            }
            for i, call in enumerate(calls)
        ]
    return {"choices": [{"message": message}]}


def anthropic_answer(text: str, calls: list[dict[str, Any]], tag: int) -> Any:
    thinking = {"type": "thinking", "thinking": "…", "signature": "s"}
    uses = [
        {"type": "tool_use", "id": f"c{tag}.{i}", "name": "f", "input": call} for i, call in enumerate(calls)
    ]
    return {
        "type": "message",
        "role": "assistant",
        "content": [thinking, {"type": "text", "text": text}, *uses],
    }


def responses_answer(text: str, calls: list[dict[str, Any]], tag: int) -> Any:
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    items = [
        {"type": "function_call", "call_id": f"c{tag}.{i}", "name": "f", "arguments": json.dumps(call)}
        for i, call in enumerate(calls)
    ]
    return {"output": [{"type": "reasoning", "id": "r", "summary": []}, said, *items]}


def gemini_answer(text: str, calls: list[dict[str, Any]], tag: int) -> Any:
    uses = [
        {"functionCall": {"id": f"c{tag}.{i}", "name": "f", "args": call}} for i, call in enumerate(calls)
    ]
    parts = [{"text": "…", "thought": True}, {"text": text, "thoughtSignature": "s"}, *uses]
    return {"candidates": [{"content": {"role": "model", "parts": parts}}]}


answers = st.sampled_from([openai_answer, anthropic_answer, responses_answer, gemini_answer])
turns = st.one_of(
    st.tuples(st.just("user"), texts, images, facts),
    st.tuples(st.just("answer"), answers, said, st.lists(arguments, max_size=3), st.randoms()),
    st.tuples(st.just("note"), texts),
    st.tuples(st.just("mask"), st.booleans()),
)


def play(chat: Conversation, turn: tuple[Any, ...], tag: int) -> None:
    if turn[0] == "user":
        chat.user(turn[1], *turn[2], **turn[3])
    elif turn[0] == "note":
        chat.note(turn[1])
    elif turn[0] == "mask":
        chat.mask_tools(*(["f"] if turn[1] else []))
    else:
        _, make, text, calls, random = turn
        chat.assistant(make(text, calls, tag))
        order = list(range(len(calls)))
        random.shuffle(order)
        for i in order:
            chat.tool_result(f"c{tag}.{i}", {"z": i, "a": text})


def written(chat: Conversation, model: str) -> list[str]:
    """Each request as JSON up to the end of its messages; marks and what stands behind left out."""
    requests = [
        chat.to_openai(model),
        chat.to_responses(model),
        chat.to_anthropic(model, mark=False),
        chat.to_gemini(model),
    ]
    for request in requests:
        request.pop("tool_choice", None)
        request.get("config", {}).pop("toolConfig", None)
    return [json.dumps(request, ensure_ascii=False).removesuffix("]}") for request in requests]


@pytest.mark.parametrize("model", ["m", "gpt-5.6", "gemini-3"])
@settings(max_examples=100)
@given(script=st.lists(turns, min_size=1, max_size=7))
def test_each_request_begins_the_next(script: list[tuple[Any, ...]], model: str) -> None:
    chat = Conversation("Rules. " * 500, tools=[{"name": "f", "input_schema": {}}], template="t")
    chat.user("begin")
    before = written(chat, model)
    for tag, turn in enumerate(script):
        play(chat, turn, tag)
        after = written(chat, model)
        assert all(new.startswith(old) for old, new in zip(before, after, strict=True))
        before = after


@settings(max_examples=60)
@given(st.lists(turns, min_size=1, max_size=7), st.sampled_from(["m", "gpt-5.6"]))
def test_no_message_flips_between_text_and_parts(script: list[tuple[Any, ...]], model: str) -> None:
    chat = Conversation("Rules. " * 500)
    seen: list[type] = []
    for tag, turn in enumerate(script):
        play(chat, turn, tag) if turn[0] != "mask" else None
        messages = [type(one["content"]) for one in chat.to_openai(model)["messages"]]
        assert messages[: len(seen)] == seen
        seen = messages
    for request in (chat.to_anthropic("m"), chat.to_anthropic("m", mark=False)):
        assert all(isinstance(one["content"], list) for one in request["messages"])


@settings(max_examples=80)
@given(st.lists(turns, min_size=1, max_size=7))
def test_marks_are_few_well_placed_and_no_content(script: list[tuple[Any, ...]]) -> None:
    chat = Conversation("Rules.", tools=[{"name": "f", "input_schema": {}}])
    for tag, turn in enumerate(script):
        play(chat, turn, tag)
    marked, plain = chat.to_anthropic("m", static_ttl="1h"), chat.to_anthropic("m", mark=False)
    points = chat.breakpoints
    ttls = [block_at(marked, point.path).pop("cache_control").get("ttl") for point in points]
    assert marked == plain
    assert 1 <= len(points) <= 4
    assert ttls == sorted(ttls, key=lambda ttl: ttl is None)
    assert all(
        block_at(plain, point.path)["type"] != "thinking" for point in points if "messages" in point.path
    )
