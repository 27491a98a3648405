"""Least recently used first."""

from collections import OrderedDict
from collections.abc import Sequence

from promptcache_engine.cache.hints import Use
from promptcache_engine.cache.node import Node


class LruPolicy:
    """Evicts what was released longest ago.

    Since a parent is released after its children, the oldest node never has younger pages below it: the
    order of release alone yields leaves.
    """

    ranks_uses = False

    def __init__(self) -> None:
        self._nodes: OrderedDict[Node, None] = OrderedDict()

    def release(self, node: Node) -> None:
        """Make ``node`` the youngest."""
        self._nodes[node] = None
        self._nodes.move_to_end(node)

    def hold(self, node: Node) -> None:
        """Take ``node`` out of the order."""
        self._nodes.pop(node, None)

    def evicted(self, node: Node, pages: int) -> None:
        """Nothing is learned from it."""

    def lose(self, node: Node) -> None:
        """Take ``node`` out of the order."""
        self._nodes.pop(node, None)

    def divide(self, upper: Node, lower: Node) -> None:
        """Put ``upper`` after ``lower``."""
        if not lower.pages:
            self._nodes.pop(lower, None)
        if upper.pages:
            self.release(upper)

    def victim(self) -> Node | None:
        """Return the oldest node."""
        return next(iter(self._nodes), None)

    def clear(self) -> None:
        """Forget every node."""
        self._nodes.clear()

    def use(self, path: Sequence[Node], pages: Sequence[int], use: Use) -> None:
        """Only the order of release counts here."""

    def bare(self, node: Node) -> None:
        """The order of release already yields leaves."""
