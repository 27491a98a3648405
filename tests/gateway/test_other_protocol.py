"""The wish for another protocol is left out of a head, and nothing else is."""

from __future__ import annotations

import httptools
from hypothesis import given
from hypothesis import strategies as st

from promptcache_gateway.other_protocol import without_upgrade

_OTHERS = st.lists(
    st.tuples(st.sampled_from([b"host", b"accept", b"x-a"]), st.sampled_from([b"1", b"h2c", b"upgrade"])),
    max_size=4,
)
_WISHES = [(b"upgrade", b"h2c"), (b"connection", b"Upgrade, HTTP2-Settings"), (b"http2-settings", b"AAMA")]


class Heard:
    """What a parser hears of a head."""

    def __init__(self) -> None:
        self.url = b""
        self.headers: list[tuple[bytes, bytes]] = []

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name, value))


@given(_OTHERS, _OTHERS)
def test_all_but_the_wish_is_read_as_it_was(
    before: list[tuple[bytes, bytes]], behind: list[tuple[bytes, bytes]]
) -> None:
    heard = Heard()
    parser = httptools.HttpRequestParser(heard)

    parser.feed_data(without_upgrade(b"GET", b"/v1/models?a=b", "1.1", [*before, *_WISHES, *behind]))

    assert (parser.get_method(), heard.url, parser.get_http_version()) == (b"GET", b"/v1/models?a=b", "1.1")
    assert heard.headers == [*before, *behind]
    assert not parser.should_upgrade()


def test_what_else_is_said_of_the_connection_stays() -> None:
    headers = [(b"connection", b"Upgrade, close"), (b"upgrade", b"h2c"), (b"host", b"a")]

    head = without_upgrade(b"POST", b"/", "1.0", headers)

    assert head == b"POST / HTTP/1.0\r\nconnection:  close\r\nhost: a\r\n\r\n"
