"""What is known of a beginning changes nothing of how a question behind it is read."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache_gateway.observe.masking import Masker
from promptcache_gateway.observe.prompt import Prompt, pieces_of, read_prompt
from promptcache_gateway.observe.reading import PromptReader
from promptcache_gateway.observe.repeats import Repeats
from tests.gateway.observe.scenes import rules_text

TEXTS = st.sampled_from(
    ["", "Yes.", "Where is my parcel, please?", "Wo ist mein Päckchen hin? \ud800", "x" * 40]
)
MODELS = st.sampled_from(["m", "claude-sonnet-4-5", "gpt-4o"])
ROLES = st.sampled_from(["system", "developer", "user", "assistant", "tool"])
CONTENTS: st.SearchStrategy[Any] = st.one_of(
    TEXTS, TEXTS.map(lambda text: [{"type": "text", "text": text}]), st.none()
)
MESSAGES = st.fixed_dictionaries({"role": ROLES, "content": CONTENTS}, optional={"name": TEXTS})
QUESTIONS = st.one_of(TEXTS.map(lambda text: {"role": "user", "content": text}), MESSAGES)
MARK = {"type": "ephemeral"}
BESIDE: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "temperature": st.sampled_from([1, 1.0, True]),
        "tools": st.sampled_from(
            [[], [{"name": "a", "n": 1}], [{"name": "a", "n": 1.0}], [{"n": 1, "name": "a"}]]
        ),
        "system": st.sampled_from(
            ["Be kind.", [{"type": "text", "text": "Be kind.", "cache_control": MARK}]]
        ),
        "cache_control": st.just(MARK),
        "input": TEXTS,
    },
)


@given(
    st.lists(MESSAGES, max_size=3),
    st.lists(st.tuples(MODELS, BESIDE, QUESTIONS), min_size=2, max_size=5),
    st.booleans(),
)
@settings(max_examples=200)
def test_a_request_is_read_as_if_it_were_the_first(
    beginning: list[dict[str, Any]], asked: list[tuple[str, dict[str, Any], dict[str, Any]]], plain: bool
) -> None:
    masker = Masker()
    reader = PromptReader(masker)
    if plain:
        beginning = [{"role": "system", "content": rules_text(30)}, *beginning[1:]]
    for model, beside, question in asked:
        body = {"model": model, "messages": [*map(dict, beginning), question], **beside}
        assert told(reader.read(body)) == told(read_prompt(body, masker))


def told(prompt: Prompt) -> tuple[Any, ...]:
    """All that is said of a prompt, that of its pieces and the types of its numbers included."""
    pieces = [(piece.own, piece.text, piece.weight, piece.bounds, piece.usual) for piece in pieces_of(prompt)]
    marks = [segment.breakpoint for segment in prompt.segments]
    return prompt, pieces, marks, repr(prompt.parameters), repr(prompt.segments)


def asking(question: str, *before: str, **more: Any) -> dict[str, Any]:
    messages = [{"role": "system", "content": text} for text in before]
    return {"model": "m", "messages": [*messages, {"role": "user", "content": question}], **more}


def test_a_beginning_that_came_before_is_not_read_again() -> None:
    masker = Masker()
    repeats = Repeats(masker)
    first = asking("One?", "Be kind.", tools=[{"name": "a"}])
    assert repeats.read(first) is None
    before = read_prompt(first, masker)
    repeats.keep(first, before)

    again = repeats.read(asking("Two?", "Be kind.", tools=[{"name": "a"}], temperature=0.5))

    assert again is not None
    assert [one is other for one, other in zip(before.segments, again.segments, strict=True)] == [
        True,
        True,
        False,
    ]


@pytest.mark.parametrize(
    "body",
    [
        asking("Two?"),
        asking("Two?", "Be rude."),
        asking("Two?", "Be kind.", model="n"),
        asking("Two?", "Be kind.", tools=None),
        asking("Two?", "Be kind.", cache_control=MARK),
        {**asking("Two?", "Be kind."), "messages": [{"role": "system", "content": "Be kind."}, None]},
        {"model": "m", "input": "Two?"},
    ],
)
def test_what_has_another_form_or_beginning_is_left_alone(body: dict[str, Any]) -> None:
    masker = Masker()
    repeats = Repeats(masker)
    first = asking("One?", "Be kind.")
    repeats.keep(first, read_prompt(first, masker))
    assert repeats.read(body) is None


def test_beginnings_are_bounded_in_number_and_in_characters() -> None:
    masker = Masker()
    few, small = Repeats(masker, most=3), Repeats(masker, most_chars=500)
    for number in range(40):
        body = asking("One?", "x" * (50 + number))
        for repeats in (few, small):
            repeats.keep(body, read_prompt(body, masker))

    assert (len(few), len(small)) == (3, 5)
