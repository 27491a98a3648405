"""One node of the radix tree: a run of tokens, the pages that hold it, and what continues it."""

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from promptcache_engine.cache.tokens import UNIT, shared_bytes

if TYPE_CHECKING:
    from promptcache_engine.cache.names import KeyRun


class Node:
    """A run of tokens with one way in and any number of ways on.

    Runs start at a page's first token. ``pages[i]`` holds the i-th page of the run; a list shorter than the
    run means the rest was evicted and is only remembered. A page that is not full can only be a run's last,
    and nothing continues it. ``order`` and ``faded`` are the children's first pages, sorted, of those with
    and without pages. ``names`` are the public keys of whole pages, once somebody may ask for them.
    ``locks`` counts the leases that pass through. ``kept`` bytes at the front of the run stay when the
    sequence that brought them is aborted: others that ended count on them. ``turn`` says which turn of a
    conversation ended at the end of the run; 0 when none did.

    The rest belongs to the eviction policy and is the same for all pages of a run: ``uses`` sequences that
    went through, ``rank`` its place among others, ``kind`` its class, ``used_at`` and ``epoch`` when it was
    used last, ``bets`` how many of its pages were evicted before their time.
    """

    __slots__ = (
        "bets",
        "children",
        "epoch",
        "evicted_at",
        "faded",
        "kept",
        "kind",
        "locks",
        "names",
        "order",
        "pages",
        "parent",
        "queued",
        "rank",
        "run",
        "turn",
        "used_at",
        "uses",
    )

    children: Mapping[bytes, "Node"]
    order: Sequence[bytes]
    faded: Sequence[bytes]

    def __init__(self, parent: "Node | None", run: bytes, pages: list[int]) -> None:
        self.parent = parent
        self.run = run
        self.pages = pages
        self.names: KeyRun | None = None
        self.children = _NO_CHILDREN  # most nodes never have any
        self.order = self.faded = ()
        self.kept = 0
        self.locks = 0
        self.evicted_at: float | None = None
        self.queued = False
        self.turn = 0
        self.uses = 0
        self.rank: float = 0
        self.kind = -1
        self.epoch = 0
        self.bets = 0
        self.used_at = 0.0

    def adopt(self, key: bytes, child: "Node") -> None:
        """Hang ``child`` below this node."""
        child.parent = self
        self._put(key, child)
        if child.pages:
            self.order = _with(self.order, key)
        else:
            self.faded = _with(self.faded, key)

    def replace(self, key: bytes, child: "Node") -> None:
        """Hang ``child`` where another with the same first page, and with pages as it has, hangs."""
        child.parent = self
        self._put(key, child)

    def disown(self, key: bytes) -> None:
        """Take the child at ``key`` away."""
        child = cast("dict[bytes, Node]", self.children).pop(key)
        child.parent = None
        _discard(self.order if child.pages else self.faded, key)

    def fade(self, key: bytes) -> None:
        """Note that the child at ``key`` lost its last page."""
        _discard(self.order, key)
        self.faded = _with(self.faded, key)

    def revive(self, key: bytes) -> None:
        """Note that the child at ``key`` got its first page."""
        _discard(self.faded, key)
        self.order = _with(self.order, key)

    def inherit(self, other: "Node") -> None:
        """Take over what the eviction policy knows of ``other``."""
        self.uses, self.rank, self.kind = other.uses, other.rank, other.kind
        self.used_at, self.epoch = other.used_at, other.epoch

    def _put(self, key: bytes, child: "Node") -> None:
        if isinstance(self.children, dict):
            self.children[key] = child
        else:
            self.children = {key: child}


_NO_CHILDREN: Mapping[bytes, Node] = MappingProxyType({})


def _with(keys: Sequence[bytes], key: bytes) -> Sequence[bytes]:
    if isinstance(keys, list):
        insort(keys, key)
        return keys
    return [key]


def _discard(keys: Sequence[bytes], key: bytes) -> None:
    del cast("list[bytes]", keys)[bisect_left(keys, key)]


def nearest(keys: Sequence[bytes], page: bytes) -> tuple[bytes, int]:
    """Return the key that shares the longest start with ``page``, and how many bytes it shares.

    Among sorted strings the best partner of a string stands right before or right after its place.
    """
    if not keys:
        return b"", 0
    at, first = bisect_left(keys, page), page[:UNIT]
    best, length = b"", 0
    for key in keys[at - 1 if at else 0 : at + 1]:
        if key.startswith(first) and (common := shared_bytes(key, page)) > length:
            best, length = key, common
    return best, length


def runs(numbers: list[int]) -> Iterator[tuple[int, int]]:
    """Yield (first, end) of every run of consecutive numbers."""
    if numbers and numbers[-1] - numbers[0] + 1 == len(numbers):
        yield numbers[0], numbers[-1] + 1
        return
    first = None
    for at, number in enumerate(numbers):
        if first is None:
            first = number
        if at + 1 == len(numbers) or numbers[at + 1] != number + 1:
            yield first, number + 1
            first = None
