"""Events go through byte for byte, in whatever pieces they come; usage is noticed in passing."""

import itertools
import re

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptcache_gateway.upstreams import event_relay
from promptcache_gateway.upstreams.event_relay import MAX_PARTIAL_EVENT, EventRelay

USAGE = {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 0}}


def data(payload: object, end: bytes = b"\n\n") -> bytes:
    return b"data: " + orjson.dumps(payload) + end


def chunk(text: str, **more: object) -> dict[str, object]:
    return {"id": "chatcmpl-7", "choices": [{"index": 0, "delta": {"content": text}}], **more}


OPENAI = [
    b": ping\n\n",
    data(chunk("Hel", usage=None)),
    b"event: odd\r\n"
    + data(chunk('"usage": {} \n lo', extra={"unknown": 12345678901234567890}), b"\r\n\r\n"),
    data({"id": "chatcmpl-7", "choices": [], "usage": USAGE}),
    b"data: [DONE]\n\n",
]
LITELLM = [
    data(chunk("Hi")),
    data({"choices": [{"index": 0, "delta": {}}], "usage": USAGE}),
    b"data: [DONE]\n\n",
]
LINE_ENDS = (b"\n", b"\r", b"\r\n")
BLANK_LINES = [one + two for one in LINE_ENDS for two in LINE_ENDS if one + two != b"\r\n"]
LAST_WITH_TEXT = [data(chunk("Hi", usage=USAGE)), b"data: [DONE]\n\n"]


def relay(
    pieces: list[bytes], *, withhold: bool = False, most: int = MAX_PARTIAL_EVENT
) -> tuple[bytes, EventRelay]:
    state = EventRelay(withhold_usage=withhold, max_partial=most)
    out = b"".join(state.feed(piece) for piece in pieces)
    return out + state.finish(), state


@pytest.mark.parametrize("events", [OPENAI, LITELLM, LAST_WITH_TEXT])
def test_bytes_pass_unchanged_and_usage_is_noticed(events: list[bytes]) -> None:
    out, state = relay(events)
    assert out == b"".join(events)
    assert [seen["usage"] for seen in state.chunks] == [USAGE]


@pytest.mark.parametrize("events", [OPENAI, LITELLM])
def test_the_chunk_the_gateway_asked_for_is_withheld_and_nothing_else(events: list[bytes]) -> None:
    out, state = relay(events, withhold=True)
    assert out == b"".join(event for event in events if b"prompt_tokens" not in event)
    assert state.chunks[-1]["usage"] == USAGE


def test_usage_on_a_chunk_with_text_is_not_withheld() -> None:
    out, state = relay(LAST_WITH_TEXT, withhold=True)
    assert out == b"".join(LAST_WITH_TEXT)
    assert state.chunks[-1]["usage"] == USAGE


def test_usage_beside_the_finish_reason_is_not_withheld() -> None:
    events = [data({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": USAGE})]
    assert relay(events, withhold=True)[0] == events[0]


@given(cuts=st.lists(st.integers(0, 600), max_size=12), withhold=st.booleans())
def test_where_the_network_cuts_makes_no_difference(cuts: list[int], withhold: bool) -> None:
    whole = b"".join(OPENAI)
    edges = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]
    pieces = [whole[start:end] for start, end in itertools.pairwise(edges)]
    out, state = relay(pieces, withhold=withhold)
    assert out == relay(OPENAI, withhold=withhold)[0]
    assert state.chunks[-1]["usage"] == USAGE
    assert state.response_id == "chatcmpl-7"


@pytest.mark.parametrize("withhold", [False, True])
@pytest.mark.parametrize("end", BLANK_LINES)
def test_a_blank_line_of_any_line_ends_is_the_end_of_an_event(end: bytes, withhold: bool) -> None:
    events = [data(chunk("a"), end), data({"choices": [], "usage": USAGE}, end), b"data: [DONE]" + end]
    passed = [b"" if withhold and b"usage" in event else event for event in events]
    whole, expected = b"".join(events), b"".join(passed)
    for cut in range(len(whole)):
        state = EventRelay(withhold_usage=withhold)
        assert state.feed(whole[:cut]) + state.feed(whole[cut:]) == expected, (
            "nothing waits for the stream's end"
        )
        assert state.finish() == b""
        assert [seen["usage"] for seen in state.chunks] == [USAGE]
    state = EventRelay(withhold_usage=withhold)
    for event, out in zip(events, passed, strict=True):
        assert b"".join(state.feed(event[at : at + 1]) for at in range(len(event))) == out


class Drip(bytes):
    """A piece that counts the bytes that are copied to put it behind others."""

    copied = 0

    def __radd__(self, before: bytes) -> bytes:
        Drip.copied += len(before) + len(self)
        return bytes(before) + bytes(self)


class Looking:
    """A pattern that counts the bytes it looks through."""

    def __init__(self, pattern: re.Pattern[bytes]) -> None:
        self.pattern, self.bytes = pattern, 0

    def __getattr__(self, name: str) -> object:
        def look(data: bytes) -> object:
            self.bytes += len(data)
            return getattr(self.pattern, name)(data)

        return look


@pytest.mark.parametrize(
    ("size", "most", "end", "waits"),
    [
        (1, 11, b"\n\n", MAX_PARTIAL_EVENT),
        (2, 8, b"\n\n", MAX_PARTIAL_EVENT),
        (2, 8, b"\r\r", MAX_PARTIAL_EVENT),
        (1000, 5, b"\n\r\n", MAX_PARTIAL_EVENT),
        (2, 8, b"\n\r\n", 4000),
    ],
)
def test_an_event_that_drips_in_costs_no_more_than_its_length(
    monkeypatch: pytest.MonkeyPatch, size: int, most: int, end: bytes, waits: int
) -> None:
    looking = {name: Looking(getattr(event_relay, name)) for name in ("_BOUNDARY", "_NOTABLE", "_ID")}
    for name, pattern in looking.items():
        monkeypatch.setattr(event_relay, name, pattern)
    monkeypatch.setattr(Drip, "copied", 0)
    whole = data(chunk("x" * 20_000), end) * 3
    out, _ = relay([Drip(whole[at : at + size]) for at in range(0, len(whole), size)], most=waits)
    assert out == whole
    looked = sum(pattern.bytes for pattern in looking.values())
    assert Drip.copied + looked < most * len(whole)


def test_whole_events_are_not_held_back() -> None:
    state = EventRelay(withhold_usage=True)
    first = data(chunk("a"))
    assert state.feed(first + b"data: {") == first
    assert state.feed(b'"id"') == b""
    assert state.feed(b":1}\n\n") == b'data: {"id":1}\n\n'


@pytest.mark.parametrize("end", BLANK_LINES)
def test_an_event_too_large_to_wait_for_goes_through_in_parts(end: bytes) -> None:
    """And what it ends with is its own, in whatever pieces; the next event is one again."""
    large, last = b"data: " + b"x" * 70 + b"\n", data({"choices": [], "usage": USAGE}, end)
    for size in (1, 2, 300):
        state = EventRelay(withhold_usage=True, max_partial=64)
        assert state.feed(large) == large
        tail = b"data: end" + end
        for at in range(0, len(tail), size):
            assert state.feed(tail[at : at + size]) == tail[at : at + size]
        assert state.feed(last[:40]) == b""
        assert state.feed(last[40:] + large) == large
        assert state.chunks[-1]["usage"] == USAGE
        assert state.feed(b"end" + end + last[:40]) == b"end" + end
        assert state.feed(last[40:]) == state.finish() == b""
        assert len(state.chunks) == 2


@pytest.mark.parametrize("rest", [b"\n", b"\r\n", b"\r"])
def test_an_empty_line_more_is_no_event(rest: bytes) -> None:
    assert relay([data(chunk("a")), rest])[0] == data(chunk("a")) + rest


def test_the_last_usage_wins_and_an_explicit_zero_counts() -> None:
    later = {**USAGE, "prompt_tokens_details": {"cached_tokens": 0}}
    earlier = {**USAGE, "prompt_tokens_details": {"cached_tokens": 5}}
    _, state = relay(
        [data(chunk("a", usage=earlier)), data(chunk("b", usage=None)), data(chunk("", usage=later))]
    )
    assert state.chunks[-1]["usage"] == later


def test_an_error_event_is_noticed_and_passed_on() -> None:
    event = data({"error": {"message": "overloaded", "code": "server_overloaded"}})
    out, state = relay([event])
    assert out == event
    assert state.error == "server_overloaded"


@pytest.mark.parametrize(("end", "whole"), [(b"", b"\n\n"), (b"\n", b"\n\n"), (b"\r", b"\r\n\n")])
def test_a_stream_without_a_last_blank_line_is_complete_all_the_same(end: bytes, whole: bytes) -> None:
    out, state = relay([data(chunk("a")), data({"choices": [], "usage": USAGE}, end=end)])
    assert out.endswith(b"}" + whole)
    assert state.chunks


@pytest.mark.parametrize("junk", [b'data: {"usage": {broken\n\n', b"\x00\xff\n\n", b"data: [1]\n\n"])
def test_junk_passes_through(junk: bytes) -> None:
    assert relay([junk], withhold=True)[0] == junk
