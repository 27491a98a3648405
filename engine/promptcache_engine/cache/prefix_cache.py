"""The prefix cache: which pages a sequence gets, and which tokens it need not compute.

Pure bookkeeping over token ids and page numbers; it holds no tensor and moves no data. The runner owns the
slots and performs the copies a lease asks for. Not thread-safe: one thread owns a cache.
"""

import time
from collections.abc import Callable, Iterable

from promptcache_engine.cache.admission import Admission
from promptcache_engine.cache.audit import audit
from promptcache_engine.cache.errors import CacheConfigError, InvalidTokensError, LeaseError
from promptcache_engine.cache.events import CacheEvent
from promptcache_engine.cache.lease import Lease
from promptcache_engine.cache.namespaces import Namespace
from promptcache_engine.cache.policies import create_policy
from promptcache_engine.cache.publishing import Publisher
from promptcache_engine.cache.rules import Rules
from promptcache_engine.cache.stats import AdmissionCounter, CacheStats
from promptcache_engine.cache.store import PageStore
from promptcache_engine.cache.tokens import UNIT, ExtraKey, Tokens

_EXTRAS = 4_096
"""Extra keys remembered before those no longer in use are looked for."""


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
        lookahead: int = 0,
        remember_tokens: int | None = None,
        event_limit: int = 1_000_000,
    ) -> None:
        for name, value in (("num_pages", num_pages), ("page_size", page_size), ("window", window)):
            if value is not None and (not isinstance(value, int) or value < 1):
                raise CacheConfigError(name, value, "It must be a whole number of at least 1.")
        remembered = 4 * num_pages * page_size if remember_tokens is None else remember_tokens
        for name, value in (
            ("lookahead", lookahead),
            ("remember_tokens", remembered),
            ("event_limit", event_limit),
        ):
            if value < 0:
                raise CacheConfigError(name, value, "Use 0 for none.")
        self.num_pages = num_pages
        self.page_size = page_size
        self.share_on_admission = share_on_admission
        self._rules = rules = Rules(page_size, partial_pages, window, lookahead)
        self._store = PageStore(
            num_pages,
            page_size,
            create_policy(policy),
            ghost_bytes=remembered * UNIT,
            event_limit=event_limit,
            clock=clock or time.monotonic,
        )
        self._admission = Admission(self._store, rules)
        self._publisher = Publisher(self._store)
        self._counter = AdmissionCounter()
        self._leases: dict[Lease, None] = {}
        self._extras_limit = _EXTRAS

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
        """Give a sequence pages for all of ``tokens``; None, and nothing changed, when there are too few.

        At least one token is always left to compute. ``extra_keys`` are
        (position, length, key): what the tokens there stand for (an image's content hash). ``preempted``
        says that this sequence was admitted before, so that it is not counted twice. Without ``use_cache``
        nothing is reused; the sequence's pages are still stored.

        The lease's ``copies`` must be made before its tokens are computed; their source pages stay
        untouched until ``copied(lease)``, or the lease's end. Raises InvalidTokensError for no tokens, or
        what is not a token.
        """
        data = self._encode(tokens, extra_keys)
        if not data:
            raise InvalidTokensError(
                "a sequence of no tokens cannot be admitted.", remedy="Pass one at least."
            )
        lease = self._admission.admit(data, namespace, use_cache=use_cache)
        if lease is None:
            return None
        self._leases[lease] = None
        self._counter.record(lease.length, lease.hit, shared=lease.reason.shared, preempted=preempted)
        if self.share_on_admission:
            self._publisher.publish(lease, lease.length // self.page_size, merge=False)
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
            self._publisher.publish(lease, before // self.page_size)
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
            self._publisher.publish(lease, computed // self.page_size)

    def copied(self, lease: Lease) -> None:
        """Say that the lease's copies are made: their source pages may be evicted again."""
        self._check_open(lease)
        self._publisher.release_source(lease)

    def finish(self, lease: Lease, computed: int | None = None) -> None:
        """End a sequence and keep its first ``computed`` tokens (default: all) for others.

        The KV of a token that was sampled but never fed to the model does not exist: leave it out of
        ``computed``. Raises LeaseError when the lease has ended already or is shorter.
        """
        computed = lease.length if computed is None else computed
        self._check_open(lease, computed)
        full, rest = divmod(computed, self.page_size)
        self._publisher.retract(lease, max(full, lease.own_from))
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
        self._close(lease)

    def abort(self, lease: Lease) -> None:
        """End a sequence and take back what it brought into the cache, unless others use it meanwhile.

        Raises LeaseError when the lease has ended already.
        """
        self._check_open(lease)
        self._publisher.retract(lease, lease.own_from)
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
        return self._admission.lookup(self._encode(tokens, extra_keys), namespace, touch=touch)

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
        self._admission.clear()
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

    def _encode(self, tokens: Tokens, extra_keys: Iterable[ExtraKey]) -> bytes:
        codec = self._store.codec
        if codec.num_extras >= self._extras_limit:
            runs = [node.run for node in self._store.tree.nodes()]
            codec.keep_only(runs + [lease.settle() for lease in self._leases])
            self._extras_limit = max(_EXTRAS, 2 * codec.num_extras)
        return codec.encode(tokens, extra_keys)

    def _close(self, lease: Lease) -> None:
        self._publisher.release_source(lease)
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
