"""The counters of a cache: where its pages are, and how much of what was asked for it had."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CacheStats:
    """A snapshot. Pages: ``free + cached + held`` is the pool; ``held`` are in use, ``cached`` wait to be
    reused.

    Tokens: ``queries`` prompt tokens of first admissions, ``hits`` those reused, ``shared`` those in common
    with something cached whether reusable or not; ``preempted_*`` the same for sequences admitted again.
    Sequences that may not use the cache are not counted, and neither are forks.
    """

    free: int
    cached: int
    held: int
    queries: int = 0
    hits: int = 0
    shared: int = 0
    preempted_queries: int = 0
    preempted_hits: int = 0
    evicted_pages: int = 0

    @property
    def hit_rate(self) -> float | None:
        """Reused share of the first admissions' prompt tokens, 0 to 1; None while nothing was asked."""
        return self.hits / self.queries if self.queries else None


@dataclass(slots=True)
class AdmissionCounter:
    """Counts admissions that succeeded and may use the cache; a refused one asked for nothing yet."""

    queries: int = 0
    hits: int = 0
    shared: int = 0
    preempted_queries: int = 0
    preempted_hits: int = 0

    def record(self, queries: int, hits: int, *, shared: int = 0, preempted: bool = False) -> None:
        """Count one admission of ``queries`` prompt tokens, ``hits`` of them reused."""
        if preempted:
            self.preempted_queries += queries
            self.preempted_hits += hits
        else:
            self.queries += queries
            self.hits += hits
            self.shared += shared

    def snapshot(self, free: int, cached: int, held: int, evicted_pages: int) -> CacheStats:
        """Return the counters beside the state of the pool."""
        return CacheStats(
            free=free,
            cached=cached,
            held=held,
            queries=self.queries,
            hits=self.hits,
            shared=self.shared,
            preempted_queries=self.preempted_queries,
            preempted_hits=self.preempted_hits,
            evicted_pages=evicted_pages,
        )
