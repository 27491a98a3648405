"""Policies that order leaves by one number, and by the time of release among equals."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from promptcache_engine.cache.hints import Use
from promptcache_engine.cache.node import Node
from promptcache_engine.cache.policies.leaves import NO_RANK, LeafHeap, is_free_leaf, void_if_empty


class RankedPolicy(ABC):
    """Evicts the leaf with the lowest ``key``; among equals the one released longest ago."""

    ranks_uses = True

    def __init__(self) -> None:
        self._leaves = LeafHeap()
        self._releases = 0

    @abstractmethod
    def key(self, node: Node) -> float:
        """Return what ``node`` is ordered by."""

    def release(self, node: Node) -> None:
        """Give ``node`` its place."""
        self._releases += 1
        node.rank = self._releases
        self.bare(node)

    def bare(self, node: Node) -> None:
        """Line ``node`` up if it is a leaf."""
        if is_free_leaf(node):
            self._leaves.push(node, self.key(node))

    def divide(self, upper: Node, lower: Node) -> None:
        """``upper`` has the place of ``lower``, and stands in line when that is no leaf."""
        void_if_empty(lower)
        self.bare(upper)

    def victim(self) -> Node | None:
        """Return the first in line."""
        return self._leaves.head()

    def clear(self) -> None:
        """Forget every node."""
        self._leaves = LeafHeap()

    @abstractmethod
    def use(self, path: Sequence[Node], pages: Sequence[int], use: Use) -> None:
        """Note what ``key`` needs to know of a sequence."""

    def hold(self, node: Node) -> None:
        """Its entry is void."""
        node.rank = NO_RANK

    def evicted(self, node: Node, pages: int) -> None:  # noqa: ARG002 - nothing to note
        """Nothing is learned from it."""
        return

    def lose(self, node: Node) -> None:
        """Its entry is void."""
        node.rank = NO_RANK


class LfuPolicy(RankedPolicy):
    """Evicts what the fewest sequences went through; counts outlive an eviction as long as it is
    remembered."""

    def key(self, node: Node) -> float:
        """The number of sequences."""
        return node.uses

    def use(self, path: Sequence[Node], pages: Sequence[int], use: Use) -> None:  # noqa: ARG002 - all count the same
        """Count the sequence."""
        for node in path:
            node.uses += 1


class PriorityPolicy(RankedPolicy):
    """Evicts the lowest priority first; pages shared by several sequences have the highest of theirs."""

    def key(self, node: Node) -> float:
        """The priority."""
        return node.kind

    def use(self, path: Sequence[Node], pages: Sequence[int], use: Use) -> None:  # noqa: ARG002 - as above
        """Raise the pages to the sequence's priority."""
        priority = use.hints.priority
        for node in path:
            node.kind = max(node.kind, priority) if node.uses else priority
            node.uses = 1
