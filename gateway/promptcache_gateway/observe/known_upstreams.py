"""The upstreams that calls may name: what their caches promise, and when they were last emptied."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_gateway.observe.rules import CachedUpstream, CacheRules, rules_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptcache_gateway.exchange import Call, Outcome


class KnownUpstreams:
    """Upstreams by name. One that is not known is judged by what every provider promises."""

    def __init__(self, upstreams: Iterable[CachedUpstream]) -> None:
        self._emptied: dict[str, float] = {}
        self.serve(upstreams)

    def serve(self, upstreams: Iterable[CachedUpstream]) -> None:
        """Know others than before."""
        self._upstreams = {upstream.name: upstream for upstream in upstreams}
        placing = {name: getattr(upstream, "placed", None) for name, upstream in self._upstreams.items()}
        self._placing = {name: placed for name, placed in placing.items() if placed is not None}

    def rules(self, call: Call) -> CacheRules:
        """What the cache promises that a call goes to."""
        upstream = self._upstreams.get(call.upstream)
        if upstream is None:
            return rules_for("unknown", call.model)
        enabled = getattr(upstream, "caching", True)
        return rules_for(upstream.kind, call.model, granularity=upstream.granularity, enabled=enabled)

    def placed(self, call: Call, outcome: Outcome) -> Outcome:
        """The outcome with the replica that took the request, where the upstream is a fleet."""
        placed = self._placing.get(call.upstream)
        return outcome if placed is None else replace(outcome, placement=placed(call.id))

    def was_emptied(self, upstream: str, at: float) -> None:
        """Note that a cache holds nothing any more; ``at`` is Unix time."""
        self._emptied[upstream] = at

    def emptied_at(self, upstream: str) -> float | None:
        """Unix time at which a cache was last emptied on demand, or None."""
        return self._emptied.get(upstream)
