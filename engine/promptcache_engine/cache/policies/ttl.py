"""Least recently used first, but what a request asked to keep stays until its time is over."""

from collections.abc import Callable, Sequence

from promptcache_engine.cache.hints import Use
from promptcache_engine.cache.lease import NO_PAGE
from promptcache_engine.cache.node import Node
from promptcache_engine.cache.policies.leaves import NO_RANK, LeafHeap, is_free_leaf, void_if_empty


class TtlPolicy:
    """LRU with pins: pages used by a request with ``keep_seconds`` go last until that long after their use.

    Pins are capped to ``cap`` of the pool's pages: a pin that would go beyond is an ordinary release. Pins
    whose time is over do not count, which is looked for when there is no room for another. Even
    pinned pages go when nothing else is left, the one that ends first before the others, since a sequence
    that was promised pages must get them.
    """

    ranks_uses = True

    def __init__(self, clock: Callable[[], float], num_pages: int, *, cap: float = 0.5) -> None:
        self._clock = clock
        self._limit = int(cap * num_pages)
        self._free = LeafHeap()
        self._kept = LeafHeap()
        self._ends = LeafHeap()  # whatever is pinned, leaf or not, by the end of its pin
        self._pinned: dict[Node, int] = {}  # node → pages, while it is pinned and nobody holds it
        self._pages = 0
        self._releases = 0

    @property
    def pinned_pages(self) -> int:
        """Pages that are pinned now and held by nobody."""
        self._expire(self._clock())
        return self._pages

    def use(self, path: Sequence[Node], pages: Sequence[int], use: Use) -> None:  # noqa: ARG002 - all stay
        """Note until when the pages are asked to stay; a longer earlier pin holds."""
        until = self._clock() + use.hints.keep_seconds if use.hints.keep_seconds else 0.0
        for node in path:
            node.used_at = max(node.used_at, until)

    def release(self, node: Node) -> None:
        """Give ``node`` its place, among the pinned while there is room for pins."""
        self._unpin(node)
        self._releases += 1
        node.rank = self._releases
        if node.used_at:
            self._pin(node)
        self.bare(node)

    def bare(self, node: Node) -> None:
        """Line ``node`` up if it is a leaf."""
        if not is_free_leaf(node):
            return
        if node in self._pinned:
            self._kept.push(node, node.used_at)
        else:
            self._free.push(node)

    def divide(self, upper: Node, lower: Node) -> None:
        """Both parts are pinned, or none."""
        if lower in self._pinned:
            self._unpin(lower)
            for part in (upper, lower):
                if part.pages:
                    self._count(part, _page_count(part))
            self._ends.push(upper, upper.used_at)
        void_if_empty(lower)
        self.bare(upper)

    def hold(self, node: Node) -> None:
        """What is held needs no pin."""
        node.rank = NO_RANK
        self._unpin(node)

    def evicted(self, node: Node, pages: int) -> None:
        """The pages of a pin that are gone do not count."""
        if node in self._pinned:
            self._pinned[node] -= pages
            self._pages -= pages

    def lose(self, node: Node) -> None:
        """There is nothing left to keep."""
        node.rank = NO_RANK
        self._unpin(node)

    def victim(self) -> Node | None:
        """Return the oldest leaf without a pin; with none left, the one whose pin ends first."""
        kept = self._kept.head()
        now = self._clock() if kept is not None else 0.0
        while kept is not None and kept.used_at <= now:
            self._kept.pop()
            self._unpin(kept)
            self._free.push(kept)
            kept = self._kept.head()
        return self._free.head() or kept

    def clear(self) -> None:
        """Forget every node."""
        self._free, self._kept, self._ends = LeafHeap(), LeafHeap(), LeafHeap()
        self._pinned.clear()
        self._pages = 0

    def _pin(self, node: Node) -> None:
        """Pin ``node`` if its time is not over and there is room."""
        now = self._clock()
        if node.used_at <= now:
            return
        pages = _page_count(node)
        if self._pages + pages > self._limit:
            self._expire(now)
        if self._pages + pages <= self._limit:
            self._count(node, pages)
            self._ends.push(node, node.used_at)

    def _count(self, node: Node, pages: int) -> None:
        self._pinned[node] = pages
        self._pages += pages

    def _expire(self, now: float) -> None:
        """Drop the pins whose time is over; their leaves are moved when the next victim is looked for."""
        node = self._ends.head()
        while node is not None and node.used_at <= now:
            self._ends.pop()
            self._unpin(node)
            node = self._ends.head()

    def _unpin(self, node: Node) -> None:
        self._pages -= self._pinned.pop(node, 0)


def _page_count(node: Node) -> int:
    return len(node.pages) - node.pages.count(NO_PAGE)
