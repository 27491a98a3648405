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
PATIENCE = 500
"""Records in a row that fit both readings: whoever counts apart has more cached than new before that."""


class Conventions:
    """What has been shown, by upstream and model."""

    def __init__(self) -> None:
        self._apart: dict[tuple[str, str], int] = {}  # how many records since the last that showed it

    def meant(self, call: Call, usage: Usage) -> Usage:
        """The usage as its upstream means it, as far as is known now."""
        if self._is_unclear(usage) and (call.upstream, call.model) in self._apart:
            return Usage.from_response({"usage": usage.raw}, convention="exclusive")
        return usage

    def read(self, call: Call, usage: Usage) -> Usage:
        """The same of a request that is over; what its record shows holds for the next. Once for each."""
        meant, of = self.meant(call, usage), (call.upstream, call.model)
        if usage.convention == "exclusive":
            if of in self._apart or len(self._apart) < _MOST:
                self._apart[of] = 0
        elif meant is not usage:
            fitting = self._apart.get(of, PATIENCE) + 1  # another thread may have forgotten it just now
            if fitting < PATIENCE:
                self._apart[of] = fitting
            else:  # it was one wrong record
                self._apart.pop(of, None)
        return meant

    def _is_unclear(self, usage: Usage) -> bool:
        return bool(self._apart and usage.cache_read and usage.convention == "inclusive")
