"""What the cache tells the outside about its pages: stored, removed, cleared.

A page leaving the process is named by its key: SHA-256 over the key of the page before it and its own
packed tokens, the first page continuing the namespace's seed. So equal pages at another depth, in another
namespace or under another image have other keys. Only whole pages have keys. ``wire()`` gives the form vLLM
publishes, which routers already read. Whoever sends the events is somebody else.
"""

import hashlib
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from promptcache_engine.cache.lease import NO_PAGE
from promptcache_engine.cache.node import Node, runs
from promptcache_engine.cache.tokens import UNIT, TokenCodec


@dataclass(frozen=True, slots=True)
class PagesStored:
    """Pages that became matchable, in order; ``parent`` is the key of the page before the first, None at
    the root."""

    keys: tuple[bytes, ...]
    parent: bytes | None
    packed: bytes
    page_size: int
    kind: str = "stored"

    @property
    def tokens(self) -> tuple[int, ...]:
        """The token ids in the pages."""
        return struct.unpack(f"{len(self.packed) // UNIT}i", self.packed)

    def wire(self) -> list[object]:
        """Return the array vLLM encodes as BlockStored."""
        return ["BlockStored", list(self.keys), self.parent, list(self.tokens), self.page_size, None]


@dataclass(frozen=True, slots=True)
class PagesRemoved:
    """Pages of which no copy is left."""

    keys: tuple[bytes, ...]
    kind: str = "removed"

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
    as the events themselves would have.
    """

    def __init__(self, page_size: int, codec: TokenCodec, limit: int) -> None:
        self._page_size = page_size
        self._page_bytes = page_size * UNIT
        self._codec = codec
        self._limit = limit
        self._events: list[CacheEvent] = []
        self._waiting = 0
        self._overflowed = limit == 0

    def stored(self, node: Node, first: int, end: int | None = None) -> None:
        """Note that ``node`` has pages ``first`` to ``end`` (default: its last) that it had not before."""
        if self._overflowed:
            return
        self._complete_keys(node)
        keys = tuple(node.keys[first:end])
        if keys:
            run = self._codec.strip(self._run(node, first, len(keys)))
            self._events.append(PagesStored(keys, _parent_key(node, first), run, self._page_size))
            self._count(len(keys))

    def removed(self, keys: Iterable[bytes]) -> None:
        """Note that the pages named ``keys`` are gone."""
        gone = tuple(keys)
        if gone and not self._overflowed:
            self._events.append(PagesRemoved(gone))
            self._count(len(gone))

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
                del node.keys[:]
                for first, end in runs([i for i, page in enumerate(node.pages) if page != NO_PAGE]):
                    self.stored(node, first, end)
                self._complete_keys(node)
        taken, self._events, self._waiting = self._events, [], 0
        return taken

    def _count(self, pages: int) -> None:
        self._waiting += pages
        if self._waiting > self._limit:
            self._events, self._waiting, self._overflowed = [], 0, True

    def _run(self, node: Node, first: int, pages: int) -> bytes:
        return node.run[first * self._page_bytes : (first + pages) * self._page_bytes]

    def _complete_keys(self, node: Node) -> None:
        """Compute the keys ``node`` lacks for its whole pages."""
        assert node.parent is not None
        keys, size = node.keys, self._page_bytes
        previous = keys[-1] if keys else node.parent.keys[-1]
        end = min(len(node.pages), len(node.run) // size)
        extras = self._codec.has_extras
        run, sha256, add = node.run, hashlib.sha256, keys.append
        for at in range(len(keys) * size, end * size, size):
            content = run[at : at + size]
            previous = sha256(previous + (self._public(content) if extras else content)).digest()
            add(previous)

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


def _parent_key(node: Node, first: int) -> bytes | None:
    if first:
        return node.keys[first - 1]
    parent = node.parent
    return parent.keys[-1] if parent is not None and parent.parent is not None else None


def _from_the_roots(roots: Iterable[Node]) -> Iterator[Node]:
    waiting = [child for root in roots for child in root.children.values()]
    while waiting:
        node = waiting.pop()
        if node.pages:
            yield node
            waiting.extend(node.children.values())
