"""From what the tree knows of a prompt to what a sequence may reuse of it, and why not more.

Reads the tree, changes nothing: a plan is carried out, or refused, by the cache.
"""

from dataclasses import dataclass

from promptcache_engine.cache.lease import NO_PAGE, AdmissionReason
from promptcache_engine.cache.node import Node
from promptcache_engine.cache.store import PageStore
from promptcache_engine.cache.tokens import UNIT
from promptcache_engine.cache.tree import Match
from promptcache_engine.cache.window import usable_prefix


@dataclass(frozen=True, slots=True)
class Rules:
    """How a match may be used: ``page_size`` tokens a page, whole pages only or to the token, window or
    none."""

    page_size: int
    partial_pages: bool
    window: int | None

    def reusable(self, match: Match, limit: int) -> int:
        """Return how many tokens of ``match``, at most ``limit``, can be used."""
        tokens = self._to_granularity(min(match.stored // UNIT, limit))
        if self.window is None or not tokens:
            return tokens
        present = [page != NO_PAGE for page in pages_of(match)]
        while True:
            usable = self._to_granularity(usable_prefix(present, tokens, self.page_size, self.window))
            if usable == tokens:
                return usable
            tokens = usable

    def _to_granularity(self, tokens: int) -> int:
        return tokens if self.partial_pages else tokens - tokens % self.page_size

    def reason(self, match: Match, hit: int, total: int, elsewhere: int) -> AdmissionReason:
        """Account for the prompt's ``total`` tokens, ``hit`` of them reused, ``elsewhere`` in another
        namespace."""
        limit = total - 1
        known = min(match.known // UNIT, limit)
        usable = self._to_granularity(min(match.stored // UNIT, limit))
        once_usable = self._to_granularity(known)
        evicted = once_usable - usable
        times = [node.evicted_at for node in match.beyond if node.evicted_at is not None] if evicted else []
        return AdmissionReason(
            reused=hit,
            evicted=evicted,
            isolated=max(0, self._to_granularity(min(elsewhere // UNIT, limit)) - known),
            granularity=known - once_usable,
            window=usable - hit,
            diverged_at=None if match.known // UNIT >= total else match.known // UNIT,
            shared=match.stored // UNIT,
            evicted_at=max(times, default=None),
        )


@dataclass(slots=True)
class Plan:
    """How a match becomes a lease.

    ``path`` are the nodes whose pages are shared, the last only over its first ``last_pages`` pages;
    ``shared`` pages in all. ``copied`` tokens of the first page of what follows are copied; ``source`` is
    the node that has that page behind its first ``source_skip`` pages.
    """

    path: list[Node]
    last_pages: int
    shared: int
    copied: int
    source: Node | None
    source_skip: int

    @property
    def unheld(self) -> int:
        """Pages the plan would hold that nobody holds now, the source's included."""
        held = 0
        for node in self.path:
            if not node.locks:
                pages = node.pages[: self.last_pages] if node is self.path[-1] else node.pages
                held += len(pages) - pages.count(NO_PAGE)
        return held + self.source_unheld

    @property
    def source_unheld(self) -> int:
        """1 when there is a page to copy from and nobody holds it."""
        return int(self.source is not None and not self.source.locks)


def make_plan(match: Match, hit: int, page_size: int) -> Plan:
    """Find the nodes and pages that give ``hit`` tokens of ``match``."""
    shared, copied = divmod(hit, page_size)
    plan = Plan([], 0, shared, copied, None, 0)
    left = shared
    for node in match.path:
        if left <= 0:
            if copied:
                plan.source = node
            return plan
        plan.path.append(node)
        plan.last_pages = min(left, len(node.pages))
        if left < len(node.pages):
            if copied:
                plan.source, plan.source_skip = node, left
            return plan
        left -= len(node.pages)
    if copied:
        plan.source = match.sibling
    return plan


def pages_of(match: Match) -> list[int]:
    """Return the pages a match lies in."""
    pages = [page for node in match.path for page in node.pages]
    if match.sibling is not None:
        pages.append(match.sibling.pages[0])
    return pages


def longest_elsewhere(store: PageStore, names: list[Node], data: bytes) -> int:
    """Return how many bytes of ``data`` lie in pages below any of the roots ``names``."""
    return max((store.tree.find(root, data).stored for root in names), default=0)
