"""Everything a diagnosis may rest on, gathered before the answer comes.

A plain value: what was sent, what it was compared with, what the upstream's cache promises, and the
times. The upstream's counters and the engine's facts join it when they are known.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from promptcache.quick_values import quick

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptcache_gateway.observe.comparison import Comparison
    from promptcache_gateway.observe.history import Match
    from promptcache_gateway.observe.prompt import Prompt
    from promptcache_gateway.observe.rules import CacheRules

Counts = tuple[int | None, int | None]

Finding = TypeVar("Finding")


class Examined(Protocol):
    """What keeps its findings."""

    @property
    def found(self) -> dict[Any, Any]:
        """What has been found out of it, by who found it."""


Whole = TypeVar("Whole", bound=Examined)


def found_once(find: Callable[[Whole], Finding]) -> Callable[[Whole], Finding]:
    """Have what rests on evidence alone, and on no count, found out once: before the answer as a rule."""

    @wraps(find)
    def known(evidence: Whole) -> Finding:
        try:
            finding: Finding = evidence.found[find]
        except KeyError:
            finding = evidence.found[find] = find(evidence)
        return finding

    return known


@quick
@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a request before its answer.

    Attributes:
        prompt: the request, cut; None where its shape is unknown.
        match: what history found, None where the prompt is.
        comparison: the request against its predecessor, None where there is none.
        rules: what the upstream's cache promises.
        route: upstream and model.
        received_at: Unix time at which the request came in.
        emptied_at: Unix time at which the upstream's cache was last emptied on demand, or None.
        use_cache: False where the caller opted out.
        living: what was sent of the request that is known to be alive, as it was when this was gathered.
        found: what has been found out of it, by who found it.
    """

    prompt: Prompt | None
    match: Match | None
    comparison: Comparison | None
    rules: CacheRules
    route: tuple[str, str]
    received_at: float
    emptied_at: float | None
    use_cache: bool
    living: Prompt | None = None
    found: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def idle_s(self) -> float | None:
        """Seconds since the predecessor's prefix was last used, None without a predecessor."""
        if self.match is None or self.match.predecessor is None:
            return None
        return max(0.0, self.received_at - self.match.predecessor.last_used)

    @property
    def counts(self) -> Counts:
        """Tokens of the predecessor and of what is known to be alive, as far as they have been counted."""
        match = self.match
        if match is None:
            return None, None
        best, living = match.predecessor, match.living
        return (
            None if best is None else best.prompt_tokens,
            None if living is None else living.prompt_tokens,
        )

    @property
    def is_stale(self) -> bool:
        """Whether the predecessor, or what is alive, went out as another request than the comparison's."""
        match, comparison = self.match, self.comparison
        if match is None or match.predecessor is None or comparison is None:
            return False
        if match.living is not None and match.living.prompt is not self.living:
            return True
        return match.predecessor.prompt is not comparison.earlier

    @property
    def kept_s(self) -> float:
        """Seconds that the predecessor's prefix is kept for: no longer than both requests asked for."""
        own = self.rules.kept_s
        if self.match is None or self.match.predecessor is None:
            return own
        return min(own, self.match.predecessor.lifetime_s)
