"""One node of the radix tree: a run of tokens, the pages that hold it, and what continues it."""

from bisect import bisect_left, insort
from collections.abc import Iterator

from promptcache_engine.cache.tokens import shared_bytes


class Node:
    """A run of tokens with one way in and any number of ways on.

    Runs start at a page's first token. ``pages[i]`` holds the i-th page of the run; a list shorter than the
    run means the rest was evicted and is only remembered. A page that is not full can only be a run's last,
    and nothing continues it. ``order`` and ``faded`` are the children's first pages, sorted, of those with
    and without pages. ``keys`` are the public keys of whole pages. ``locks`` counts the leases that pass
    through.
    """

    __slots__ = (
        "children",
        "evicted_at",
        "faded",
        "keys",
        "locks",
        "order",
        "pages",
        "parent",
        "queued",
        "run",
    )

    def __init__(self, parent: "Node | None", run: bytes, pages: list[int]) -> None:
        self.parent = parent
        self.run = run
        self.pages = pages
        self.keys: list[bytes] = []
        self.children: dict[bytes, Node] = {}
        self.order: list[bytes] = []
        self.faded: list[bytes] = []
        self.locks = 0
        self.evicted_at: float | None = None
        self.queued = False

    def adopt(self, key: bytes, child: "Node") -> None:
        """Hang ``child`` below this node."""
        child.parent = self
        self.children[key] = child
        insort(self.order if child.pages else self.faded, key)

    def disown(self, key: bytes) -> None:
        """Take the child at ``key`` away."""
        child = self.children.pop(key)
        child.parent = None
        _discard(self.order if child.pages else self.faded, key)

    def fade(self, key: bytes) -> None:
        """Note that the child at ``key`` lost its last page."""
        _discard(self.order, key)
        insort(self.faded, key)

    def revive(self, key: bytes) -> None:
        """Note that the child at ``key`` got its first page."""
        _discard(self.faded, key)
        insort(self.order, key)


def _discard(keys: list[bytes], key: bytes) -> None:
    del keys[bisect_left(keys, key)]


def nearest(keys: list[bytes], page: bytes) -> tuple[bytes, int]:
    """Return the key that shares the longest start with ``page``, and how many bytes it shares.

    Among sorted strings the best partner of a string stands right before or right after its place.
    """
    at = bisect_left(keys, page)
    best, length = b"", 0
    for key in keys[max(at - 1, 0) : at + 1]:
        common = shared_bytes(key, page)
        if common > length:
            best, length = key, common
    return best, length


def runs(numbers: list[int]) -> Iterator[tuple[int, int]]:
    """Yield (first, end) of every run of consecutive numbers."""
    first = None
    for at, number in enumerate(numbers):
        if first is None:
            first = number
        if at + 1 == len(numbers) or numbers[at + 1] != number + 1:
            yield first, number + 1
            first = None
