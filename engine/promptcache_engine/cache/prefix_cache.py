"""The prefix cache: which pages a sequence gets, and which tokens it need not compute.

Pure bookkeeping over token ids and page numbers; it holds no tensor and moves no data. The runner owns the
slots and performs the copies a lease asks for. Not thread-safe: one thread owns a cache.
"""

import time
from collections.abc import Callable, Iterable, Sequence

from promptcache_engine.cache import arguments
from promptcache_engine.cache.admission import Admission
from promptcache_engine.cache.audit import audit
from promptcache_engine.cache.errors import InvalidTokensError, LeaseError, require_whole
from promptcache_engine.cache.events import CacheEvent
from promptcache_engine.cache.hints import NO_HINTS, Hints
from promptcache_engine.cache.lease import Lease
from promptcache_engine.cache.leases import OpenLeases
from promptcache_engine.cache.namespaces import Namespace
from promptcache_engine.cache.policies import EvictionPolicy, create_policy
from promptcache_engine.cache.publishing import Publisher
from promptcache_engine.cache.rules import Rules
from promptcache_engine.cache.stats import AdmissionCounter, CacheStats
from promptcache_engine.cache.store import PageStore
from promptcache_engine.cache.tokens import UNIT, ExtraKey, Tokens
from promptcache_engine.cache.windows import Windows

_EXTRAS = 4_096  # extra keys remembered before those no longer in use are looked for


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

    ``lookahead``: tokens beyond a position its KV depends on (1 with an EAGLE or MTP draft model).
    ``recompute``: tokens of each prompt always left to compute; 0 suits a simulation only.
    ``tokens_per_unit``: what one of ``tokens`` stands for where it stands for more, as in a trace of pages.
    ``remember_tokens``: how many evicted tokens are remembered, to explain misses and to learn from them
    (default: eight times the pool). ``event_limit``: pages that may wait in ``events()``; 0 turns events off.
    ``policy``: a name of ``POLICIES``, or a policy of one's own.
    ``window_pools``: (window in tokens, pages) of the layers whose pages are freed when their window has left
    them, for a model that has others too. Needs ``share_on_admission=False``, and a runner that calls
    ``windows.reserve`` before tokens are computed and ``windows.slide`` after.
    Raises CacheConfigError for values that cannot work.
    """

    def __init__(  # noqa: PLR0917 - the public signature
        self,
        num_pages: int,
        page_size: int,
        policy: str | EvictionPolicy = "lru",
        partial_pages: bool = True,  # noqa: FBT001, FBT002 - as above
        window: int | None = None,
        clock: Callable[[], float] | None = None,
        *,
        share_on_admission: bool = True,
        lookahead: int = 0,
        recompute: int = 1,
        tokens_per_unit: int = 1,
        remember_tokens: int | None = None,
        event_limit: int = 1_000_000,
        window_pools: Sequence[tuple[int, int]] = (),
    ) -> None:
        require_whole(1, num_pages=num_pages, page_size=page_size, tokens_per_unit=tokens_per_unit)
        if window is not None:
            require_whole(1, window=window)
        remembered = 8 * num_pages * page_size if remember_tokens is None else remember_tokens
        require_whole(0, lookahead=lookahead, recompute=recompute)
        require_whole(0, remember_tokens=remembered, event_limit=event_limit)
        self.num_pages = num_pages
        self.page_size = page_size
        self.share_on_admission = share_on_admission
        arguments.require_window_pools(window_pools, share_on_admission=share_on_admission)
        self.windows = Windows(window_pools, page_size, num_pages)
        self._rules = rules = Rules(page_size, partial_pages, window, lookahead, recompute, self.windows)
        clock = arguments.given_clock(clock, time.monotonic)
        self._policy = create_policy(policy, clock, num_pages)
        self._store = PageStore(
            num_pages,
            page_size,
            self._policy,
            ghost_bytes=remembered * UNIT,
            event_limit=event_limit,
            clock=clock,
            windows=self.windows,
            gaps=window is not None,
        )
        self._admission = Admission(self._store, rules, tokens_per_unit)
        self._publisher = Publisher(self._store)
        self._counter = AdmissionCounter()
        self._leases = OpenLeases()
        self._extras_limit = _EXTRAS

    # -- a sequence's life ----------------------------------------------------------------------------

    def admit(
        self,
        tokens: Tokens,
        namespace: str | Namespace = "",
        extra_keys: Iterable[ExtraKey] = (),
        *,
        preempted: bool = False,
        counted: bool = True,
        use_cache: bool = True,
        hints: Hints | None = None,
        running: tuple[Lease, int] | None = None,
    ) -> Lease | None:
        """Give a sequence pages for all of ``tokens``; None, and nothing changed, when there are too few.

        At least one token is always left to compute. ``extra_keys`` are
        (position, length, key): what the tokens there stand for (an image's content hash). ``preempted``
        says that this sequence was admitted before: it is counted apart. A fork is not to be ``counted``.
        Without ``use_cache`` nothing is reused, and nothing counted; the sequence's pages are still stored.
        ``hints`` advise the eviction policy. ``running``: a running sequence and how many of its tokens are
        computed; what it shares beyond the cached pages is copied from its own, which it must keep so long.

        The lease's ``copies`` must be made before its tokens are computed; their source pages stay untouched
        until ``copied(lease)``, or its end. Raises InvalidTokensError for no tokens, or what is not a token,
        CacheConfigError for what is no namespace, no hints or no pair, LeaseError for a sequence not running.
        """
        hints = NO_HINTS if hints is None else arguments.given_hints(hints)
        if running is not None:
            arguments.require_pair(running)
            self._leases.check(*running)
        data = self._encode(tokens, extra_keys, namespace)
        if not data:
            raise InvalidTokensError("a sequence without tokens cannot be admitted.", remedy="Pass one.")
        lease = self._admission.admit(data, namespace, use_cache=use_cache, hints=hints, running=running)
        if lease is None:
            return None
        self._leases.add(lease)
        if use_cache and counted:
            self._counter.record(lease.length, lease.hit, shared=lease.reason.shared, preempted=preempted)
        if self.share_on_admission:
            self._publisher.publish(lease, len(data) // self._store.page_bytes, merge=False)
        return lease

    def append(self, lease: Lease, tokens: Tokens) -> bool:
        """Add ``tokens`` to a running sequence; False when there are no pages for them, and nothing changed.

        With ``share_on_admission`` everything before them counts as computed from now on.
        """
        self._leases.check_unforked(lease)
        added = self._store.codec.encode(tokens)
        before = lease.length
        need = -(-(before + len(added) // UNIT) // self.page_size) - len(lease.pages)
        if need > len(self._store.pool) + self._store.evictable:
            return False
        if need > 0:
            lease.pages += self._store.take(need)
        if self.share_on_admission and before // self.page_size > lease.published:
            self._publisher.publish(lease, before // self.page_size)
        lease.fresh += added
        return True

    def fork(self, lease: Lease, computed: int | None = None) -> Lease | None:
        """Give a second sequence the first ``computed`` tokens (default: all) of a running one; None, and
        nothing changed, when there is no page for it.

        Full pages are shared, the matching part of the page behind them is copied: make the new lease's
        ``copies`` and call ``copied`` before ``lease`` goes on or ends. Everything is reused, so it counts
        neither as a query nor as a hit. Raises LeaseError when the lease has ended or is shorter, and for
        fewer tokens than it has published already.
        """
        self._leases.check(lease, 0 if computed is None else computed)
        computed = lease.length if computed is None else computed
        full, rest = divmod(computed, self.page_size)
        if full < lease.published or not computed:
            raise LeaseError(
                f"computed={computed} is less than the sequence has published.",
                remedy="Fork what is computed.",
            )
        if rest and not len(self._store.pool) + self._store.evictable:
            return None
        if not self.windows.allow_fork(lease.pages, computed):
            return None
        self._publisher.publish(lease, full)
        child = self._admission.fork(lease, computed)
        self._leases.add(child)
        return child

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
        self._leases.check(lease, computed)
        if computed // self.page_size > lease.published:
            self._publisher.publish(lease, computed // self.page_size)

    def copied(self, lease: Lease) -> None:
        """Say that the lease's copies are made: their source pages may be evicted again."""
        self._leases.check(lease)
        self.windows.copied(lease)
        self._publisher.release_source(lease)
        self._leases.copied(lease)

    def finish(self, lease: Lease, computed: int | None = None) -> None:
        """End a sequence and keep its first ``computed`` tokens (default: all) for others.

        The KV of a token that was sampled but never fed to the model does not exist: leave it out of
        ``computed``. Raises LeaseError when the lease has ended already or is shorter.
        """
        self._leases.check_unforked(lease, 0 if computed is None else computed)
        computed = lease.length if computed is None else computed
        full, rest = divmod(computed, self.page_size)
        if self.windows.pools:
            self.windows.close(lease)
        if lease.published > full and lease.published > lease.own_from:
            ours = max(full, lease.own_from)
            stays = rest * UNIT if full == ours and self._rules.partial_pages else 0
            self._publisher.retract(lease, ours, stays)
        if lease.published < full:
            self._publisher.publish(lease, full)
        if rest and lease.published == full:
            tail = lease.settle()[full * self.page_size * UNIT : computed * UNIT]
            if self._rules.partial_pages:
                self._publisher.add_tail(lease, tail)
            else:
                self._publisher.remember_tail(lease, tail)
        if self._rules.window is not None:
            left = (computed - self._rules.window + 1) // self.page_size
            self._publisher.drop_left_of_window(lease, left)
        if self._policy.ranks_uses and lease.use is not None:
            self._store.use_path(lease.node, lease.use)
        self._close(lease, keep=True)

    def abort(self, lease: Lease) -> None:
        """End a sequence and take back what it brought into the cache, unless others use it meanwhile.

        Raises LeaseError when the lease has ended already.
        """
        self._leases.check_unforked(lease)
        self.windows.close(lease)
        self._publisher.retract(lease, lease.own_from)
        self._close(lease, keep=False)

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
        return self._admission.lookup(self._encode(tokens, extra_keys, namespace), namespace, touch=touch)

    def refs(self, page: int) -> int:
        """Return how many running sequences hold ``page``, pending copies from it included."""
        return self._leases.refs(page)

    def evict(self, n_pages: int | None = None) -> int:
        """Free up to ``n_pages`` cached pages (default: all that nobody holds); return how many."""
        require_whole(0, n_pages=0 if n_pages is None else n_pages)
        return self._store.evict(self._store.evictable if n_pages is None else n_pages)

    def reset(self) -> bool:
        """Forget everything cached; False, and nothing changed, while a sequence runs."""
        if self._leases:
            return False
        self._store.reset()
        self._admission.clear()
        return True

    def events(self) -> list[CacheEvent]:
        """Return what was stored, removed or cleared since the last call, oldest first."""
        return self._store.log.take(self._store.tree.roots.values())

    def check(self) -> None:
        """Verify the whole bookkeeping; raises InvariantError. Slow: for tests and for doubt."""
        audit(self._store, list(self._leases), self.num_pages)
        self.windows.check(list(self._leases))

    @property
    def stats(self) -> CacheStats:
        """Where the pages are, and the counters."""
        free, cached = len(self._store.pool), self._store.evictable
        held = self.num_pages - free - cached
        return self._counter.snapshot(free, cached, held, self._store.evicted_pages)

    # -- inside ---------------------------------------------------------------------------------------

    def _encode(self, tokens: Tokens, extra: Iterable[ExtraKey], namespace: str | Namespace = "") -> bytes:
        arguments.require_namespace(namespace)
        codec = self._store.codec
        if codec.num_extras >= self._extras_limit:
            runs = [node.run for node in self._store.tree.nodes()]
            codec.keep_only(runs + [lease.settle() for lease in self._leases])
            self._extras_limit = max(_EXTRAS, 2 * codec.num_extras)
        return codec.encode(tokens, extra)

    def _close(self, lease: Lease, *, keep: bool) -> None:
        if lease.source is not None:
            self._publisher.release_source(lease)
        if lease.published < len(lease.pages):
            self._store.free_private(lease)
        self._store.unlock_path(lease.node, keep=keep)
        self._leases.close(lease)
