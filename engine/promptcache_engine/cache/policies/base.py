"""What the cache asks of an eviction policy; it leaves moving pages to the cache."""

from collections.abc import Sequence
from typing import Protocol

from promptcache_engine.cache.hints import Use
from promptcache_engine.cache.node import Node


class EvictionPolicy(Protocol):
    """Ranks the nodes nobody holds.

    The cache reports nodes from the leaves upward, so a parent is always reported after its children, and
    asks for a victim whenever it needs a page. It then takes pages from the end of that node's run, as many
    as it needs.
    """

    ranks_uses: bool
    """Whether ``use`` matters; a cache spares itself the call where it does not."""

    def use(self, path: Sequence[Node], pages: Sequence[int], use: Use) -> None:
        """A sequence that went through ``path`` (deepest first) ends; its nodes are released right after.

        ``pages``: how many each of them has.
        """

    def release(self, node: Node) -> None:
        """``node`` has pages and nobody holds it, as of now; also called when it is used without being
        held."""

    def hold(self, node: Node) -> None:
        """``node`` is used, and held by a sequence, from now on."""

    def evicted(self, node: Node, pages: int) -> None:
        """The last ``pages`` of ``node``, the victim named just before, are evicted."""

    def lose(self, node: Node) -> None:
        """``node``, which nobody holds, has no pages any more."""

    def bare(self, node: Node) -> None:
        """Nothing below ``node``, which nobody holds, has pages any more."""

    def divide(self, upper: Node, lower: Node) -> None:
        """``upper`` was cut off the front of ``lower``, which nobody holds."""

    def victim(self) -> Node | None:
        """Return the node whose last page should go next: one below which no other node has pages."""

    def clear(self) -> None:
        """Forget every node."""
