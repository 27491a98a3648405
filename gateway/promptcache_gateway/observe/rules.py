"""What an upstream's cache promises: step, shortest prefix, lifetime.

The numbers are data, because providers change them: models by the SDK's list, kinds of servers by
`rules.json`. An upstream that neither names gets what every provider known so far promises at least,
so that nobody is blamed for less. Prices are `money`'s business.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Protocol

from promptcache.providers import LOOKBACK_BLOCKS, MARK_TTL_S, find_model
from promptcache_gateway.observe.settings import ASKING

if TYPE_CHECKING:
    from promptcache.segments import Segment

_LONGEST_NAME = 256  # a longer one is no model's, and is not worth remembering
_RETENTION_S = {"24h": 86_400.0}


class CachedUpstream(Protocol):
    """What the observer asks of an upstream: its name, its kind and the steps its cache counts in.

    One that reuses no prefix at all says so with an attribute ``caching = False``. One with replicas tells
    with ``placed(call_id)`` which of them took a call (`exchange.Placement`).
    """

    name: str
    kind: str
    granularity: int | None


@dataclass(frozen=True, slots=True)
class CacheRules:
    """What one upstream promises for one model.

    Attributes:
        granularity: cached tokens come in multiples of this many.
        minimum: a shorter prefix is not cached, in tokens.
        lifetime_s: seconds a prefix lives after its last use; None: until it is evicted.
        reports_exactly: the upstream is the built-in engine, which knows what it reused and why not.
        assured: the numbers are this upstream's own, not the least that every provider promises.
        enabled: the upstream reuses prefixes at all.
        marked_only: only what ends at a breakpoint is kept.
        mark_lifetime_s: seconds that what ends at a breakpoint without a lifetime of its own is kept for.
        lookback: segments in which an earlier breakpoint is looked for, a new one's own included.
        modes: a request may ask that nothing be kept but what it marks.
        whole_units: what is kept is found only as a whole: an earlier request, or what two of them shared.
        step: the granularity where it is the upstream's own, else 1.
        on_request: the request itself asked that only what it marks be kept.
        kind: of the upstream.
    """

    granularity: int = 1
    minimum: int = 0
    lifetime_s: float | None = None
    reports_exactly: bool = False
    assured: bool = True
    enabled: bool = True
    marked_only: bool = False
    mark_lifetime_s: float | None = None
    lookback: int = LOOKBACK_BLOCKS
    modes: bool = False
    whole_units: bool = False
    step: int = 1
    on_request: bool = False
    kind: str = "unknown"

    @property
    def kept_s(self) -> float:
        """Seconds that what a request leaves in the cache is kept for; infinite: until it is evicted."""
        return math.inf if self.lifetime_s is None else self.lifetime_s

    def promised(self, tokens: float) -> int:
        """What of ``tokens`` must be cached: whole steps, nothing below the minimum."""
        whole = int(tokens) // self.granularity * self.granularity
        return whole if whole >= self.minimum and whole > 0 else 0

    def possible(self, tokens: float) -> int:
        """What of ``tokens`` may be cached: of numbers that are not the upstream's own none holds it back."""
        if self.assured:
            return self.promised(tokens)
        return max(0, int(tokens)) // self.step * self.step


def rules_for(kind: str, model: str, *, granularity: int | None = None, enabled: bool = True) -> CacheRules:
    """The rules of an upstream of some kind (``"engine"``, ``"openai"``, ``"vllm"``…) for a model.

    ``granularity`` is what the upstream itself says, and wins; ``enabled`` False: it reuses nothing.
    """
    return _rules(kind, model if len(model) <= _LONGEST_NAME else "", granularity, enabled=enabled)


@lru_cache(maxsize=512)
def _rules(kind: str, model: str, granularity: int | None, *, enabled: bool) -> CacheRules:
    table = _table()
    facts = find_model(model) if kind not in table else None
    row = table.get(kind, table["unknown"])
    rules = CacheRules(
        granularity=granularity or row["granularity"],
        minimum=row["minimum"],
        lifetime_s=row["lifetime_s"],
        reports_exactly=kind == "engine",
        assured=kind in table and kind != "unknown",
        enabled=enabled,
        step=granularity or 1,
        kind=kind,
    )
    if facts is None:
        return rules
    minimum = facts.min_tokens if facts.min_tokens is not None else facts.min_tokens_at_most
    lifetime_s = float(facts.ttl_s[0]) if facts.ttl_s else rules.lifetime_s
    return replace(
        rules,
        granularity=granularity or facts.step or rules.granularity,
        step=granularity or facts.step or 1,
        minimum=rules.minimum if minimum is None else minimum,
        lifetime_s=lifetime_s,
        assured=facts.min_tokens is not None,
        marked_only=facts.provider == "anthropic" and facts.control == "marks",
        mark_lifetime_s=lifetime_s,
        modes=facts.control == "both",
        whole_units=facts.whole_units,
    )


def with_marks(rules: CacheRules, segments: Sequence[Segment], parameters: Mapping[str, Any]) -> CacheRules:
    """The rules with what the request itself asked for: a longer lifetime, nothing kept but what it marks."""
    asked = [ttl_of(segment.breakpoint) for segment in segments if segment.breakpoint is not None]
    if not asked and not rules.modes and ASKING.isdisjoint(parameters):
        return rules
    options = parameters.get("prompt_cache_options")
    if rules.modes and isinstance(options, Mapping) and options.get("mode") == "explicit":
        rules = replace(rules, marked_only=True, lookback=1, on_request=True)
    if "prompt_cache_options" in parameters:
        asked.append(ttl_of(options))
    if "prompt_cache_retention" in parameters:
        asked.append(_RETENTION_S.get(str(parameters["prompt_cache_retention"]), 0.0))
    longest = max(asked, default=0.0)
    if rules.lifetime_s is None or longest <= rules.lifetime_s:
        return rules
    return replace(rules, lifetime_s=longest)


def ttl_of(mark: object) -> float:
    """Seconds that a breakpoint asks for; 0 where it leaves that to the provider."""
    return float(MARK_TTL_S.get(str(mark.get("ttl")), 0)) if isinstance(mark, Mapping) else 0.0


@cache
def _table() -> dict[str, Any]:
    text = files("promptcache_gateway.observe").joinpath("rules.json").read_text(encoding="utf-8")
    table: dict[str, Any] = json.loads(text)
    return table
