"""How much of a match a sequence may reuse, and what became of the rest of its prompt."""

from dataclasses import dataclass

from promptcache_engine.cache.lease import NO_PAGE, AdmissionReason
from promptcache_engine.cache.plan import pages_of
from promptcache_engine.cache.tokens import UNIT
from promptcache_engine.cache.tree import Match
from promptcache_engine.cache.window import usable_prefix
from promptcache_engine.cache.windows import Windows


@dataclass(frozen=True, slots=True)
class Rules:
    """``page_size`` tokens a page, reused in part or only whole; ``window`` and ``lookahead`` in tokens.

    ``windows``: the pools of those layers that have pages of their own.

    ``recompute``: tokens of every prompt that are computed even where the cache has them all.
    """

    page_size: int
    partial_pages: bool
    window: int | None
    lookahead: int
    recompute: int
    windows: Windows

    def reusable(self, match: Match, limit: int) -> int:
        """Return how many tokens of ``match``, at most ``limit``, can be used."""
        tokens = self._to_granularity(min(match.stored // UNIT - self.lookahead, limit))
        if not tokens or (self.window is None and not self.windows.pools):
            return tokens
        pages = pages_of(match)
        present = [page != NO_PAGE for page in pages]
        while True:
            usable = usable_prefix(present, tokens, self.page_size, self.window)
            if self.windows:
                usable = self.windows.usable(pages, usable)
            usable = self._to_granularity(usable)
            if usable == tokens:
                return usable
            tokens = usable

    def _to_granularity(self, tokens: int) -> int:
        if tokens <= 0:
            return 0
        return tokens if self.partial_pages else tokens - tokens % self.page_size

    def reason(self, match: Match, hit: int, total: int, elsewhere: int) -> AdmissionReason:
        """Account for a prompt of ``total`` tokens, ``hit`` reused, ``elsewhere`` in another namespace."""
        limit = max(total - self.recompute, 0)
        stored, known = match.stored // UNIT, match.known // UNIT
        within = min(known, limit)
        once_usable = usable = self._to_granularity(within)
        if stored < known:
            usable = self._to_granularity(min(stored, limit))
        if hit == usable == within == known and not (elsewhere or self.lookahead):  # nothing to account for
            return AdmissionReason(reused=hit, diverged_at=known if known < total else None, shared=stored)
        ahead = self.lookahead and usable - self._to_granularity(min(stored - self.lookahead, limit))
        evicted = once_usable - usable
        times = [node.evicted_at for node in match.beyond if node.evicted_at is not None] if evicted else ()
        isolated = self._to_granularity(min(elsewhere, limit)) - within if elsewhere else 0
        return AdmissionReason(
            reused=hit,
            evicted=evicted,
            isolated=max(0, isolated),
            granularity=within - once_usable,
            window=usable - ahead - hit,
            diverged_at=known if known < total else None,
            lookahead=ahead,
            shared=stored,
            evicted_at=max(times) if times else None,
        )
