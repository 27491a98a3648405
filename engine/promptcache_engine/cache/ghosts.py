"""The memory of what was cached once: nodes of the tree without pages, oldest forgotten first.

It makes "evicted" a reason the cache can give, and costs tokens, not pages.
"""

from collections import deque

from promptcache_engine.cache.node import Node
from promptcache_engine.cache.tree import RadixTree

_SWEEP = 64  # nodes in line before those that need not be forgotten are looked for


class GhostMemory:
    """Bounds how many bytes of packed tokens are remembered without pages.

    Nodes stay in line when they get their pages back or leave the tree; they are swept when they may
    outnumber the others, which costs a constant time for each that was put in line.
    """

    def __init__(self, tree: RadixTree, limit: int) -> None:
        self.limit = limit
        self.size = 0
        self._tree = tree
        self._queue: deque[Node] = deque()
        self._sweep_at = _SWEEP

    @property
    def overfull(self) -> bool:
        """Whether more is in line than may be."""
        return len(self._queue) > self._sweep_at

    def remember(self, node: Node, size: int) -> None:
        """``size`` bytes of the run of ``node`` have no page from now on."""
        self.size += size
        if not node.queued:
            self.enqueue(node)

    def enqueue(self, node: Node) -> None:
        """Put a node with remembered bytes in line to be forgotten."""
        if not node.queued:
            if len(self._queue) >= self._sweep_at:
                self._sweep()
            node.queued = True
            self._queue.append(node)

    def recall(self, size: int) -> None:
        """``size`` remembered bytes have pages again, or are gone."""
        self.size -= size

    def trim(self) -> None:
        """Forget the oldest until the limit is kept."""
        while self.size > self.limit and self._queue:
            node = self._queue.popleft()
            node.queued = False
            size = self.size_of(node)
            if node.parent is None or not size:
                continue
            if node.children:  # what continues it came later and is forgotten first
                self.enqueue(node)
                continue
            self.size -= size
            self._forget(node)

    def clear(self) -> None:
        """Forget everything."""
        self._queue.clear()
        self._sweep_at = _SWEEP
        self.size = 0

    def size_of(self, node: Node) -> int:
        """How many bytes of ``node`` are only remembered."""
        return max(len(node.run) - len(node.pages) * self._tree.page_bytes, 0)

    def _sweep(self) -> None:
        """Leave those in line that are in the tree and have something to be forgotten, in their order."""
        queue, self._queue, page_bytes = self._queue, deque(), self._tree.page_bytes
        for node in queue:
            if node.parent is not None and len(node.run) > len(node.pages) * page_bytes:
                self._queue.append(node)
            else:
                node.queued = False
        self._sweep_at = max(_SWEEP, 2 * len(self._queue))

    def _forget(self, node: Node) -> None:
        if node.pages:
            node.run = node.run[: len(node.pages) * self._tree.page_bytes]
            if node.names is not None and len(node.names) > len(node.pages):
                node.names, _ = node.names.cut(len(node.pages))
            node.turn = 0
            return
        parent = self._tree.detach(node)
        if not parent.children and not parent.locks and parent.parent is None:
            self._tree.drop_root(parent)
