"""What is found out of a connection's headers is kept for the same headers, and for no others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from promptcache_gateway.known_headers import LastHeaders, RawHeaders, once

_NAMES = st.sampled_from([b"content-length", b"authorization", b"accept", b"x-a"])
_HEADERS = st.lists(st.tuples(_NAMES, st.sampled_from([b"1", b"22", b"key"])), max_size=4)


def _without_length(headers: RawHeaders) -> RawHeaders:
    return [header for header in headers if header[0] != b"content-length"]


@given(st.lists(_HEADERS, min_size=2, max_size=6))
def test_what_is_known_is_what_would_be_found(requests: list[RawHeaders]) -> None:
    last = LastHeaders()

    for headers in requests:
        known = last.of(headers)

        assert known == headers
        assert once(known, "rest", _without_length) == _without_length(headers)


def test_it_is_looked_for_once_while_only_the_length_changes() -> None:
    last, looks = LastHeaders(), []

    def look(headers: RawHeaders) -> int:
        looks.append(headers)
        return len(looks)

    told = [(b"host", b"a"), (b"content-length", b"1"), (b"authorization", b"Bearer one")]
    others = [(b"host", b"a"), (b"content-length", b"1"), (b"authorization", b"Bearer other")]
    longer = [told[0], (b"content-length", b"2345"), told[2]]

    assert [once(last.of(one), "look", look) for one in (told, longer, others, told)] == [1, 1, 2, 3]
    assert once(list(told), "look", look) == 4  # of another server's headers nothing is kept


def test_of_a_large_head_nothing_is_kept() -> None:
    last = LastHeaders()
    told = [(b"content-length", b"1"), (b"cookie", b"c" * 9_000)]

    assert last.of(told).found is not last.of(told).found
