"""The radix tree over packed tokens: finding a prompt in it, and splitting nodes where a page ends.

It knows which nodes have pages and which are only remembered, but neither locks nor evicts.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from promptcache_engine.cache.names import KeyRun
from promptcache_engine.cache.namespaces import Namespace, namespace_seed
from promptcache_engine.cache.node import Node, nearest
from promptcache_engine.cache.tokens import UNIT, shared_bytes


@dataclass(slots=True)
class Match:
    """What the tree knows of a prompt; lengths in bytes of packed tokens.

    ``path``: nodes with pages, each matched over its first page at least, the last perhaps not to its end.
    ``stored``: how far the prompt lies in pages, to the token, the first page of ``sibling`` included.
    ``known``: how far the prompt is remembered at all. ``beyond``: the remembered nodes behind ``stored``.
    ``end``: the node whose run ends where ``known`` does, if one does.
    """

    path: list[Node] = field(default_factory=list)
    stored: int = 0
    known: int = 0
    sibling: Node | None = None
    beyond: list[Node] = field(default_factory=list)
    end: Node | None = None


class RadixTree:
    """One root per namespace; a root holds the namespace's key seed and no tokens."""

    def __init__(self, page_size: int) -> None:
        self.page_bytes = page_size * UNIT
        self.roots: dict[str | Namespace, Node] = {}
        self._names: dict[Node, str | Namespace] = {}

    def root(self, namespace: str | Namespace) -> Node:
        """Return the root of ``namespace``, made on first use."""
        root = self.roots.get(namespace)
        if root is None:
            root = self.roots[namespace] = Node(None, b"", [])
            root.names = KeyRun.seeded(namespace_seed(namespace))
            self._names[root] = namespace
        return root

    def drop_root(self, root: Node) -> None:
        """Forget a namespace that has nothing left."""
        self.roots.pop(self._names.pop(root), None)

    def clear(self) -> None:
        """Forget every namespace."""
        self.roots.clear()
        self._names.clear()

    def num_pages(self, node: Node) -> int:
        """How many pages the run of ``node`` takes."""
        return -(-len(node.run) // self.page_bytes)

    def first_page(self, node: Node) -> bytes:
        """The key of ``node`` in its parent's children."""
        return node.run[: self.page_bytes]

    def find(self, root: Node | None, data: bytes) -> Match:
        """Follow ``data`` from ``root`` as far as the tree knows it."""
        match = Match()
        if root is None:
            return match
        node, at = self._follow_stored(root, data, match.path)
        match.stored = match.known = at
        match.end = node
        storing = True
        while True:
            page = data[at : at + self.page_bytes]
            child = node.children.get(page)
            if storing and (child is None or not child.pages):
                storing = False
                key, common = nearest(node.order, page)
                if common:
                    match.sibling = node.children[key]
                    match.stored = match.known = at + common
                    match.end = match.sibling if len(match.sibling.run) == common else None
            if child is None:
                key, common = nearest(node.faded, page)
                if at + common > match.known:
                    match.known = at + common
                    match.beyond.append(node.children[key])
                    match.end = match.beyond[-1] if len(match.beyond[-1].run) == common else None
                return match
            matched = self._matched(child.run, data, at)
            if storing:
                match.path.append(child)
                storing = self._note_stored(match, child, at, matched)
            if not storing:
                match.beyond.append(child)
            at += matched
            if at > match.known:
                match.known = at
                match.end = child if matched == len(child.run) else None
            if matched < len(child.run):
                return match
            node = child

    def _follow_stored(self, node: Node, data: bytes, path: list[Node]) -> tuple[Node, int]:
        """Follow ``data`` through nodes that it matches whole and that have all their pages; note them in
        ``path``."""
        at, size = 0, self.page_bytes
        while True:
            child = node.children.get(data[at : at + size])
            if child is None or not data.startswith(child.run, at):
                return node, at
            if len(child.pages) * size < len(child.run):
                return node, at
            path.append(child)
            at += len(child.run)
            node = child

    def _matched(self, run: bytes, data: bytes, at: int) -> int:
        if data.startswith(run, at):
            return len(run)
        return shared_bytes(run, data[at : at + len(run)])

    def _note_stored(self, match: Match, child: Node, at: int, matched: int) -> bool:
        """Note how much of ``child`` lies in pages; say whether the pages may go on behind it."""
        stored = len(child.pages) * self.page_bytes
        if stored >= len(child.run):
            match.stored = at + matched
            return True
        match.stored = at + min(stored, matched)
        return False

    def split(self, node: Node, pages: int) -> Node:
        """Cut ``node`` behind its first ``pages`` pages and return the new upper node; ``node`` is the
        lower one.

        Both carry the locks ``node`` had.
        """
        parent = node.parent
        assert parent is not None
        cut = pages * self.page_bytes
        upper = Node(parent, node.run[:cut], node.pages[:pages])
        if node.names is not None and len(node.names) == len(node.run) // self.page_bytes:
            upper.names, node.names = node.names.cut(pages)
        else:
            node.names = None
        upper.locks = node.locks
        upper.kept, node.kept = min(node.kept, cut), max(node.kept - cut, 0)
        upper.evicted_at = node.evicted_at
        upper.inherit(node)
        parent.replace(self.first_page(upper), upper)
        node.run = node.run[cut:]
        node.pages = node.pages[pages:]
        upper.adopt(self.first_page(node), node)
        return upper

    def attach(self, parent: Node, run: bytes, pages: list[int]) -> Node:
        """Hang a new node below ``parent``."""
        node = Node(parent, run, pages)
        parent.adopt(self.first_page(node), node)
        return node

    def detach(self, node: Node) -> Node:
        """Take ``node`` out of the tree, without pages from then on, and return its parent."""
        parent = node.parent
        assert parent is not None
        parent.disown(self.first_page(node))
        node.pages = []  # whoever still points at the node must not take it for one that has some
        return parent

    def nodes(self) -> Iterator[Node]:
        """Every node but the roots, parents before their children."""
        waiting = [child for root in self.roots.values() for child in root.children.values()]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(node.children.values())
