"""The pages and who has them: the tree, the free list, locks, eviction and the memory of the evicted, kept
in step.

It moves pages for leases that exist; which prompt gets which pages is the admission's business.
"""

from bisect import bisect_left
from collections.abc import Callable

from promptcache_engine.cache.events import EventLog
from promptcache_engine.cache.ghosts import GhostMemory
from promptcache_engine.cache.lease import NO_PAGE, Lease
from promptcache_engine.cache.node import Node, runs
from promptcache_engine.cache.policies.base import EvictionPolicy
from promptcache_engine.cache.pool import PagePool
from promptcache_engine.cache.tokens import TokenCodec, shared_bytes
from promptcache_engine.cache.tree import RadixTree

_GROWS_TO = 65_536
"""A node longer than this many bytes is continued by a child, so that growing stays linear."""


class PageStore:
    """State and the moves that keep it consistent; ``evictable`` counts the pages nobody holds."""

    def __init__(
        self,
        num_pages: int,
        page_size: int,
        policy: EvictionPolicy,
        *,
        ghost_bytes: int,
        event_limit: int,
        clock: Callable[[], float],
    ) -> None:
        self.codec = TokenCodec()
        self.tree = RadixTree(page_size)
        self.pool = PagePool(num_pages)
        self.policy = policy
        self.ghosts = GhostMemory(self.tree, ghost_bytes)
        self.log = EventLog(page_size, self.codec, event_limit)
        self.evictable = 0
        self.evicted_pages = 0
        self.page_bytes = self.tree.page_bytes
        self._clock = clock

    # -- locks ----------------------------------------------------------------------------------------

    def lock(self, node: Node) -> None:
        """Hold ``node``; whoever calls this holds its parent."""
        if not node.locks and node.pages:
            self.evictable -= page_count(node)
            self.policy.hold(node)
        node.locks += 1

    def unlock(self, node: Node) -> None:
        """Let go of ``node``; its children come before it."""
        node.locks -= 1
        if not node.locks and node.pages:
            self.evictable += page_count(node)
            self.policy.release(node)

    def unlock_path(self, node: Node) -> None:
        """Let go of ``node`` and everything on the way to its root, deepest first."""
        step: Node | None = node
        while step is not None:
            self.unlock(step)
            root, step = step, step.parent
        if not root.children and not root.locks:
            self.tree.drop_root(root)

    def touch(self, path: list[Node]) -> None:
        """Make the nodes of ``path``, in order from the root, the ones used last."""
        for node in reversed(path):
            if not node.locks and node.pages:
                self.policy.release(node)

    def split(self, node: Node, pages: int) -> Node:
        """Cut ``node`` behind ``pages`` pages; return the upper node, which is used at least as late."""
        upper = self.tree.split(node, pages)
        if self.ghosts.size_of(upper):
            self.ghosts.enqueue(upper)
        if not node.locks:
            if not node.pages:
                self.policy.hold(node)
            if upper.pages:
                self.policy.release(upper)
        return upper

    # -- taking pages ---------------------------------------------------------------------------------

    def take(self, count: int) -> list[int]:
        """Take ``count`` pages, free ones first, then evicted ones; the caller knows that there are as
        many."""
        taken = self.pool.take(count)
        if len(taken) < count:
            self._evict_into(taken, count)
        return taken

    def evict(self, count: int) -> int:
        """Evict up to ``count`` pages to the free list; return how many went."""
        taken: list[int] = []
        self._evict_into(taken, min(count, self.evictable))
        self.pool.give(taken)
        return len(taken)

    def _evict_into(self, taken: list[int], count: int) -> None:
        while len(taken) < count:
            node = self.policy.victim()
            if node is None:
                break
            self._evict_from(node, count - len(taken), taken)
        self.ghosts.trim()

    def _evict_from(self, node: Node, count: int, taken: list[int]) -> None:
        """Take up to ``count`` pages from the end of ``node``, the last first."""
        before = self.ghosts.size_of(node)
        pages = node.pages
        kept = len(pages)
        found = len(taken)
        while kept and (count or pages[kept - 1] == NO_PAGE):
            kept -= 1
            if pages[kept] != NO_PAGE:
                taken.append(pages[kept])
                count -= 1
        found = len(taken) - found
        self.log.removed(
            key for key, page in zip(node.keys[kept:], pages[kept:], strict=False) if page != NO_PAGE
        )
        del pages[kept:], node.keys[kept:]
        self.evictable -= found
        self.evicted_pages += found
        if not kept:
            self._fade(node)
        node.evicted_at = self._clock()
        self.ghosts.remember(node, self.ghosts.size_of(node) - before)

    def surrender(self, node: Node) -> None:
        """Give up the one page of ``node``, which the caller alone holds, to the caller."""
        node.locks = 0
        self.log.removed(node.keys)
        node.pages, node.keys = [], []
        self.evicted_pages += 1
        self._fade(node)
        node.evicted_at = self._clock()
        self.ghosts.remember(node, len(node.run))
        self.ghosts.trim()

    def _fade(self, node: Node) -> None:
        assert node.parent is not None
        self.policy.hold(node)
        node.parent.fade(self.tree.first_page(node))

    # -- giving pages to the tree ---------------------------------------------------------------------

    def publish(self, lease: Lease, pages: int, *, merge: bool = True) -> None:
        """Bring the lease's first ``pages`` pages, all full, into the tree.

        A page the tree has already is a duplicate: the lease takes over the tree's and frees its own. Without
        ``merge`` publishing stops there instead.
        """
        data = lease.settle()
        while lease.published < pages:
            at = lease.published * self.page_bytes
            child = lease.node.children.get(data[at : at + self.page_bytes])
            if child is None:
                self._grow(lease, data[at : pages * self.page_bytes], pages)
                return
            if child.pages and not merge:
                return
            common = shared_bytes(child.run, data[at : min(at + len(child.run), pages * self.page_bytes)])
            self._merge(lease, child, common // self.page_bytes)

    def _merge(self, lease: Lease, child: Node, pages: int) -> None:
        """Lay the lease's next ``pages`` pages over ``child``, which has the same tokens there."""
        if pages < self.tree.num_pages(child):
            child = self.split(child, pages)
        assert child.parent is not None
        start = lease.published
        mine = lease.pages[start : start + pages]
        theirs = child.pages + [NO_PAGE] * (pages - len(child.pages))
        missing = [i for i, page in enumerate(theirs) if page == NO_PAGE]
        self.lock(child)
        self.ghosts.recall(self.ghosts.size_of(child))
        if not child.pages:
            child.parent.revive(self.tree.first_page(child))
        self.pool.give(page for page, other in zip(mine, theirs, strict=True) if other != NO_PAGE)
        for i in missing:
            theirs[i] = mine[i]
        child.pages = theirs
        lease.pages[start : start + pages] = theirs
        lease.node, lease.published = child, start + pages
        if len(missing) < pages:
            lease.own_from = start + max(set(range(pages)).difference(missing)) + 1
        for first, end in runs(missing):
            self.log.stored(child, first, end)

    def _grow(self, lease: Lease, run: bytes, pages: int) -> None:
        """Bring new pages in below the lease's node, or at its end where it alone is there."""
        node = lease.node
        new = lease.pages[lease.published : pages]
        if node.locks == 1 and node.parent is not None and not node.children and len(node.run) < _GROWS_TO:
            first = len(node.pages)
            node.run += run
            node.pages += new
        else:
            first = 0
            self._drop_subsumed(node, run[: self.page_bytes])
            node = lease.node = self.tree.attach(node, run, new)
            node.locks = 1
        lease.published = pages
        self.log.stored(node, first)

    def add_tail(self, lease: Lease, tail: bytes) -> None:
        """Bring the lease's last page, ``tail`` tokens of it full, into the tree below what is published."""
        node = lease.node
        page = lease.pages[lease.published]
        at = bisect_left(node.order, tail)
        if at < len(node.order) and node.order[at].startswith(tail):
            holder = node.children[node.order[at]]
            if not holder.locks:
                if self.tree.num_pages(holder) > 1:
                    holder = self.split(holder, 1)
                self.touch([holder])
            return
        known = node.children.get(tail)
        if known is not None:
            self.ghosts.recall(self.ghosts.size_of(known))
            known.pages = [page]
            node.revive(tail)
            known.locks = 1
        elif node.locks == 1 and node.parent is not None and not node.children:
            node.run += tail
            node.pages.append(page)
            lease.published += 1
            return
        else:
            self._drop_subsumed(node, tail)
            known = self.tree.attach(node, tail, [page])
            known.locks = 1
        lease.node = known
        lease.published += 1

    def remember_tail(self, lease: Lease, tail: bytes) -> None:
        """Remember a tail that fills no page, so that "shorter than a page" can be told from "unknown"."""
        if self.ghosts.limit and tail not in lease.node.children:
            node = self.tree.attach(lease.node, tail, [])
            self.ghosts.remember(node, len(tail))
            self.ghosts.trim()

    def _drop_subsumed(self, node: Node, page: bytes) -> None:
        """Drop the half-full page below ``node`` of which ``page`` is the continuation, unless somebody
        reads it."""
        at = bisect_left(node.order, page) - 1
        if at < 0 or not page.startswith(node.order[at]) or len(node.order[at]) == len(page):
            return
        old = node.children[node.order[at]]
        if old.locks:
            return
        self.evictable -= page_count(old)
        self.policy.hold(old)
        self.pool.give(page for page in old.pages if page != NO_PAGE)
        self.tree.detach(old)

    # -- taking pages back from the tree --------------------------------------------------------------

    def retract(self, lease: Lease, keep: int) -> None:
        """Take the lease's pages behind its first ``keep`` out of the tree, as far as nobody else uses
        them."""
        while lease.published > keep:
            node = lease.node
            if node.locks != 1 or node.order:
                return
            start = lease.published - len(node.pages)
            if start < keep:
                self.split(node, keep - start)
                start = keep
            assert node.parent is not None
            lease.node, lease.published = node.parent, start
            self.log.removed(node.keys)
            node.locks = 0
            node.keys = []
            if node.faded:
                node.parent.fade(self.tree.first_page(node))
                node.pages = []
                self.ghosts.remember(node, len(node.run))
                self.ghosts.trim()
            else:
                self.tree.detach(node)

    def drop_left_of_window(self, lease: Lease, end: int) -> None:
        """Free the pages before page ``end`` that this lease brought into the tree and nobody else holds."""
        node, start = lease.node, lease.published - len(lease.node.pages)
        while node.parent is not None:
            if node.locks == 1:
                for i in range(max(lease.own_from - start, 0), min(len(node.pages), end - start)):
                    page, node.pages[i] = node.pages[i], NO_PAGE
                    if page != NO_PAGE:
                        self.pool.give([page])
                        self.log.removed(node.keys[i : i + 1])
            node = node.parent
            start -= len(node.pages)

    def free_private(self, lease: Lease) -> None:
        """Free what the lease has outside the tree."""
        self.pool.give(page for page in reversed(lease.pages[lease.published :]) if page != NO_PAGE)

    def reset(self) -> None:
        """Forget everything; nobody holds anything."""
        pages = [page for node in self.tree.nodes() for page in node.pages if page != NO_PAGE]
        self.pool.give(sorted(pages, reverse=True))
        self.tree.clear()
        self.codec.keep_only(())
        self.ghosts.clear()
        self.policy.clear()
        self.evictable = 0
        self.log.cleared()


def page_count(node: Node) -> int:
    """How many pages ``node`` has."""
    return len(node.pages) - node.pages.count(NO_PAGE)
