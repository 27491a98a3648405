"""Whatever happens in a conversation, its request for turn n begins that for turn n+1, byte for byte."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache.conversation import Conversation
from promptcache.forms.marks import block_at

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
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


answers = st.sampled_from([openai_answer, anthropic_answer, responses_answer])
turns = st.one_of(
    st.tuples(st.just("user"), texts, images, facts),
    st.tuples(st.just("answer"), answers, texts, st.lists(arguments, max_size=3), st.randoms()),
    st.tuples(st.just("note"), texts),
)


def play(chat: Conversation, turn: tuple[Any, ...], tag: int) -> None:
    if turn[0] == "user":
        chat.user(turn[1], *turn[2], **turn[3])
    elif turn[0] == "note":
        chat.note(turn[1])
    else:
        _, make, text, calls, random = turn
        chat.assistant(make(text, calls, tag))
        order = list(range(len(calls)))
        random.shuffle(order)
        for i in order:
            chat.tool_result(f"c{tag}.{i}", {"z": i, "a": text})


def written(chat: Conversation) -> list[str]:
    requests = (chat.to_openai("m"), chat.to_responses("m"), chat.to_anthropic("m", mark=False))
    return [json.dumps(request, ensure_ascii=False).removesuffix("]}") for request in requests]


@settings(deadline=None, max_examples=120)
@given(st.lists(turns, min_size=1, max_size=7))
def test_each_request_begins_the_next(script: list[tuple[Any, ...]]) -> None:
    chat = Conversation("Rules.", tools=[{"name": "f", "input_schema": {}}], template="t")
    before = written(chat)
    for tag, turn in enumerate(script):
        play(chat, turn, tag)
        after = written(chat)
        assert all(new.startswith(old) for old, new in zip(before, after, strict=True))
        before = after


@settings(deadline=None, max_examples=80)
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
