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
from tests.gateway.observe.scenes import rules_text, texts_in

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


def kept(repeats: Repeats, body: dict[str, Any], masker: Masker, tenant: str = "") -> None:
    repeats.keep(body, read_prompt(body, masker), tenant)


def test_beginnings_are_bounded_in_number_and_in_bytes() -> None:
    masker = Masker()
    few, small = Repeats(masker, most=3), Repeats(masker, most_bytes=30_000)
    for number in range(40):
        body = asking("One?", "x" * (50 + number))
        kept(few, body, masker)
        kept(small, body, masker)
        assert small.stored_bytes <= 30_000

    assert len(few) == 3
    assert 8 <= len(small) < 40


LONG = "y" * 100_000


@pytest.mark.parametrize(
    ("larger", "by"),
    [
        (asking(LONG, "Be kind."), 0),
        (asking("One?", "Be kind.", metadata={"a": LONG}, response_format={"type": LONG}), 0),
        (asking("One?", LONG), 200_000),
        (asking("One?", "\U0001f600" + LONG), 800_000),
        (asking("One?", "Be kind.", tools=[{"name": LONG}]), 200_000),
        (asking("One?", "Be kind.", tools=[{"name": "a", "cache_control": {"type": LONG}}]), 200_000),
        (asking("One?", "Be kind.", system=LONG), 200_000),
        (asking("One?", "Be kind.", model=LONG), 100_000),
        (asking("One?", *["x"] * 1_000), 1_000_000),
        (
            {
                "model": "m",
                "messages": [{"role": LONG, "content": "x"}, {"role": "user", "content": "One?"}],
            },
            200_000,
        ),
    ],
    ids=["question", "settings", "text", "wide", "tools", "marks", "system", "model", "many", "role"],
)
def test_all_that_is_kept_of_a_beginning_is_counted(larger: dict[str, Any], by: int) -> None:
    masker = Masker()
    plain, repeats = Repeats(masker), Repeats(masker)
    kept(plain, asking("One?", "Be kind."), masker)
    kept(repeats, larger, masker)

    assert len(repeats) == 1
    more = repeats.stored_bytes - plain.stored_bytes
    assert more == 0 if by == 0 else by - 50 <= more <= 3 * by
    assert by or LONG not in texts_in(repeats)


def test_one_tenant_does_not_push_the_others_out() -> None:
    masker = Masker()
    repeats = Repeats(masker, most=8)
    for tenant in "ab":
        kept(repeats, asking("One?", f"Be kind, {tenant}."), masker, tenant)
    for number in range(40):
        kept(repeats, asking("One?", "x" * number), masker, "busy")

    assert len(repeats) == 8
    for tenant in "ab":
        assert repeats.read(asking("Two?", f"Be kind, {tenant}."), tenant) is not None
    assert repeats.read(asking("Two?", "x" * 39), "busy") is not None
    assert repeats.read(asking("Two?", "x" * 39), "a") is None


def test_a_tenant_is_forgotten_and_no_other() -> None:
    masker = Masker()
    repeats = Repeats(masker)
    for tenant in "ab":
        kept(repeats, asking("One?", "Be kind."), masker, tenant)
    before = repeats.stored_bytes
    repeats.forget("a")
    repeats.forget("nobody")

    assert (len(repeats), repeats.stored_bytes) == (1, before / 2)
    assert repeats.read(asking("Two?", "Be kind."), "a") is None
    assert repeats.read(asking("Two?", "Be kind."), "b") is not None


@pytest.mark.parametrize(("before", "behind"), [(0, 8_000), (4_000, 4_000), (8_000, 0)])
def test_instructions_of_one_length_are_known_side_by_side(before: int, behind: int) -> None:
    masker = Masker()
    repeats = Repeats(masker)
    served = ["x" * before + name + "x" * behind for name in ("Ada", "Eva", "Kim")]
    for text in served:
        kept(repeats, asking("One?", text), masker)

    assert all(repeats.read(asking("Two?", text)) is not None for text in served)


def test_models_that_take_turns_are_known_side_by_side() -> None:
    masker = Masker()
    repeats = Repeats(masker)
    bodies = [asking("One?", "Be kind.", model=model) for model in ("m", "n")]
    for body in bodies:
        kept(repeats, body, masker)

    assert all(repeats.read(body) is not None for body in bodies)
