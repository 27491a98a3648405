"""A request's wish for another protocol (HTTP/2, a WebSocket), left out of its head."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_NAMES = frozenset({b"upgrade", b"http2-settings"})


def without_upgrade(
    method: bytes, target: bytes, version: str, headers: Iterable[tuple[bytes, bytes]]
) -> bytes:
    """The head of a request as it would be without the wish, to the empty line that ends it.

    ``version`` is as ``1.1``, names of ``headers`` are in lower case. What else ``connection`` names stays.
    """
    head = [b"%s %s HTTP/%s" % (method, target, version.encode())]
    for name, value in headers:
        kept = value
        if name == b"connection":
            kept = b", ".join(one for one in value.split(b",") if one.strip().lower() not in _NAMES)
        if name not in _NAMES and kept:
            head.append(b"%s: %s" % (name, kept))
    return b"\r\n".join(head) + b"\r\n\r\n"
