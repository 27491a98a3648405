"""A memory of messages: what is cut with it is what is cut without."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache.known_messages import KnownMessages
from promptcache.segments import Segment, cut_request

TEXTS = st.sampled_from(["", "yes", "é" * 300, "a" * 300, "a" * 299 + "b", "a" * 150 + "c" + "a" * 149])
CONTENTS = st.one_of(
    TEXTS,
    st.none(),
    TEXTS.map(lambda text: [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]),
)
MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant"]), "content": CONTENTS},
    optional={"name": TEXTS, "cache_control": st.just({"type": "ephemeral"})},
)
BODIES = st.fixed_dictionaries(
    {"messages": st.lists(MESSAGES, max_size=4)}, optional={"cache_control": st.just({"type": "ephemeral"})}
)


@given(
    st.lists(BODIES, min_size=1, max_size=6), st.sampled_from([1, 4_096]), st.sampled_from([10, 4_000_000])
)
@settings(max_examples=200)
def test_what_is_known_changes_no_segment(bodies: list[dict[str, Any]], most: int, most_chars: int) -> None:
    known: KnownMessages[Segment] = KnownMessages(most, most_chars)
    for body in bodies:
        assert cut_request(body, known) == cut_request(body)
        assert len(known) <= most


def test_a_message_that_comes_again_is_the_same_object() -> None:
    known: KnownMessages[Segment] = KnownMessages()
    body = {"messages": [{"role": "user", "content": "x" * 1_000}, {"role": "assistant", "content": "short"}]}
    other = {"messages": [{"role": "user", "content": "x" * 999 + "y"}, *body["messages"][1:]]}
    first, again, changed = (cut_request(one, known) for one in (body, body, other))

    assert all(one is two for one, two in zip(first, again, strict=True))
    assert changed[0] is not first[0]
    assert changed[1] is first[1]


def test_the_texts_it_keeps_are_bounded() -> None:
    known: KnownMessages[Segment] = KnownMessages(most_chars=110)
    for number in range(20):
        cut_request({"messages": [{"role": "user", "content": f"{number:030}"}]}, known)
    assert len(known) == 3


def test_roles_count_as_what_is_said_does() -> None:
    known: KnownMessages[Segment] = KnownMessages(most_chars=100)
    for number in range(20):
        cut_request({"messages": [{"role": f"{number:040}", "content": "Yes."}]}, known)
    assert len(known) == 2


def test_nothing_is_known_after_it_was_cleared() -> None:
    known: KnownMessages[Segment] = KnownMessages(most_chars=100)
    body = {"messages": [{"role": "user", "content": "x" * 80}]}
    first = cut_request(body, known)
    known.clear()
    assert len(known) == 0
    assert cut_request(body, known)[0] is not first[0]
    assert len(known) == 1
