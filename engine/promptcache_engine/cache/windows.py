"""All the window pools of a cache at once: what happens to a lease or a page happens in each of them."""

from collections.abc import Iterable, Sequence

from promptcache_engine.cache.errors import InvariantError
from promptcache_engine.cache.lease import NO_PAGE, Lease
from promptcache_engine.cache.window import joint_prefix
from promptcache_engine.cache.window_pool import WindowPool


class Windows:
    """The pools, ascending by window; empty for a model whose layers all share their pages."""

    def __init__(self, pools: Sequence[tuple[int, int]], page_size: int, cache_pages: int) -> None:
        self.pools = tuple(WindowPool(window, pages, page_size, cache_pages) for window, pages in pools)
        self._page_size = page_size

    def __bool__(self) -> bool:
        return bool(self.pools)

    def usable(self, pages: Sequence[int], tokens: int) -> int:
        """Return the longest prefix, at most ``tokens`` in ``pages``, that every pool can use."""
        groups = [(pool.present(pages), pool.reach + 1) for pool in self.pools]
        return joint_prefix(groups, tokens, self._page_size)

    def has_room(self, pages: Sequence[int], hit: int, *, copies: bool) -> bool:
        """Whether a lease that shares ``pages`` and reuses ``hit`` tokens can begin."""
        return all(pool.has_room(pages, hit, copies=copies) for pool in self.pools)

    def allow_fork(self, pages: Sequence[int], computed: int) -> bool:
        """Whether a lease that shares the first ``computed`` tokens of ``pages`` can begin."""
        full, rest = divmod(computed, self._page_size)
        reached = self.usable(pages[: full + bool(rest)], computed) == computed
        return reached and self.has_room(pages[:full], computed, copies=rest > 0)

    def begin(self, lease: Lease, shared: int) -> None:
        """Take on a lease that has just been granted, with ``shared`` pages of others."""
        for pool in self.pools:
            pool.begin(lease, shared)

    def reserve(self, lease: Lease, upto: int) -> None:
        """Give the lease's first ``upto`` tokens, computed next, the pages they lack.

        Raises WindowRoomError when a pool is too small for what runs.
        """
        for pool in self.pools:
            pool.reserve(lease, upto)

    def slide(self, lease: Lease, computed: int) -> None:
        """Let go of what the windows of the token at ``computed`` have left."""
        for pool in self.pools:
            pool.slide(lease, computed)

    def copied(self, lease: Lease) -> None:
        """The lease's copies are made."""
        for pool in self.pools:
            pool.copied(lease)

    def close(self, lease: Lease) -> None:
        """Let go of everything the lease has."""
        for pool in self.pools:
            pool.close(lease)

    def detach(self, pages: Iterable[int]) -> None:
        """``pages`` of the cache hold nothing any more."""
        gone = [page for page in pages if page != NO_PAGE]
        for pool in self.pools:
            pool.detach(gone)

    def merge(self, pages: Sequence[int], others: Sequence[int]) -> None:
        """``others`` take the places of ``pages``, which hold the same; where there is no other, nothing
        changes."""
        for pool in self.pools:
            for page, other in zip(pages, others, strict=True):
                if other != NO_PAGE:
                    pool.merge(page, other)

    def check(self, leases: Sequence[Lease]) -> None:
        """Raise InvariantError if a pool's bookkeeping is broken."""
        for pool in self.pools:
            broken = pool.check(leases)
            if broken is not None:
                raise InvariantError(broken)
