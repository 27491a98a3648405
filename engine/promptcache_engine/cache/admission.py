"""From a prompt to a lease: finds what can be reused, decides whether there is room, and takes the pages.

Until it is decided that there is room, nothing is changed.
"""

from dataclasses import replace

from promptcache_engine.cache.hints import NO_HINTS, Hints, Use
from promptcache_engine.cache.lease import AdmissionReason, Lease, PageCopy
from promptcache_engine.cache.namespaces import Namespace
from promptcache_engine.cache.neighbours import Neighbours
from promptcache_engine.cache.node import Node
from promptcache_engine.cache.plan import Plan, make_plan, pages_of
from promptcache_engine.cache.rules import Rules
from promptcache_engine.cache.store import PageStore
from promptcache_engine.cache.tokens import UNIT, shared_bytes
from promptcache_engine.cache.tree import Match


class Admission:
    """Grants leases on the pages of ``store`` by ``rules``."""

    def __init__(self, store: PageStore, rules: Rules, tokens_per_unit: int = 1) -> None:
        self._store = store
        self._rules = rules
        self._tokens_per_unit = tokens_per_unit
        self._neighbours = Neighbours()
        # At the very end the page to copy from can itself become the sequence's page.
        self._may_take_over = rules.window is None and not store.windows.pools

    def admit(
        self,
        data: bytes,
        namespace: str | Namespace,
        *,
        use_cache: bool,
        hints: Hints = NO_HINTS,
        running: tuple[Lease, int] | None = None,
    ) -> Lease | None:
        """Return a lease on pages for all of ``data``; None, and nothing changed, when there are too few.

        ``running``: a running sequence and its computed tokens, to copy what the cache does not have yet.
        """
        store, rules = self._store, self._rules
        total, size = len(data) // UNIT, rules.page_size
        match = store.tree.find(store.tree.roots.get(namespace), data)
        hit = rules.reusable(match, total - rules.recompute) if use_cache else 0
        plan = make_plan(match, hit, size)
        need = -(-total // size) - plan.shared
        free = len(store.pool)
        short = need - free
        if short > 0:
            short -= store.evictable
            if short + plan.shared + 1 > 0:  # otherwise there is room whatever the plan holds
                short += plan.unheld
        if short > 0 and short > (plan.source_unheld if self._may_take_over else 0):
            return None
        if store.windows.pools and not self._windows_have_room(match, plan, hit):
            return None
        if use_cache:
            copied = self._in_common(running, namespace, data) if running is not None else 0
            known = match
            if copied > hit:
                reach = copied * UNIT
                known = replace(match, stored=max(match.stored, reach), known=max(match.known, reach))
            elsewhere = self._longest_elsewhere(known, namespace, data)
            reason = rules.reason(known, max(hit, copied), total, elsewhere)
        else:
            reason = AdmissionReason(reused=0, shared=match.stored // UNIT)
        self._neighbours.seen(namespace, data)
        # One more than the turn that ended where this prompt leaves what is known, if one did.
        turn = hints.turn or (1 if match.end is None or not match.end.turn else match.end.turn + 1)
        lease = self._grant(plan, need, namespace, data, reason, take_over=short > 0)
        if lease.hit > hit and running is not None:
            self._copy_running(lease, running[0], hit)
        new = (total - match.known // UNIT) * self._tokens_per_unit
        lease.use = Use(turn, new, plan.shared, (total - rules.recompute) // size, hints)
        if store.windows.pools:
            store.windows.begin(lease, plan.shared)
        return lease

    def _in_common(self, running: tuple[Lease, int], namespace: str | Namespace, data: bytes) -> int:
        """Return how many tokens of ``data`` can be copied from the pages of a running sequence.

        0 where a window may have left them, or where only whole pages are to be reused.
        """
        other, computed = running
        rules = self._rules
        if rules.windows or rules.window is not None or rules.lookahead or not rules.partial_pages:
            return 0
        if other.namespace != namespace:
            return 0
        common = shared_bytes(other.settle()[: computed * UNIT], data) // UNIT
        return max(min(common, len(data) // UNIT - rules.recompute), 0)

    def _copy_running(self, lease: Lease, other: Lease, have: int) -> None:
        """Have what ``lease`` reuses beyond ``have`` tokens copied from ``other``, which waits for that."""
        size = self._rules.page_size
        lease.copies = [
            PageCopy(other.pages[index], lease.pages[index], min(size, lease.hit - index * size))
            for index in range(have // size, -(-lease.hit // size))
        ]
        lease.parent = other

    def _windows_have_room(self, match: Match, plan: Plan, hit: int) -> bool:
        pages = pages_of(match)[: plan.shared]
        return self._store.windows.has_room(pages, hit, copies=plan.source is not None)

    def fork(self, lease: Lease, computed: int) -> Lease:
        """Return a lease on the first ``computed`` tokens of ``lease``, whose full pages are published; the
        caller knows that there is a page for the rest."""
        store, size = self._store, self._rules.page_size
        full, rest = divmod(computed, size)
        step: Node | None = lease.node
        while step is not None:
            store.lock(step)
            step = step.parent
        pages, copies = lease.pages[:full], list[PageCopy]()
        if rest:
            pages += store.take(1)
            copies.append(PageCopy(lease.pages[full], pages[full], rest))
        reason = AdmissionReason(reused=computed, shared=computed)
        data = lease.settle()[: computed * UNIT]
        fork = Lease(
            lease.namespace, computed, pages, copies, reason, data, lease.node, lease.published, full
        )
        fork.use = lease.use
        fork.parent = lease if copies else None
        if store.windows:
            store.windows.begin(fork, full)
        return fork

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
        lock, node = self._store.lock, root
        pages: list[int] = []
        root.locks += 1  # it has no pages
        for node in self._cut_to_plan(plan):
            lock(node)
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
