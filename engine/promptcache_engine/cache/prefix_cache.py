"""The prefix cache: which pages a sequence gets, and which tokens it need not compute.

Pure bookkeeping over token ids and page numbers; it holds no tensor and moves no data. The runner owns the
slots and performs the copies a lease asks for. Not thread-safe: one thread owns a cache.
"""

import time
from collections.abc import Callable, Iterable

from promptcache_engine.cache.admission import Plan, Rules, longest_elsewhere, make_plan
from promptcache_engine.cache.audit import audit
from promptcache_engine.cache.errors import CacheConfigError, InvalidTokensError, LeaseError
from promptcache_engine.cache.events import CacheEvent
from promptcache_engine.cache.lease import AdmissionReason, Lease, PageCopy
from promptcache_engine.cache.namespaces import Namespace
from promptcache_engine.cache.neighbours import Neighbours
from promptcache_engine.cache.node import Node
from promptcache_engine.cache.policies import create_policy
from promptcache_engine.cache.stats import AdmissionCounter, CacheStats
from promptcache_engine.cache.store import PageStore
from promptcache_engine.cache.tokens import UNIT, ExtraKey, Tokens, shared_bytes
from promptcache_engine.cache.tree import Match


class PrefixCache:
    """Pages of KV for running sequences, shared and kept by their tokens.

    ``num_pages`` pages of ``page_size`` tokens. ``partial_pages``: reuse to the exact token by copying the
    matching part of the next page; False reuses whole pages only. ``window``: the model's sliding window in
    tokens, when *all* of its layers have one. ``clock``: seconds, for what depends on time.

    ``share_on_admission`` decides when the full pages of a *running* prompt can be matched by others. True:
    as soon as it is admitted; right for simulations and for runners that compute every admitted prompt to
    its end before a later one reads it. False: when the runner says they are computed, with ``publish``; a
    runner that computes prompts in chunks, or several at once, needs this, or it would read pages nobody
    has written.

    ``remember_tokens``: how many evicted tokens are remembered to explain misses (default: four times the
    pool). ``event_limit``: pages that may wait in ``events()``; 0 turns events off. Raises CacheConfigError
    for values that cannot work.
    """

    def __init__(  # noqa: PLR0917 - the public signature
        self,
        num_pages: int,
        page_size: int,
        policy: str = "lru",
        partial_pages: bool = True,  # noqa: FBT001, FBT002 - as above
        window: int | None = None,
        clock: Callable[[], float] | None = None,
        *,
        share_on_admission: bool = True,
        remember_tokens: int | None = None,
        event_limit: int = 1_000_000,
    ) -> None:
        for name, value in (("num_pages", num_pages), ("page_size", page_size), ("window", window)):
            if value is not None and (not isinstance(value, int) or value < 1):
                raise CacheConfigError(name, value, "It must be a whole number of at least 1.")
        remembered = 4 * num_pages * page_size if remember_tokens is None else remember_tokens
        if remembered < 0 or event_limit < 0:
            raise CacheConfigError(
                "remember_tokens, event_limit", (remembered, event_limit), "Use 0 for none."
            )
        self.num_pages = num_pages
        self.page_size = page_size
        self.share_on_admission = share_on_admission
        self._rules = Rules(page_size, partial_pages, window)
        self._store = PageStore(
            num_pages,
            page_size,
            create_policy(policy),
            ghost_bytes=remembered * UNIT,
            event_limit=event_limit,
            clock=clock or time.monotonic,
        )
        self._neighbours = Neighbours()
        self._counter = AdmissionCounter()
        self._leases: dict[Lease, None] = {}

    # -- a sequence's life ----------------------------------------------------------------------------

    def admit(
        self,
        tokens: Tokens,
        namespace: str | Namespace = "",
        extra_keys: Iterable[ExtraKey] = (),
        *,
        preempted: bool = False,
        use_cache: bool = True,
    ) -> Lease | None:
        """Give a sequence pages for all of ``tokens``, those the cache has first; None when there are too
        few.

        A refusal changes nothing. At least one token is always left to compute. ``extra_keys`` are
        (position, length, key): what the tokens there stand for (an image's content hash). ``preempted``
        says that this sequence was admitted before, so that it is not counted twice. Without ``use_cache``
        nothing is reused; the sequence's pages are still stored.

        The lease's ``copies`` must be made before its tokens are computed; their source pages stay
        untouched until ``copied(lease)``, or the lease's end. Raises InvalidTokensError for no tokens, or
        what is not a token.
        """
        data = self._store.codec.encode(tokens, extra_keys)
        total = len(data) // UNIT
        if not total:
            raise InvalidTokensError(
                "a sequence of no tokens cannot be admitted.", remedy="Pass at least one token."
            )
        match = self._store.tree.find(self._store.tree.roots.get(namespace), data)
        hit = self._rules.reusable(match, total - 1) if use_cache else 0
        plan = make_plan(match, hit, self.page_size)
        need = -(-total // self.page_size) - plan.shared
        short = need - (len(self._store.pool) + self._store.evictable - plan.unheld)
        if short > (plan.source_unheld if self._rules.window is None else 0):
            return None
        if use_cache:
            reason = self._explain(match, hit, total, namespace, data)
        else:
            reason = AdmissionReason(reused=0, shared=match.stored // UNIT)
        lease = self._grant(plan, need, namespace, data, reason, take_over=short > 0)
        self._counter.record(total, hit, shared=reason.shared, preempted=preempted)
        self._neighbours.seen(namespace, data)
        if self.share_on_admission:
            self._store.publish(lease, total // self.page_size, merge=False)
        return lease

    def append(self, lease: Lease, tokens: Tokens) -> bool:
        """Add ``tokens`` to a running sequence; False when there are no pages for them, and nothing changed.

        With ``share_on_admission`` everything before them counts as computed from now on.
        """
        self._check_open(lease)
        added = self._store.codec.encode(tokens)
        before = lease.length
        need = -(-(before + len(added) // UNIT) // self.page_size) - len(lease.pages)
        if need > len(self._store.pool) + self._store.evictable:
            return False
        if need > 0:
            lease.pages += self._store.take(need)
        if self.share_on_admission and before // self.page_size > lease.published:
            self._store.publish(lease, before // self.page_size)
        lease.fresh += added
        return True

    def publish(self, lease: Lease, computed: int) -> None:
        """Let others share the full pages of the sequence's first ``computed`` tokens, which are computed.

        A page the cache has already replaces the lease's own: read ``lease.pages`` anew afterwards.
        Raises LeaseError on a cache that shares on admission: it has handed these pages out already.
        """
        if self.share_on_admission:
            raise LeaseError(
                "this cache shares a prompt's pages on admission, before they are computed.",
                remedy="A runner that publishes needs PrefixCache(..., share_on_admission=False).",
            )
        self._check_open(lease, computed)
        if computed // self.page_size > lease.published:
            self._store.publish(lease, computed // self.page_size)

    def copied(self, lease: Lease) -> None:
        """Say that the lease's copies are made: their source pages may be evicted again."""
        self._check_open(lease)
        self._release_source(lease)

    def finish(self, lease: Lease, computed: int | None = None) -> None:
        """End a sequence and keep its first ``computed`` tokens (default: all) for others.

        The KV of a token that was sampled but never fed to the model does not exist: leave it out of
        ``computed``. Raises LeaseError when the lease has ended already or is shorter.
        """
        computed = lease.length if computed is None else computed
        self._check_open(lease, computed)
        full, rest = divmod(computed, self.page_size)
        self._store.retract(lease, max(full, lease.own_from))
        self._store.publish(lease, full)
        if rest and lease.published == full:
            tail = lease.settle()[full * self.page_size * UNIT : computed * UNIT]
            if self._rules.partial_pages:
                self._store.add_tail(lease, tail)
            else:
                self._store.remember_tail(lease, tail)
        if self._rules.window is not None:
            left = (computed - self._rules.window + 1) // self.page_size
            self._store.drop_left_of_window(lease, left)
        self._close(lease)

    def abort(self, lease: Lease) -> None:
        """End a sequence and take back what it brought into the cache, unless others use it meanwhile.

        Raises LeaseError when the lease has ended already.
        """
        self._check_open(lease)
        self._store.retract(lease, lease.own_from)
        self._close(lease)

    # -- looking, and the whole cache -----------------------------------------------------------------

    def match(
        self,
        tokens: Tokens,
        namespace: str | Namespace = "",
        extra_keys: Iterable[ExtraKey] = (),
        *,
        touch: bool = True,
    ) -> int:
        """Return how many of ``tokens`` the cache has, all of them if it has all.

        ``touch`` counts as a use: what matched is evicted later.
        """
        data = self._store.codec.encode(tokens, extra_keys)
        match = self._store.tree.find(self._store.tree.roots.get(namespace), data)
        found = self._rules.reusable(match, len(data) // UNIT)
        if touch and found:
            self._touch(match, found)
        return found

    def pending(
        self, tokens: Tokens, namespace: str | Namespace = "", extra_keys: Iterable[ExtraKey] = ()
    ) -> int:
        """Return how many of ``tokens``, in whole pages, some running sequence holds or is about to compute.

        Where this is more than ``match`` says, waiting until that sequence has published saves computing
        twice.
        """
        data = self._store.codec.encode(tokens, extra_keys)[: -UNIT or None]
        longest = 0
        for lease in self._leases:
            if lease.namespace == namespace:
                longest = max(longest, shared_bytes(lease.settle(), data))
        return longest // UNIT // self.page_size * self.page_size

    def refs(self, page: int) -> int:
        """Return how many running sequences hold ``page``, pending copies from it included."""
        held = sum(page in lease.pages for lease in self._leases)
        return held + sum(copy.src == page for lease in self._leases if lease.source for copy in lease.copies)

    def evict(self, n_pages: int | None = None) -> int:
        """Free up to ``n_pages`` cached pages (default: all that nobody holds); return how many."""
        return self._store.evict(self._store.evictable if n_pages is None else n_pages)

    def reset(self) -> bool:
        """Forget everything cached; False, and nothing changed, while a sequence runs."""
        if self._leases:
            return False
        self._store.reset()
        self._neighbours.clear()
        return True

    def events(self) -> list[CacheEvent]:
        """Return what was stored, removed or cleared since the last call, oldest first."""
        return self._store.log.take(self._store.tree.roots.values())

    def check(self) -> None:
        """Verify the whole bookkeeping; raises InvariantError. Slow: for tests and for doubt."""
        audit(self._store, list(self._leases), self.num_pages)

    @property
    def stats(self) -> CacheStats:
        """Where the pages are, and the counters."""
        free, cached = len(self._store.pool), self._store.evictable
        counter = self._counter
        return CacheStats(
            free=free,
            cached=cached,
            held=self.num_pages - free - cached,
            queries=counter.queries,
            hits=counter.hits,
            shared=counter.shared,
            preempted_queries=counter.preempted_queries,
            preempted_hits=counter.preempted_hits,
            evicted_pages=self._store.evicted_pages,
        )

    # -- inside ---------------------------------------------------------------------------------------

    def _explain(
        self, match: Match, hit: int, total: int, namespace: str | Namespace, data: bytes
    ) -> AdmissionReason:
        elsewhere = 0
        roots = self._store.tree.roots
        if match.known < len(data) and len(roots) > (namespace in roots):
            suspects = self._neighbours.suspects(namespace, data, roots)
            elsewhere = longest_elsewhere(
                self._store, [roots[name] for name in suspects if name in roots], data
            )
        return self._rules.reason(match, hit, total, elsewhere)

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
        store = self._store
        node = store.tree.root(namespace)
        node.locks += 1
        pages: list[int] = []
        for step in plan.path:
            node = step
            if step is plan.path[-1] and plan.last_pages < store.tree.num_pages(step):
                node = store.split(step, plan.last_pages)
            store.lock(node)
            pages += node.pages
        source = self._hold_source(plan)
        copies: list[PageCopy] = []
        new = store.take(need - take_over)
        if source is not None:
            src = source.pages[0]
            if take_over:
                store.surrender(source)
                new.insert(0, src)
                source = None
            else:
                copies.append(PageCopy(src, new[0], plan.copied))
        lease = Lease(
            namespace,
            reason.reused,
            pages + new,
            copies,
            reason,
            data,
            node,
            plan.shared,
            plan.shared,
            source,
        )
        self._leases[lease] = None
        return lease

    def _hold_source(self, plan: Plan) -> Node | None:
        """Hold the page to copy from, in a node of its own."""
        source = plan.source
        if source is None:
            return None
        if self._store.tree.num_pages(source) > 1:
            source = self._store.split(source, 1)
        self._store.lock(source)
        return source

    def _release_source(self, lease: Lease) -> None:
        if lease.source is not None:
            self._store.unlock(lease.source)
            lease.source = None

    def _touch(self, match: Match, found: int) -> None:
        plan = make_plan(match, found, self.page_size)
        path = plan.path
        if path and plan.last_pages < len(path[-1].pages):
            path[-1] = self._store.split(path[-1], plan.last_pages)
        if plan.source is not None:
            source = plan.source
            if self._store.tree.num_pages(source) > 1:
                source = self._store.split(source, 1)
            path.append(source)
        self._store.touch(path)

    def _close(self, lease: Lease) -> None:
        self._release_source(lease)
        self._store.free_private(lease)
        self._store.unlock_path(lease.node)
        lease.closed = True
        del self._leases[lease]

    def _check_open(self, lease: Lease, computed: int = 0) -> None:
        if lease not in self._leases:
            state = "has ended already" if lease.closed else "was granted by another cache"
            raise LeaseError(f"this lease {state}.", remedy="Admit the sequence again.")
        if not 0 <= computed <= lease.length:
            raise LeaseError(
                f"computed={computed} is not within the sequence's {lease.length} tokens.",
                remedy="Append the tokens first.",
            )
