"""Headers of a caller who says the same with every request: what follows from them is found out once.

A client's requests on one connection differ in their length, and hardly ever in another header. What is
found out of them (what goes to the upstream, what is for the gateway) is kept with the connection for as long
as they stay the same, and no longer: a caller's credentials are in no memory that outlives it. What is looked
for is said by those who use this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

Found = TypeVar("Found")
RawHeaders = list[tuple[bytes, bytes]]

_LENGTH = b"content-length"
_MOST_BYTES = 8 * 1024
"""Of a larger head nothing is kept: there may be thousands of idle connections."""
_MOST_FOUND = 16


class KnownHeaders(RawHeaders):
    """A request's headers.

    Attributes:
        found: what was found out of them, the length aside; shared by requests that have the same.
    """

    __slots__ = ("found",)
    found: dict[Hashable, Any]


class LastHeaders:
    """The headers of a connection's last request, its length left out."""

    __slots__ = ("_at", "_found", "_told")

    def __init__(self) -> None:
        self._at = 0
        self._told: RawHeaders = []
        self._found: dict[Hashable, Any] = {}

    def of(self, headers: RawHeaders) -> KnownHeaders:
        """The headers of a new request, with what is known of them where they are the same."""
        at, known = self._at, KnownHeaders(headers)
        if (
            at >= len(headers)
            or headers[at][0] != _LENGTH
            or headers[:at] + headers[at + 1 :] != self._told
            or len(self._found) > _MOST_FOUND
        ):
            self._begin(headers)
        known.found = self._found
        return known

    def _begin(self, headers: RawHeaders) -> None:
        names = [name for name, _ in headers]
        self._found = {}
        self._at, self._told = len(headers), []
        size = sum([len(name) + len(value) for name, value in headers])
        if names.count(_LENGTH) == 1 and size <= _MOST_BYTES:
            at = self._at = names.index(_LENGTH)
            self._told = headers[:at] + headers[at + 1 :]


def once(headers: RawHeaders, what: Hashable, find: Callable[[RawHeaders], Found]) -> Found:
    """What ``find`` finds in headers; not looked for again where it is known by the name ``what``.

    It must follow from ``what`` and the headers alone, and from no length.
    """
    found: dict[Hashable, Any] | None = getattr(headers, "found", None)
    if found is None:
        return find(headers)
    known: Found | None = found.get(what)
    if known is None:
        known = found[what] = find(headers)
    return known
