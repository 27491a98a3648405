"""How a sequence's pages come into the tree, and how they are taken out of it again.

A lease owns its pages alone until they are published; from then on the tree owns them and the lease holds
them.
"""

from bisect import bisect_left

from promptcache_engine.cache.lease import NO_PAGE, Lease
from promptcache_engine.cache.node import Node, runs
from promptcache_engine.cache.store import PageStore
from promptcache_engine.cache.tokens import shared_bytes

_GROWS_TO = 65_536
"""A node longer than this many bytes is continued by a child, so that growing stays linear."""


class Publisher:
    """Moves pages between leases and the tree of ``store``."""

    def __init__(self, store: PageStore) -> None:
        self._store = store

    def publish(self, lease: Lease, pages: int, *, merge: bool = True) -> None:
        """Bring the lease's first ``pages`` pages, all full, into the tree.

        A page the tree has already is a duplicate: the lease takes over the tree's and frees its own. Without
        ``merge`` publishing stops there instead.
        """
        data, size = lease.settle(), self._store.page_bytes
        while lease.published < pages:
            at = lease.published * size
            child = lease.node.children.get(data[at : at + size])
            if child is None:
                self._grow(lease, data[at : pages * size], pages)
                return
            if child.pages and not merge:
                return
            common = shared_bytes(child.run, data[at : min(at + len(child.run), pages * size)])
            self._merge(lease, child, common // size)

    def _merge(self, lease: Lease, child: Node, pages: int) -> None:
        """Lay the lease's next ``pages`` pages over ``child``, which has the same tokens there."""
        if pages < self._store.tree.num_pages(child):
            child = self._store.split(child, pages)
        assert child.parent is not None
        start = lease.published
        mine = lease.pages[start : start + pages]
        theirs = child.pages + [NO_PAGE] * (pages - len(child.pages))
        missing = [i for i, page in enumerate(theirs) if page == NO_PAGE]
        self._store.lock(child)
        self._store.ghosts.recall(self._store.ghosts.size_of(child))
        if not child.pages:
            page = self._store.tree.first_page(child)
            child.kept = self._drop_subsumed(child.parent, page)
            child.parent.revive(page)
        if self._store.windows:
            self._store.windows.merge(mine, theirs)
        self._store.give([page for page, other in zip(mine, theirs, strict=True) if other != NO_PAGE])
        for i in missing:
            theirs[i] = mine[i]
        child.pages = theirs
        lease.pages[start : start + pages] = theirs
        lease.node, lease.published = child, start + pages
        if len(missing) < pages:
            lease.own_from = start + max(set(range(pages)).difference(missing)) + 1
        for first, end in runs(missing):
            self._store.log.stored(child, first, end)

    def _grow(self, lease: Lease, run: bytes, pages: int) -> None:
        """Bring new pages in below the lease's node, or at its end where it alone is there."""
        node = lease.node
        new = lease.pages[lease.published : pages]
        if self._alone_at(lease, node) and len(node.run) < _GROWS_TO:
            first = len(node.pages)
            node.run += run
            node.pages += new
        else:
            first = 0
            kept = self._drop_subsumed(node, run[: self._store.page_bytes])
            node = lease.node = self._store.tree.attach(node, run, new)
            node.kept, node.locks = kept, 1
        lease.published = pages
        self._store.log.stored(node, first)

    def _alone_at(self, lease: Lease, node: Node) -> bool:
        """Whether ``node`` is the lease's own, and nobody would notice if it grew."""
        own = node.parent is not None and lease.published - len(node.pages) >= lease.own_from
        return own and node.locks == 1 and not node.children

    def add_tail(self, lease: Lease, tail: bytes) -> None:
        """Bring the lease's last page, ``tail`` tokens of it full, into the tree below what is published."""
        node = lease.node
        page = lease.pages[lease.published]
        if page == NO_PAGE or self._held_by_fuller(node, tail):
            return
        if tail not in node.children and self._alone_at(lease, node):
            node.run += tail
            node.pages.append(page)
        else:
            lease.node = self._hang_tail(node, tail, page)
            lease.node.locks = 1
        lease.published += 1

    def _held_by_fuller(self, node: Node, tail: bytes) -> bool:
        """Whether a page below ``node`` holds all of ``tail``; it is used now, and counted on."""
        at = bisect_left(node.order, tail) if node.order else 0
        if at == len(node.order) or not node.order[at].startswith(tail):
            return False
        holder = node.children[node.order[at]]
        if holder.locks:
            holder.kept = max(holder.kept, len(tail))
        else:
            whole = self._store.tree.num_pages(holder) == 1
            self._store.touch([holder if whole else self._store.split(holder, 1)])
        return True

    def _hang_tail(self, parent: Node, tail: bytes, page: int) -> Node:
        """Hang a page that is not full below ``parent``, which has no page that holds all of ``tail``."""
        known = parent.children.get(tail)
        self._drop_subsumed(parent, tail)
        if known is None:
            return self._store.tree.attach(parent, tail, [page])
        self._store.ghosts.recall(self._store.ghosts.size_of(known))
        known.pages, known.kept = [page], 0
        parent.revive(tail)
        return known

    def remember_tail(self, lease: Lease, tail: bytes) -> None:
        """Remember a tail that fills no page, so that "shorter than a page" can be told from "unknown"."""
        if self._store.ghosts.limit and tail not in lease.node.children:
            node = self._store.tree.attach(lease.node, tail, [])
            node.turn = lease.use.turn if lease.use is not None else 0
            self._store.ghosts.remember(node, len(tail))
            self._store.ghosts.trim()

    def _drop_subsumed(self, node: Node, page: bytes) -> int:
        """Drop the half-full page below ``node`` of which ``page`` is the continuation, unless somebody
        reads it; return its length."""
        order = node.order
        at = bisect_left(order, page) - 1 if order else -1
        if at < 0 or not page.startswith(order[at]) or len(order[at]) == len(page):
            return 0
        old = node.children[node.order[at]]
        if old.locks:
            return 0
        self._store.drop(old)
        return len(old.run)

    def release_source(self, lease: Lease) -> None:
        """Let go of the page the lease's copy was made from; drop it when a fuller page holds all of it."""
        source, lease.source = lease.source, None
        if source is None:
            return
        self._store.unlock(source)
        parent, run = source.parent, source.run
        assert parent is not None
        if not source.locks and len(run) < self._store.page_bytes:
            at = bisect_left(parent.order, run) + 1
            if at < len(parent.order) and parent.order[at].startswith(run):
                fuller = parent.children[parent.order[at]]
                fuller.kept = max(fuller.kept, len(run))
                self._store.drop(source)

    def retract(self, lease: Lease, keep: int, tail: int = 0) -> None:
        """Take the lease's pages behind its first ``keep`` out of the tree, as far as nobody else uses
        them.

        Of the page behind those ``tail`` bytes stay, and everywhere what ended sequences count on; a page
        of which a part stays is the tree's then, and no longer the lease's.
        """
        while lease.published > keep:
            node = lease.node
            if node.locks != 1 or node.order:
                return
            whole, kept = divmod(node.kept, self._store.page_bytes)
            base = lease.published - len(node.pages)
            start = max(keep, base + whole)
            if start == lease.published:
                return
            if start > base:
                self._store.split(node, start - base)
            self._take_out(
                lease, start, max(kept if start == base + whole else 0, tail if start == keep else 0)
            )

    def _take_out(self, lease: Lease, start: int, stays: int) -> None:
        """Take the node of the lease, whose pages are the lease's from ``start``, out of the tree; the first
        ``stays`` bytes of its first page stay."""
        node, parent = lease.node, lease.node.parent
        assert parent is not None
        tail = node.run[:stays]
        lease.node, lease.published = parent, start
        node.locks = node.kept = 0
        if node.faded:
            self._store.strip(node)
        else:
            self._store.log.removed(node, 0, node.pages)
            self._store.tree.detach(node)
        if tail and lease.pages[start] != NO_PAGE and not self._held_by_fuller(parent, tail):
            self._store.keep(self._hang_tail(parent, tail, lease.pages[start]))
            lease.pages[start] = NO_PAGE

    def drop_left_of_window(self, lease: Lease, end: int) -> None:
        """Free the pages before page ``end`` that this lease brought into the tree and nobody else holds."""
        node, start = lease.node, lease.published - len(lease.node.pages)
        while node.parent is not None:
            if node.locks == 1:
                for i in range(max(lease.own_from - start, 0), min(len(node.pages), end - start)):
                    page, node.pages[i] = node.pages[i], NO_PAGE
                    if page != NO_PAGE:
                        self._store.give([page])
                        self._store.log.removed(node, i, [page])
            node = node.parent
            start -= len(node.pages)
