"""Text streams: whole characters, stop strings across any cut, nothing taken back."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptcache_engine.detokenizer import CharacterBuffer, StopMatcher, TextStream


def run_matcher(pieces: list[str], stops: list[str]) -> tuple[str, str | None]:
    matcher = StopMatcher(stops)
    sent = ""
    for piece in pieces:
        result = matcher.push(piece)
        sent += result.text
        if result.stop is not None:
            return sent, result.stop
    return sent + matcher.flush(), None


def cut(text: str, places: list[int]) -> list[str]:
    edges = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[a:b] for a, b in pairwise(edges)]


def test_a_character_comes_only_when_its_last_byte_does() -> None:
    buffer = CharacterBuffer()
    assert [buffer.push(bytes([byte])) for byte in "é🙂".encode()] == ["", "é", "", "", "", "🙂"]


def test_bytes_that_are_no_text_become_replacement_characters() -> None:
    buffer = CharacterBuffer()
    assert buffer.push(b"a\xff") + buffer.push(b"\xe2\x82") + buffer.push(b"b") == "a�" + "�b"


@given(st.text(max_size=40), st.lists(st.integers(0, 200), max_size=8))
def test_cutting_the_bytes_anywhere_loses_nothing(text: str, places: list[int]) -> None:
    data = text.encode()
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    buffer = CharacterBuffer()
    assert "".join(buffer.push(data[a:b]) for a, b in pairwise(edges)) == text


@pytest.mark.parametrize(
    ("pieces", "stops", "sent", "stop"),
    [
        (["one END two"], ["END"], "one ", "END"),
        (["one E", "N", "D two"], ["END"], "one ", "END"),
        (["one E", "N", "O"], ["END"], "one ENO", None),
        (["EEND"], ["END"], "E", "END"),
        (["one EN"], ["END"], "one EN", None),
        (["ab", "c", "d"], ["abcd", "bc"], "a", "bc"),
        (["xabc"], ["c", "abc"], "x", "abc"),
        (["a\n", "\nb"], ["\n\n"], "a", "\n\n"),
        (["END"], ["END"], "", "END"),
        (["text"], [], "text", None),
    ],
)
def test_stop_strings(pieces: list[str], stops: list[str], sent: str, stop: str | None) -> None:
    assert run_matcher(pieces, stops) == (sent, stop)


def test_text_is_sent_as_soon_as_it_cannot_be_part_of_a_stop_string() -> None:
    matcher = StopMatcher(["stop"])
    assert [matcher.push(piece).text for piece in ("a", "s", "t", "x", "st", "s")] == [
        "a",
        "",
        "",
        "stx",
        "",
        "st",
    ]
    assert matcher.flush() == "s"
    assert matcher.flush() == ""


@given(
    st.text(alphabet="ab", max_size=30),
    st.lists(st.text(alphabet="ab", min_size=1, max_size=5), min_size=1, max_size=3),
    st.lists(st.integers(0, 60), max_size=10),
)
def test_where_the_text_is_cut_changes_nothing(text: str, stops: list[str], places: list[int]) -> None:
    sent, stop = run_matcher(cut(text, places), stops)
    assert (sent, stop) == run_matcher(list(text), stops)
    if stop is None:
        assert sent == text
        assert not any(candidate in text for candidate in stops)
    else:
        assert text.startswith(sent + stop)
        seen = sent + stop
        assert not any(candidate in seen[:-1] for candidate in stops)


def test_a_stream_joins_bytes_and_stops() -> None:
    stream = TextStream(lambda token: bytes([token]), ["🙂"])
    results = [stream.push(byte) for byte in "né🙂".encode()]
    assert "".join(result.text for result in results) == "né"
    assert [result.stop for result in results] == [None] * 6 + ["🙂"]


def test_a_stream_leaves_out_a_character_that_was_cut_off() -> None:
    stream = TextStream(lambda token: bytes([token]), [])
    sent = "".join(stream.push(byte).text for byte in "a🙂".encode()[:-1])
    assert sent + stream.flush() == "a"
