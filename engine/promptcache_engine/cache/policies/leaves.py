"""Unheld leaves in order of a rank; what the policies share that do not go by the order of release alone."""

from heapq import heapify, heappop, heappush

from promptcache_engine.cache.node import Node

NO_RANK = 0
"""The rank of a node that stands in no line: one that is held, or has no pages. Releases count from 1."""


class LeafHeap:
    """Leaves nobody holds, lowest ``(key, rank)`` first.

    Entries are not taken out when a node changes: one is void when its node has another rank by now, which
    whoever holds a node, cuts its pages off or takes its last one sees to. (Nothing new can come below a node
    that nobody holds.) Void entries are swept when they outnumber the others.
    """

    __slots__ = ("_heap", "_sweep_at", "_ties")

    def __init__(self) -> None:
        self._heap: list[tuple[float, float, int, Node]] = []
        self._sweep_at = 256
        self._ties = 0

    def push(self, node: Node, key: float = 0.0) -> None:
        """Add ``node``, whose rank is set."""
        if len(self._heap) >= self._sweep_at:
            self._heap = [entry for entry in self._heap if _valid(entry)]  # as ``head`` has it
            heapify(self._heap)
            self._sweep_at = max(256, 2 * len(self._heap))
        self._ties += 1
        heappush(self._heap, (key, node.rank, self._ties, node))

    def head(self) -> Node | None:
        """Return the lowest leaf."""
        heap = self._heap
        while heap:
            _, rank, _, node = heap[0]
            if node.rank == rank:
                return node
            heappop(heap)
        return None

    def pop(self) -> None:
        """Take the lowest leaf out."""
        heappop(self._heap)


def is_free_leaf(node: Node) -> bool:
    """Whether ``node`` has pages, nobody holds it, and nothing below it has pages."""
    return bool(node.pages) and not node.locks and not node.order


def void_if_empty(lower: Node) -> None:
    """Make void the entry of a node that was cut and has no pages behind the cut."""
    if not lower.pages:
        lower.rank = NO_RANK


def _valid(entry: tuple[float, float, int, Node]) -> bool:
    return entry[1] == entry[3].rank
