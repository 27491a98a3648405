"""Of the two shapes that Anthropic reads alike one is made, and of nothing else."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptcache.segments import Segment, cut_request
from promptcache_gateway.observe.masking import Masker
from promptcache_gateway.observe.prompt import Prompt, read_prompt
from promptcache_gateway.observe.read_alike import read_alike
from promptcache_gateway.observe.reading import PromptReader

MODEL = "anthropic/claude-sonnet-4.5"


def text(content: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": content, **more}


def result(content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": "t[1]", "content": content, **more}


def body(said: str, told: str, *, lists: bool, model: str = MODEL) -> dict[str, Any]:
    """A request, its texts as strings or as lists of one."""

    def shaped(content: str) -> Any:
        return [text(content, cache_control={"type": "ephemeral"})] if lists else content

    call = {"type": "tool_use", "id": "t[1]", "name": "lookup", "input": {"content": [text(said)]}}
    return {
        "model": model,
        "system": shaped(said),
        "messages": [
            {"role": "user", "content": shaped(said)},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result(shaped(told), is_error=False)]},
        ],
    }


def settled(request: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one.place, one.text) for one in read_alike(request, cut_request(request))]


@given(st.text(max_size=40), st.text(max_size=40))
def test_both_shapes_come_to_one(said: str, told: str) -> None:
    prompts = [read_prompt(body(said, told, lists=lists), Masker()) for lists in (False, True)]

    assert prompts[0].exact == prompts[1].exact
    assert prompts[0].offsets == prompts[1].offsets
    assert prompts[0].segments[-1].breakpoint is None
    assert prompts[1].segments[-1].breakpoint == {"type": "ephemeral"}
    assert json.loads(prompts[1].segments[-1].body)["content"] == told


def test_paths_are_those_that_were_sent() -> None:
    request = body("Hello.", "It is here.", lists=False)

    found: tuple[Segment, ...] = read_alike(request, cut_request(request))

    assert [one.path for one in found[:2]] == ["system", "messages[0]"]
    assert [one.place for one in found[:2]] == ["system[0]", "messages[0].content[0]"]


@pytest.mark.parametrize("model", ["gpt-5", "model-a", None])
def test_elsewhere_everything_stays_as_it_came(model: str | None) -> None:
    for lists in (False, True):
        request = {**body("Hello.", "It is here.", lists=lists), "model": model}
        assert read_alike(request, cut_request(request)) == cut_request(request)


@pytest.mark.parametrize(
    "content",
    [
        [text("One."), text("Two.")],
        [],
        [text("One.", citations={"enabled": True})],
        [{"type": "image", "source": {"type": "url", "url": "https://example.com/x.png"}}],
    ],
)
def test_a_list_of_anything_else_is_a_list(content: list[Any]) -> None:
    request = {"model": MODEL, "messages": [{"role": "user", "content": [result(content)]}]}

    assert read_alike(request, cut_request(request)) == cut_request(request)


def test_what_looks_like_a_result_is_none() -> None:
    said = f"It returned {json.dumps(result([text('x')]))}."
    request = {"model": MODEL, "messages": [{"role": "user", "content": [text(said)]}]}

    assert settled(request) == [("messages[0].content[0]", f"user\n{said}")]


def test_tool_calls_beside_a_text_keep_their_places() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "lookup", "arguments": "{}"}}
    said = {"role": "assistant", "content": "I look.", "tool_calls": [call]}
    request = {"model": MODEL, "messages": [{"role": "user", "content": "Where?"}, said]}

    assert [place for place, _ in settled(request)] == [
        "messages[0].content[0]",
        "messages[1].content[0]",
        "messages[1].tool_calls[0]",
    ]


def test_a_reader_that_knows_the_messages_tells_models_apart() -> None:
    masker, requests = (
        Masker(),
        [body("Hello.", "It is here.", lists=False, model=name) for name in (MODEL, "m")],
    )
    reader = PromptReader(masker)
    alone: list[Prompt] = [read_prompt(copy.deepcopy(request), masker) for request in requests]

    for _ in range(2):
        for request, expected in zip(requests, alone, strict=True):
            assert reader.read(request).exact == expected.exact
    assert alone[0].exact != alone[1].exact
