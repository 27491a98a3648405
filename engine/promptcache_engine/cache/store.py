"""The pages and who has them: the tree, the free list, locks and eviction, kept in step.

Which prompt gets which pages is the admission's business; how a sequence's pages come into the tree,
publishing's.
"""

from collections.abc import Callable

from promptcache_engine.cache.events import EventLog
from promptcache_engine.cache.ghosts import GhostMemory
from promptcache_engine.cache.hints import Use
from promptcache_engine.cache.lease import NO_PAGE, Lease
from promptcache_engine.cache.node import Node
from promptcache_engine.cache.policies.base import EvictionPolicy
from promptcache_engine.cache.pool import PagePool
from promptcache_engine.cache.tokens import TokenCodec
from promptcache_engine.cache.tree import RadixTree
from promptcache_engine.cache.windows import Windows


class PageStore:
    """State and the moves that keep it consistent; ``evictable`` counts the pages nobody holds.

    ``gaps``: whether a node's pages may have gaps, which a sliding window of all layers leaves.
    """

    def __init__(
        self,
        num_pages: int,
        page_size: int,
        policy: EvictionPolicy,
        *,
        ghost_bytes: int,
        event_limit: int,
        clock: Callable[[], float],
        windows: Windows,
        gaps: bool,
    ) -> None:
        self.windows = windows
        self.gaps = gaps
        self.codec = TokenCodec()
        self.tree = RadixTree(page_size)
        self.pool = PagePool(num_pages)
        self.policy = policy
        self.ghosts = GhostMemory(self.tree, ghost_bytes)
        self.log = EventLog(page_size, self.codec, event_limit, gaps=gaps)
        self.evictable = 0
        self.evicted_pages = 0
        self.page_bytes = self.tree.page_bytes
        self._clock = clock

    # -- locks ----------------------------------------------------------------------------------------

    def lock(self, node: Node) -> None:
        """Hold ``node``; whoever calls this holds its parent."""
        if not node.locks and node.pages:
            self.evictable -= page_count(node) if self.gaps else len(node.pages)
            self.policy.hold(node)
        node.locks += 1

    def unlock(self, node: Node) -> None:
        """Let go of ``node``; its children come before it."""
        node.locks -= 1
        if not node.locks and node.pages:
            self.evictable += page_count(node) if self.gaps else len(node.pages)
            self.policy.release(node)

    def hold_page(self, node: Node) -> Node:
        """Hold the first page of ``node`` alone; return its node."""
        page = self.split(node, 1) if self.tree.num_pages(node) > 1 else node
        self.lock(page)
        return page

    def use_path(self, node: Node, use: Use) -> None:
        """Tell the policy that a sequence that ends at ``node`` used everything on the way from its root."""
        node.turn = use.turn
        path: list[Node] = []
        pages: list[int] = []
        step, parent = node, node.parent
        while parent is not None:
            path.append(step)
            pages.append(page_count(step) if self.gaps else len(step.pages))
            step, parent = parent, parent.parent
        self.policy.use(path, pages, use)

    def unlock_path(self, node: Node, *, keep: bool) -> None:
        """Let go of ``node`` and everything on the way to its root, deepest first.

        ``keep``: whoever else holds them cannot take them back any more.
        """
        step: Node | None = node
        while step is not None:
            if step.locks == 1:
                self.unlock(step)
            else:
                step.locks -= 1
                if keep:
                    step.kept = len(step.run)
            root, step = step, step.parent
        if not root.children and not root.locks:
            self.tree.drop_root(root)

    def touch(self, path: list[Node]) -> None:
        """Make the nodes of ``path``, in order from the root, the ones used last."""
        for node in reversed(path):
            if not node.locks:
                self.policy.release(node)

    def split(self, node: Node, pages: int) -> Node:
        """Cut ``node`` behind ``pages`` pages; return the upper node, which is used at least as late."""
        upper = self.tree.split(node, pages)
        if self.ghosts.size_of(upper):
            self.ghosts.enqueue(upper)
        if not node.locks:
            self.policy.divide(upper, node)
        return upper

    # -- taking pages ---------------------------------------------------------------------------------

    def take(self, count: int) -> list[int]:
        """Take ``count`` pages, free ones first, then evicted ones; the caller knows that there are
        enough."""
        taken = self.pool.take(count)
        if len(taken) < count:
            self._evict_into(taken, count)
        return taken

    def give(self, pages: list[int]) -> None:
        """Put pages back, which hold nothing any more; the last of them is the next to be taken."""
        if self.windows.pools:
            self.windows.detach(pages)
        self.pool.give(pages)

    def evict(self, count: int) -> int:
        """Evict up to ``count`` pages to the free list; return how many went."""
        taken: list[int] = []
        self._evict_into(taken, min(count, self.evictable))
        self.pool.give(taken)
        return len(taken)

    def _evict_into(self, taken: list[int], count: int) -> None:
        now, had = self._clock(), len(taken)
        while len(taken) < count:
            node = self.policy.victim()
            if node is None:
                break
            self._evict_from(node, count - len(taken), taken, now)
        self.evictable -= len(taken) - had
        self.evicted_pages += len(taken) - had
        self.ghosts.trim()

    def _evict_from(self, node: Node, count: int, taken: list[int], now: float) -> None:
        """Take up to ``count`` pages from the end of ``node``, the last first."""
        pages, had = node.pages, len(node.pages)
        end = min(had * self.page_bytes, len(node.run))  # where what is remembered only begins
        kept = _pages_to_keep(pages, count) if self.gaps else max(had - count, 0)
        start = kept * self.page_bytes
        gone = pages[kept:]
        del pages[kept:]
        node.kept = min(node.kept, start)
        self.log.removed(node, kept, gone)
        if self.gaps:
            gone = [page for page in gone if page != NO_PAGE]
        gone.reverse()
        if self.windows.pools:
            self.windows.detach(gone)
        taken += gone
        self.policy.evicted(node, len(gone))
        if not kept:
            self._fade(node)
        node.evicted_at = now
        self.ghosts.remember(node, end - start)

    def keep(self, node: Node) -> None:
        """Count ``node``, which is new to the tree and held by nobody, among what can be evicted."""
        self.evictable += page_count(node)
        self.policy.release(node)

    def drop(self, node: Node) -> None:
        """Free the pages of ``node``, which nobody holds and nothing continues, and forget it."""
        self.evictable -= page_count(node)
        self.policy.lose(node)
        self.give([page for page in node.pages if page != NO_PAGE])
        self._note_bare(self.tree.detach(node))

    def surrender(self, node: Node) -> None:
        """Give up the one page of ``node``, which the caller alone holds, to the caller."""
        node.locks = 0
        self.evicted_pages += 1
        node.evicted_at = self._clock()
        self.strip(node)

    def strip(self, node: Node) -> None:
        """Leave ``node``, which nobody holds, without its pages: they have another owner now."""
        self.log.removed(node, 0, node.pages)
        node.pages = []
        self._fade(node)
        self.ghosts.remember(node, len(node.run))
        self.ghosts.trim()

    def _fade(self, node: Node) -> None:
        parent = node.parent
        assert parent is not None
        self.policy.lose(node)
        parent.fade(node.run[: self.page_bytes])
        if not parent.order:
            self._note_bare(parent)

    def _note_bare(self, parent: Node) -> None:
        if not parent.order and not parent.locks and parent.pages:
            self.policy.bare(parent)

    def free_private(self, lease: Lease) -> None:
        """Free what the lease has outside the tree."""
        private = lease.pages[lease.published :]
        if private:
            self.give([page for page in reversed(private) if page != NO_PAGE])

    def reset(self) -> None:
        """Forget everything; nobody holds anything."""
        pages = [page for node in self.tree.nodes() for page in node.pages if page != NO_PAGE]
        self.give(sorted(pages, reverse=True))
        self.tree.clear()
        self.codec.keep_only(())
        self.ghosts.clear()
        self.policy.clear()
        self.evictable = 0
        self.log.cleared()


def page_count(node: Node) -> int:
    """How many pages ``node`` has."""
    return len(node.pages) - node.pages.count(NO_PAGE)


def _pages_to_keep(pages: list[int], count: int) -> int:
    """How many entries of ``pages`` stay when its last ``count`` pages go, and the gaps before those."""
    if NO_PAGE not in pages:
        return max(len(pages) - count, 0)
    kept = len(pages)
    while kept and (count or pages[kept - 1] == NO_PAGE):
        kept -= 1
        count -= pages[kept] != NO_PAGE
    return kept
