"""A target is cut the same way whether it is kept or not."""

from __future__ import annotations

import httptools
import pytest

from promptcache_gateway.request_target import cut_target


@pytest.mark.parametrize(
    ("target", "parts"),
    [
        (b"/v1/models", ("/v1/models", b"/v1/models", b"")),
        (b"/v1/a%20b?c=%20", ("/v1/a b", b"/v1/a%20b", b"c=%20")),
        (b"http://elsewhere:1/v1?x", ("/v1", b"/v1", b"x")),
        (b"/" + b"a" * 300 + b"?q", ("/" + "a" * 300, b"/" + b"a" * 300, b"q")),
    ],
)
def test_path_and_query(target: bytes, parts: tuple[str, bytes, bytes]) -> None:
    assert [cut_target(target), cut_target(target)] == [parts, parts]


@pytest.mark.parametrize("target", [b"/\xff", b"no target", b"/\xff" + b"a" * 300])
def test_what_is_no_target_raises_each_time(target: bytes) -> None:
    for _ in range(2):
        with pytest.raises((httptools.HttpParserError, UnicodeDecodeError)):
            cut_target(target)
