"""From a prompt to a lease: finds what can be reused, decides whether there is room, and takes the pages.

Until it is decided that there is room, nothing is changed.
"""

from promptcache_engine.cache.lease import AdmissionReason, Lease, PageCopy
from promptcache_engine.cache.namespaces import Namespace
from promptcache_engine.cache.neighbours import Neighbours
from promptcache_engine.cache.node import Node
from promptcache_engine.cache.plan import Plan, make_plan
from promptcache_engine.cache.rules import Rules
from promptcache_engine.cache.store import PageStore
from promptcache_engine.cache.tokens import UNIT
from promptcache_engine.cache.tree import Match


class Admission:
    """Grants leases on the pages of ``store`` by ``rules``."""

    def __init__(self, store: PageStore, rules: Rules) -> None:
        self._store = store
        self._rules = rules
        self._neighbours = Neighbours()

    def admit(self, data: bytes, namespace: str | Namespace, *, use_cache: bool) -> Lease | None:
        """Return a lease on pages for all of ``data``; None, and nothing changed, when there are too few."""
        total, size = len(data) // UNIT, self._rules.page_size
        match = self._find(data, namespace)
        hit = self._rules.reusable(match, total - 1) if use_cache else 0
        plan = make_plan(match, hit, size)
        need = -(-total // size) - plan.shared
        short = need - (len(self._store.pool) + self._store.evictable - plan.unheld)
        # At the very end the page to copy from can itself become the sequence's page.
        if short > (plan.source_unheld if self._rules.window is None else 0):
            return None
        if use_cache:
            elsewhere = self._longest_elsewhere(match, namespace, data)
            reason = self._rules.reason(match, hit, total, elsewhere)
        else:
            reason = AdmissionReason(reused=0, shared=match.stored // UNIT)
        self._neighbours.seen(namespace, data)
        return self._grant(plan, need, namespace, data, reason, take_over=short > 0)

    def lookup(self, data: bytes, namespace: str | Namespace, *, touch: bool) -> int:
        """Return how many tokens of ``data`` could be reused; ``touch`` makes them the ones used last."""
        match = self._find(data, namespace)
        found = self._rules.reusable(match, len(data) // UNIT)
        if touch and found:
            self._touch(make_plan(match, found, self._rules.page_size))
        return found

    def clear(self) -> None:
        """Forget which namespaces were seen."""
        self._neighbours.clear()

    def _find(self, data: bytes, namespace: str | Namespace) -> Match:
        tree = self._store.tree
        return tree.find(tree.roots.get(namespace), data)

    def _longest_elsewhere(self, match: Match, namespace: str | Namespace, data: bytes) -> int:
        """Return how many tokens of ``data`` lie ready in another namespace, if that may be more than
        here."""
        tree = self._store.tree
        if match.known == len(data) or len(tree.roots) == (namespace in tree.roots):
            return 0
        suspects = self._neighbours.suspects(namespace, data, tree.roots)
        longest = max((self._find(data, name).stored for name in suspects), default=0)
        return longest // UNIT

    def _grant(
        self,
        plan: Plan,
        need: int,
        namespace: str | Namespace,
        data: bytes,
        reason: AdmissionReason,
        *,
        take_over: bool,
    ) -> Lease:
        store, shared = self._store, plan.shared
        node, pages = self._hold_path(store.tree.root(namespace), plan)
        source = store.hold_page(plan.source) if plan.source is not None else None
        new = store.take(need - take_over)
        copies: list[PageCopy] = []
        if source is not None and take_over:
            new = [*source.pages, *new]
            store.surrender(source)
            source = None
        elif source is not None:
            copies = [PageCopy(source.pages[0], new[0], plan.copied)]
        pages += new
        return Lease(namespace, reason.reused, pages, copies, reason, data, node, shared, shared, source)

    def _hold_path(self, root: Node, plan: Plan) -> tuple[Node, list[int]]:
        """Hold the plan's path from ``root``; return its deepest node and its pages."""
        store, node = self._store, root
        pages: list[int] = []
        store.lock(root)
        for step in self._cut_to_plan(plan):
            node = step
            store.lock(node)
            pages += node.pages
        return node, pages

    def _cut_to_plan(self, plan: Plan) -> list[Node]:
        """Cut the last node of the plan's path where the plan leaves it; return the path."""
        path = plan.path
        if path and plan.last_pages < self._store.tree.num_pages(path[-1]):
            return [*path[:-1], self._store.split(path[-1], plan.last_pages)]
        return path

    def _touch(self, plan: Plan) -> None:
        path = self._cut_to_plan(plan)
        if plan.source is not None:
            source = self._store.hold_page(plan.source)
            self._store.unlock(source)
            path = [*path, source]
        self._store.touch(path)
