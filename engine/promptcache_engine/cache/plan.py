"""Which nodes and pages of the tree make up the reusable part of a prompt."""

from dataclasses import dataclass

from promptcache_engine.cache.lease import NO_PAGE
from promptcache_engine.cache.node import Node
from promptcache_engine.cache.tree import Match


@dataclass(slots=True)
class Plan:
    """How a match becomes a lease.

    ``path`` are the nodes whose pages are shared, the last only over its first ``last_pages`` pages;
    ``shared`` pages in all. ``copied`` tokens of the page behind them are copied; ``source`` is the node that
    has it, first once the last node of ``path`` is cut.
    """

    path: list[Node]
    last_pages: int
    shared: int
    copied: int
    source: Node | None

    @property
    def unheld(self) -> int:
        """Pages the plan would hold that nobody holds now, the source's included."""
        held = 0
        for node in self.path:
            if not node.locks:
                pages = node.pages[: self.last_pages] if node is self.path[-1] else node.pages
                held += len(pages) - pages.count(NO_PAGE)
        return held + self.source_unheld

    @property
    def source_unheld(self) -> int:
        """1 when there is a page to copy from and nobody holds it."""
        return int(self.source is not None and not self.source.locks)


def make_plan(match: Match, hit: int, page_size: int) -> Plan:
    """Find the nodes and pages that give ``hit`` tokens of ``match``."""
    shared, copied = divmod(hit, page_size)
    path: list[Node] = []
    last_pages, left = 0, shared
    source = match.sibling  # unless the prompt leaves the path before its end
    for node in match.path:
        if left:
            path.append(node)
            last_pages = min(left, len(node.pages))
        if left < len(node.pages):
            source = node
            break
        left -= last_pages
    return Plan(path, last_pages, shared, copied, source if copied else None)


def pages_of(match: Match) -> list[int]:
    """Return the pages a match lies in."""
    pages = [page for node in match.path for page in node.pages]
    if match.sibling is not None:
        pages.append(match.sibling.pages[0])
    return pages
