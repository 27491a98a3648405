"""What the cache asks of an eviction policy; it leaves moving pages to the cache."""

from typing import Protocol

from promptcache_engine.cache.node import Node


class EvictionPolicy(Protocol):
    """Ranks the nodes nobody holds.

    The cache reports nodes from the leaves upward, so a parent is always reported after its children, and
    asks for a victim whenever it needs a page. It then takes pages from the end of that node's run, as many
    as it needs.
    """

    def release(self, node: Node) -> None:
        """``node`` has pages and nobody holds it, as of now; also called when it is used without being
        held."""

    def hold(self, node: Node) -> None:
        """``node`` is held by a sequence, or has no pages any more."""

    def victim(self) -> Node | None:
        """Return the node whose last page should go next: one below which no other node has pages."""

    def clear(self) -> None:
        """Forget every node."""
