"""What the cache tells the outside about its pages: stored, removed, cleared.

Pages are named by their keys (``names``), computed when an event's ``keys`` are read. Only whole pages have
keys. ``wire()`` gives the form vLLM publishes, which routers already read. Whoever sends the events is
somebody else.
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from promptcache_engine.cache.lease import NO_PAGE
from promptcache_engine.cache.names import KeyRun
from promptcache_engine.cache.node import Node, runs
from promptcache_engine.cache.tokens import UNIT, TokenCodec


@dataclass(slots=True, eq=False)
class PagesStored:
    """Pages that became matchable, in order: those of ``names`` from the ``first`` on, with the tokens
    ``packed``."""

    names: KeyRun
    first: int
    packed: bytes
    page_size: int
    at_root: bool
    kind: str = "stored"

    @property
    def keys(self) -> tuple[bytes, ...]:
        """The pages' keys."""
        end = self.first + len(self.packed) // UNIT // self.page_size
        return tuple(self.names.keys()[self.first : end])

    @property
    def parent(self) -> bytes | None:
        """The key of the page before the first; None at the root."""
        return None if self.at_root else self.names.key_before(self.first)

    @property
    def tokens(self) -> tuple[int, ...]:
        """The token ids in the pages."""
        return struct.unpack(f"{len(self.packed) // UNIT}i", self.packed)

    def wire(self) -> list[object]:
        """Return the array vLLM encodes as BlockStored."""
        return ["BlockStored", list(self.keys), self.parent, list(self.tokens), self.page_size, None]


@dataclass(slots=True, eq=False)
class PagesRemoved:
    """Pages of which no copy is left: those of ``names`` from a first to an end, in each of ``ranges``."""

    names: KeyRun
    ranges: Sequence[tuple[int, int]]
    kind: str = "removed"

    @property
    def keys(self) -> tuple[bytes, ...]:
        """The pages' keys."""
        keys = self.names.keys()
        return tuple(key for first, end in self.ranges for key in keys[first:end])

    def wire(self) -> list[object]:
        """Return the array vLLM encodes as BlockRemoved."""
        return ["BlockRemoved", list(self.keys)]


@dataclass(frozen=True, slots=True)
class CacheCleared:
    """Every page announced so far is gone."""

    kind: str = "cleared"

    def wire(self) -> list[object]:
        """Return the array vLLM encodes as AllBlocksCleared."""
        return ["AllBlocksCleared"]


CacheEvent = PagesStored | PagesRemoved | CacheCleared


class EventLog:
    """Collects events until somebody takes them.

    Nobody may ever come: beyond ``limit`` pages waiting, the log drops them and keeps nothing; the next
    reader then gets "cleared" and everything that is stored at that moment, which leaves a mirror as right
    as the events themselves would have. ``gaps``: whether a node's pages may have gaps.
    """

    def __init__(self, page_size: int, codec: TokenCodec, limit: int, *, gaps: bool) -> None:
        self._page_size = page_size
        self._page_bytes = page_size * UNIT
        self._codec = codec
        self._limit = limit
        self._gaps = gaps
        self._events: list[CacheEvent] = []
        self._waiting = 0
        self._overflowed = limit == 0

    def stored(self, node: Node, first: int, end: int | None = None) -> None:
        """Note that ``node`` has pages ``first`` to ``end`` (default: its last) that it had not before."""
        if self._overflowed:
            return
        names = self._names(node)
        end = min(len(node.pages) if end is None else end, names.pages)
        if first < end:
            packed = self._codec.strip(node.run[first * self._page_bytes : end * self._page_bytes])
            parent = node.parent
            at_root = not first and parent is not None and parent.parent is None
            self._add(PagesStored(names, first, packed, self._page_size, at_root), end - first)

    def removed(self, node: Node, first: int, pages: list[int]) -> None:
        """Note that ``node`` loses ``pages``, which start at its page ``first``."""
        if self._overflowed or not pages:
            return
        whole = len(node.run) // self._page_bytes
        end = min(first + len(pages), whole)
        if first >= end:
            return
        names = node.names
        if names is None or names.pages < whole:
            names = self._names(node)
        ranges = [(first, end)]
        if self._gaps and NO_PAGE in pages:
            ranges = list(runs([i for i in range(first, end) if pages[i - first] != NO_PAGE]))
        if ranges:
            self._add(PagesRemoved(names, ranges), end - first)

    def cleared(self) -> None:
        """Note that all pages are gone; what was waiting to be told is void."""
        self._events = [CacheCleared()]
        self._waiting = 1
        self._overflowed = self._limit == 0

    def take(self, roots: Iterable[Node]) -> list[CacheEvent]:
        """Return what happened since the last call, oldest first; ``roots`` serve to tell everything anew."""
        if self._limit == 0:
            return []
        if self._overflowed:
            self.cleared()
            self._waiting = -(2**62)  # telling all of it must not overflow again
            for node in _from_the_roots(roots):
                for first, end in runs([i for i, page in enumerate(node.pages) if page != NO_PAGE]):
                    self.stored(node, first, end)
        taken, self._events, self._waiting = self._events, [], 0
        return taken

    def _add(self, event: CacheEvent, pages: int) -> None:
        self._events.append(event)
        self._waiting += pages
        if self._waiting > self._limit:
            self._events, self._waiting, self._overflowed = [], 0, True

    def _names(self, node: Node) -> KeyRun:
        """Return the names of the whole pages of ``node``, given to it on first use.

        Their keys are computed at once where they depend on extra keys, which may be forgotten later.
        """
        known = node.names
        if known is not None and known.pages >= len(node.run) // self._page_bytes:
            return known
        if known is not None:
            return self._complete(node, known)
        nameless, step = [node], node.parent
        while step is not None and step.names is None:
            nameless.append(step)
            step = step.parent
        assert step is not None
        assert step.names is not None
        names = self._complete(step, step.names)
        for each in reversed(nameless):
            names = each.names = KeyRun(names, self._whole(each, 0), self._page_bytes)
            if self._codec.has_extras:
                names.keys(self._public)
        return names

    def _complete(self, node: Node, names: KeyRun) -> KeyRun:
        """Return ``names``, those of ``node``, grown to all its whole pages."""
        if names.pages < len(node.run) // self._page_bytes and node.parent is not None:
            names.grow(self._whole(node, names.pages))
            if self._codec.has_extras:
                names.keys(self._public)
        return names

    def _whole(self, node: Node, first: int) -> bytes:
        """The tokens of the whole pages of ``node`` from page ``first``."""
        return node.run[first * self._page_bytes : len(node.run) // self._page_bytes * self._page_bytes]

    def _public(self, content: bytes) -> bytes:
        """Return ``content`` as other processes would pack it: real token ids, then the extra keys,
        tagged."""
        extras = self._codec.extras_in(content)
        if not extras:
            return content
        parts = [self._codec.strip(content)]
        for offset, within, key, length in extras:
            raw = key if isinstance(key, bytes) else key.encode("utf-8", "surrogatepass")
            tag = b"b" if isinstance(key, bytes) else b"s"
            parts.append(tag + np.array([offset, within, length, len(raw)], dtype="<i8").tobytes() + raw)
        return b"".join(parts)


def _from_the_roots(roots: Iterable[Node]) -> Iterator[Node]:
    waiting = [child for root in roots for child in root.children.values()]
    while waiting:
        node = waiting.pop()
        if node.pages:
            yield node
            waiting.extend(node.children.values())
