"""What is found at a glance is what is found by weighing all that could be it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache_gateway.observe import history as module
from promptcache_gateway.observe.glance import repeated
from promptcache_gateway.observe.history import Entry, History, Match
from promptcache_gateway.observe.masking import Masker
from promptcache_gateway.observe.reading import PromptReader
from tests.gateway.observe.scenes import chat, rules_text

if TYPE_CHECKING:
    from collections.abc import Sequence

ROUTES = [("up", "m"), ("up", "n"), ("elsewhere", "m")]
HEADS = [None, "Be kind.", rules_text(20), rules_text(20) + "It is 12:31:05."]
TALKS = [
    (),
    ("Where is my parcel, please?", "On its way to you, as I see."),
    ("Hello there, and good morning!", "Hi."),
]
QUESTIONS = [
    "One?",
    "Where is my parcel, please?",
    "And when will it come to my house?",
    "It is 12:31:07, is it?",
]
TENANTS = ["a", "b"]
Sent = tuple[str, tuple[str, str], int, int, int, int, int]
SENT = st.tuples(
    st.sampled_from(TENANTS),
    st.sampled_from(ROUTES),
    st.integers(0, len(HEADS) - 1),
    st.integers(0, len(TALKS) - 1),
    st.integers(0, len(QUESTIONS) - 1),
    st.integers(0, 1),
    st.integers(0, 200),
)


def replayed(sent: Sequence[Sent], *, glances: bool) -> tuple[list[Any], int]:
    """What history finds for each request, by ids; and for how many it was found at a glance."""
    reader, history = PromptReader(Masker()), History(max_requests=6)
    seen, matches, at, met = [], [], 0.0, 0

    def glance(*given: Any) -> Entry | None:
        nonlocal met
        found = repeated(*given) if glances else None
        met += found is not None
        return found

    with mock.patch.object(module, "repeated", glance):
        for number, (tenant, route, head, talk, question, setting, pause) in enumerate(sent):
            at += pause
            body = chat(HEADS[head], *TALKS[talk], QUESTIONS[question])
            prompt = reader.read({**body, "model": route[1], "verbosity": setting, "temperature": number})
            match = history.find(tenant, "f", prompt, route=route, not_before=at - 300, at=at)
            matches.append(told(match))
            entry = Entry(
                f"r{number}", prompt, route[1], route[0], at, at + 1 if setting else None, lifetime_s=400
            )
            history.add(tenant, "f", entry)
            seen.append(entry)
    return matches, met


def told(match: Match) -> tuple[Any, ...]:
    names = [None if one is None else one.id for one in (match.predecessor, match.living, *match.others)]
    return (
        names,
        match.living_segments,
        match.alive,
        match.pending,
        match.first,
        match.lengths,
        match.gaps,
        (match.shuffled, match.deploy, match.in_turn, match.elsewhere is None),
    )


@given(st.lists(SENT, min_size=2, max_size=14))
@settings(max_examples=200)
def test_a_glance_changes_nothing(sent: list[Sent]) -> None:
    assert replayed(sent, glances=True)[0] == replayed(sent, glances=False)[0]


@pytest.mark.parametrize(
    ("again", "glances"),
    [
        (("a", ROUTES[0], 2, 0, 1, 0, 5), 1),
        (("a", ROUTES[0], 2, 0, 0, 0, 5), 0),  # the very question
        (("a", ROUTES[1], 2, 0, 1, 0, 5), 0),  # another model
        (("a", ROUTES[0], 2, 0, 1, 1, 5), 0),  # other settings
        (("a", ROUTES[0], 2, 1, 0, 0, 5), 0),  # a conversation
        (("a", ROUTES[0], 2, 0, 1, 0, 301), 0),  # too late
        (("b", ROUTES[0], 2, 0, 1, 0, 5), 0),
    ],
)
def test_only_what_repeats_all_but_a_question_is_found_so(again: Sent, glances: int) -> None:
    assert replayed([("a", ROUTES[0], 2, 0, 0, 0, 0), again], glances=True)[1] == glances
