"""What is remembered of a request changes nothing of how the next is read."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache_gateway.observe.lookup import telling_keys
from promptcache_gateway.observe.masking import Masker
from promptcache_gateway.observe.pieces import Pieces
from promptcache_gateway.observe.prompt import (
    TRIVIAL_CHARS,
    pieces_of,
    read_prompt,
    share_texts,
)
from promptcache_gateway.observe.reading import PromptReader
from tests.gateway.observe.edited_traffic import EDITS, Edit, edited, first
from tests.gateway.observe.scenes import chat, rules_text


@given(EDITS, st.sampled_from([1, 3, 4_096]))
@settings(max_examples=150)
def test_a_reader_reads_what_is_read_anew(edits: list[Edit], most: int) -> None:
    masker = Masker()
    reader = PromptReader(masker)
    reader._pieces = Pieces(most)
    body = first("m", lines=9)
    before = reader.read(body)
    for edit in edits:
        body = edited(body, edit)
        prompt, anew = reader.read(body), read_prompt(body, masker)
        shared = share_texts(prompt, before)

        assert prompt == shared == anew
        for known, fresh in zip(pieces_of(shared), pieces_of(anew), strict=True):
            assert (known.own, known.text, known.weight) == (fresh.own, fresh.text, fresh.weight)
            assert (known.bounds, known.usual) == (fresh.bounds, fresh.usual)
        before = shared


def test_a_conversation_that_goes_on_is_not_cut_again() -> None:
    reader = PromptReader(Masker())
    talk = [rules_text(30), "Where is it?", "On its way. " * 40, "And then?"]
    before = reader.read(chat(*talk[:2]))

    again = reader.read(chat(*("".join(list(said)) for said in talk)))

    assert [one is other for one, other in zip(before.segments, again.segments, strict=False)] == [True, True]
    assert [one is other for one, other in zip(before.pieces, again.pieces, strict=False)] == [True, True]


def test_pieces_are_bounded_in_number_and_in_bytes() -> None:
    segments = read_prompt(chat(None, *[f"{number}" * 50 for number in range(40)]), Masker()).segments
    few, small = Pieces(most=3), Pieces(most_bytes=500)
    for segment in segments:
        few.of(segment)
        small.of(segment)

    assert len(few) == 3
    assert 0 < len(small) <= 500 // 50
    assert few.of(segments[-1]) is few.of(segments[-1])
    assert few.of(segments[0]) is not None


def test_what_a_segment_holds_beside_its_text_is_counted_too() -> None:
    pieces = Pieces(most_bytes=25_000)
    for number in range(9):
        said = {"role": "assistant", "content": f"{number}", "reasoning_content": "y" * 10_000}
        pieces.of(read_prompt({"messages": [said]}, Masker()).segments[0])

    assert len(pieces) == 2


@given(st.lists(st.sampled_from(["yes", "a message that is long enough to tell"]), max_size=40))
def test_the_first_and_the_last_telling_messages_are_looked_up(said: list[str]) -> None:
    """Four of the first and eight of the last, or all of them where there are no more."""
    prompt = read_prompt(
        chat(rules_text(3), *[f"{text} {number}" for number, text in enumerate(said)]), Masker()
    )
    history = [segment.text for segment in prompt.segments[prompt.head : prompt.turn]]
    telling = [hash(text) for text in history if len(text) >= TRIVIAL_CHARS]

    assert telling_keys(prompt) == (telling if len(telling) <= 12 else telling[:4] + telling[-8:])
