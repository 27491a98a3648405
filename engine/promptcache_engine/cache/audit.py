"""Proves the cache's bookkeeping consistent, or names the first contradiction; it repairs nothing."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from promptcache_engine.cache.errors import InvariantError
from promptcache_engine.cache.lease import NO_PAGE, Lease
from promptcache_engine.cache.node import Node
from promptcache_engine.cache.store import PageStore, page_count


def audit(store: PageStore, leases: Sequence[Lease], num_pages: int) -> None:
    """Raise InvariantError at the first thing that is not as it must be."""
    _owners(store, leases, num_pages)
    _locks(store, leases)
    for root in store.tree.roots.values():
        _children(store, root)
    for node in store.tree.nodes():
        _shape(store, node)
        _children(store, node)
    for lease in leases:
        _lease(store, lease)
    _totals(store)


def _require(holds: bool, broken: str) -> None:  # noqa: FBT001 - reads as an assertion
    if not holds:
        raise InvariantError(broken)


def _owners(store: PageStore, leases: Sequence[Lease], num_pages: int) -> None:
    """Every page is in exactly one of: the free list, one node, one lease's private part."""
    pages = list(store.pool)
    pages += [page for node in store.tree.nodes() for page in node.pages if page != NO_PAGE]
    pages += [page for lease in leases for page in lease.pages[lease.published :] if page != NO_PAGE]
    _require(sorted(pages) == list(range(num_pages)), "a page is lost, or has two owners")


def _locks(store: PageStore, leases: Sequence[Lease]) -> None:
    counts: dict[Node, int] = {}
    for lease in leases:
        holds = [*_upward(lease.node), lease.source] if lease.source else list(_upward(lease.node))
        for node in holds:
            counts[node] = counts.get(node, 0) + 1
    for node in [*store.tree.roots.values(), *store.tree.nodes()]:
        _require(node.locks == counts.pop(node, 0), "a node's locks differ from the leases through it")
    _require(not counts, "a lease holds a node that is not in the tree")


def _upward(node: Node) -> Iterable[Node]:
    step: Node | None = node
    while step is not None:
        yield step
        step = step.parent


def _shape(store: PageStore, node: Node) -> None:
    total = store.tree.num_pages(node)
    whole = len(node.run) % store.page_bytes == 0
    _require(bool(node.run), "a node has no tokens")
    _require(len(node.pages) <= total, "a node has more pages than tokens")
    _require(whole or not node.children, "something continues a page that is not full")
    _require(node.parent is not None, "a node lost its parent")
    _require(not node.order or len(node.pages) == total, "pages hang below a gap")
    _require(not node.locks or len(node.pages) == total, "a held node misses pages")
    in_line = node.queued or not store.ghosts.size_of(node)
    _require(in_line, "remembered tokens are not in line to be forgotten")


def _children(store: PageStore, node: Node) -> None:
    for key, child in node.children.items():
        at_home = store.tree.first_page(child) == key and child.parent is node
        _require(at_home, "a child hangs at the wrong place")
    with_pages = sorted(key for key, child in node.children.items() if child.pages)
    without = sorted(key for key, child in node.children.items() if not child.pages)
    _require(
        list(node.order) == with_pages and list(node.faded) == without, "a node's order of children is wrong"
    )
    for page, following in pairwise(with_pages):
        needed = not following.startswith(page) or node.children[page].locks > 0
        _require(needed, "a half-full page is kept although a fuller one holds the same")


def _lease(store: PageStore, lease: Lease) -> None:
    path = [node for node in _upward(lease.node) if node.parent is not None][::-1]
    tokens = lease.settle()
    run = b"".join(node.run for node in path)
    _require(tokens.startswith(run), "a lease holds a path of other tokens")
    _require(len(run) == lease.published * store.page_bytes, "a lease miscounts what it published")
    pages = [page for node in path for page in node.pages]
    shown = lease.pages[: lease.published]
    same = all(
        theirs in (mine, NO_PAGE) or mine == NO_PAGE for mine, theirs in zip(shown, pages, strict=True)
    )
    _require(same, "a lease lists other pages than the tree holds for it")
    _require(
        len(lease.pages) == -(-len(tokens) // store.page_bytes), "a lease has too many pages, or too few"
    )


def _totals(store: PageStore) -> None:
    nodes = list(store.tree.nodes())
    _require(
        store.evictable == sum(page_count(node) for node in nodes if not node.locks),
        "cached pages are miscounted",
    )
    _require(store.ghosts.size == sum(map(store.ghosts.size_of, nodes)), "remembered tokens are miscounted")
    _require(store.ghosts.size <= store.ghosts.limit, "more is remembered than may be")
    _require(not store.ghosts.overfull, "what is in line to be forgotten is never swept")
    held = {node for node in nodes if node.locks}
    _require(
        all(child not in held or node.locks for node in nodes for child in node.children.values()),
        "a held node hangs below one that is not held",
    )
