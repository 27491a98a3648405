"""Upstreams that count cached tokens beside the prompt's, once they have shown it.

Most figures fit two readings. One record with more cached than prompt tokens shows how its upstream counts,
and the next ones of the same model are read so, too, though their figures alone would not tell. How figures
are read is the SDK's business (`promptcache.usage`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache.usage import Usage

if TYPE_CHECKING:
    from promptcache_gateway.exchange import Call

_MOST = 1_000
"""Models, which callers may name as they like."""


class Conventions:
    """What has been shown, by upstream and model."""

    def __init__(self) -> None:
        self._apart: set[tuple[str, str]] = set()

    def read(self, call: Call, usage: Usage) -> Usage:
        """The usage as its upstream means it."""
        if usage.convention == "exclusive":
            if len(self._apart) < _MOST:
                self._apart.add((call.upstream, call.model))
        elif self._apart and usage.cache_read and usage.convention == "inclusive":
            return self._read_again(call, usage)
        return usage

    def _read_again(self, call: Call, usage: Usage) -> Usage:
        if (call.upstream, call.model) not in self._apart:
            return usage
        return Usage.from_response({"usage": usage.raw}, convention="exclusive")
