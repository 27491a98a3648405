"""What the cache's tests share: running a sequence, and a runner whose memory shows what is really in a
page."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from promptcache_engine.cache import NO_PAGE, Lease, PrefixCache
from promptcache_engine.cache.namespaces import namespace_seed

both = pytest.mark.parametrize("partial", [False, True], ids=["whole-pages", "to-the-token"])


def ran(cache: PrefixCache, tokens: Iterable[int], generated: Sequence[int] = (), **admission: Any) -> int:
    """Run a sequence to its end; return its hit."""
    lease = admitted(cache, tokens, **admission)
    if generated:
        assert cache.append(lease, generated)
    cache.finish(lease)
    cache.check()
    return lease.hit


def admitted(cache: PrefixCache, tokens: Iterable[int], **admission: Any) -> Lease:
    """Admit a sequence that fits."""
    lease = cache.admit(list(tokens), **admission)
    assert lease is not None
    cache.check()
    return lease


def hit(cache: PrefixCache, tokens: Iterable[int], **admission: Any) -> int:
    """The hit an admission would have now; the cache keeps nothing of it."""
    lease = admitted(cache, tokens, **admission)
    cache.abort(lease)
    return lease.hit


def pages_in_use(cache: PrefixCache) -> int:
    """Check the pool and return how many pages are not free."""
    stats = cache.stats
    assert stats.free + stats.cached + stats.held == cache.num_pages
    return cache.num_pages - stats.free


def stored_keys(cache: PrefixCache) -> set[bytes]:
    """The keys of every whole page in the tree, worked out anew from its tokens alone."""
    keys, size = set(), cache._store.page_bytes
    waiting = [
        (child, namespace_seed(name))
        for name, root in cache._store.tree.roots.items()
        for child in root.children.values()
    ]
    while waiting:
        node, key = waiting.pop()
        for i in range(len(node.run) // size):
            content = cache._store.log._public(node.run[i * size : (i + 1) * size])
            key = hashlib.sha256(key + content).digest()
            if i < len(node.pages) and node.pages[i] != NO_PAGE:
                keys.add(key)
        waiting += [(child, key) for child in node.children.values()]
    return keys


class FakeRunner:
    """Stands in for the model: a slot holds the whole history its KV would depend on.

    ``history[lease]`` are the marks of the sequence so far; the mark of a token is anything that identifies
    it (with its image, say), and the content of a slot is the namespace and all marks up to it.
    """

    def __init__(self, cache: PrefixCache, window: int | None = None) -> None:
        self.cache = cache
        self.window = window
        self.slots: dict[int, tuple[Any, ...]] = {}
        self.history: dict[Lease, tuple[Any, list[Any]]] = {}
        self.computed: dict[Lease, int] = {}
        self.uncopied: set[Lease] = set()

    def start(self, lease: Lease, namespace: Any, marks: list[Any]) -> None:
        """Take a lease on; its copies wait until ``copy``."""
        self.history[lease] = (namespace, list(marks))
        self.computed[lease] = lease.hit
        self.uncopied.add(lease)

    def copy(self, lease: Lease) -> None:
        """Make the lease's copies, if not yet made; what it reuses is then what it would have computed."""
        if lease not in self.uncopied:
            return
        size = self.cache.page_size
        for copy in lease.copies:
            for i in range(copy.tokens):
                self.slots[copy.dst * size + i] = self.slots[copy.src * size + i]
        self.uncopied.discard(lease)
        self.cache.copied(lease)
        self.verify(lease)

    def compute(self, lease: Lease, upto: int) -> None:
        """Write the slots of the tokens up to ``upto``."""
        self.copy(lease)
        namespace, marks = self.history[lease]
        for i in range(self.computed[lease], upto):
            self.slots[self._slot(lease, i)] = (namespace, *marks[: i + 1])
        self.computed[lease] = max(upto, self.computed[lease])

    def verify(self, lease: Lease) -> None:
        """Every slot the next token needs holds this sequence's own history."""
        namespace, marks = self.history[lease]
        computed = self.computed[lease]
        first = 0 if self.window is None else max(0, computed - self.window + 1)
        if lease in self.uncopied:
            computed -= sum(copy.tokens for copy in lease.copies)
        for i in range(first, computed):
            assert self.slots[self._slot(lease, i)] == (namespace, *marks[: i + 1])

    def end(self, lease: Lease) -> None:
        del self.history[lease], self.computed[lease]
        self.uncopied.discard(lease)

    def _slot(self, lease: Lease, position: int) -> int:
        page = lease.pages[position // self.cache.page_size]
        assert page != NO_PAGE
        return page * self.cache.page_size + position % self.cache.page_size
