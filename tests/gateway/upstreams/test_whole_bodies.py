"""Whole answers: what compression leaves of them, and how large they may be."""

from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptcache_gateway.upstreams import whole_bodies
from promptcache_gateway.upstreams.whole_bodies import decompressed


@given(
    parts=st.lists(st.binary(max_size=200_000), min_size=1, max_size=5),
    tail=st.sampled_from([b"", b"\0\0", b"x"]),
)
def test_every_member_of_a_gzip_body_is_read(parts: list[bytes], tail: bytes) -> None:
    body = b"".join([gzip.compress(part, compresslevel=1) for part in parts]) + tail
    assert decompressed(body, " GZIP ") == b"".join(parts)


@given(cut=st.integers(1, 60))
def test_a_torn_member_does_not_pass_for_the_whole(cut: int) -> None:
    first, last = gzip.compress(b"first"), gzip.compress(bytes(range(200)))
    assert decompressed((first + last)[:-cut], "gzip") is None


def test_members_larger_than_a_step_are_read_to_their_ends() -> None:
    noise = bytes([n * n % 251 for n in range(300_000)])
    body = gzip.compress(noise, compresslevel=0) + gzip.compress(b"end")
    assert decompressed(body, "gzip") == noise + b"end"


@pytest.mark.parametrize("members", [1, 3])
def test_what_grows_too_large_is_left_alone(monkeypatch: pytest.MonkeyPatch, members: int) -> None:
    monkeypatch.setattr(whole_bodies, "MAX_WHOLE_BODY", 3_000)
    body = gzip.compress(bytes(3_000 // members)) * members
    assert decompressed(body, "gzip") == bytes(3_000)
    assert decompressed(body + gzip.compress(b"x"), "gzip") is None
    assert decompressed(gzip.compress(bytes(3_001)), "gzip") is None


def test_members_without_end_are_left_alone() -> None:
    assert decompressed(gzip.compress(b"") * 10_000, "gzip") is not None
    assert decompressed(gzip.compress(b"") * 10_001, "gzip") is None


def test_which_compression_is_read() -> None:
    assert decompressed(b"as it is", "") == b"as it is"
    assert decompressed(zlib.compress(b"hi"), "deflate") == b"hi"
    for body, encoding in [
        (b"hi", "br"),
        (b"hi", "gzip"),
        (b"", "gzip"),
        (zlib.compress(b"hi")[:-1], "deflate"),
    ]:
        assert decompressed(body, encoding) is None
