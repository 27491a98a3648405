"""The pages of the layers with one sliding window, beside the cache's own: only what a window sees needs one.

A model with several kinds of layers has the cache's pages for its full attention, and a smaller pool for each
window. A page of that pool is attached to a page of the cache and goes with it. It is pinned while a running
sequence's window reaches it; after that it stays, for others that hit there, until its room is needed. Which
prompt may reuse what is decided in ``rules``; this knows pages and leases, neither tokens nor the tree.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from promptcache_engine.cache.errors import WindowRoomError
from promptcache_engine.cache.lease import NO_PAGE, Lease
from promptcache_engine.cache.pool import PagePool


@dataclass(slots=True)
class _Span:
    """What a lease has pinned: its pages ``first`` to ``end``, and the page its copy reads.

    Worth keeping when the window has left them are its ``shared`` pages, and those from ``fork`` to
    ``fork_end``, what a window sees where the prompt leaves what is cached.
    """

    first: int
    end: int
    shared: int
    fork: int
    fork_end: int
    source: int = NO_PAGE


class WindowPool:
    """``num_pages`` pages for the layers whose tokens attend to themselves and ``window - 1`` before them.

    ``cache_pages``: pages of the cache, each of which can have one of this pool attached. Pages nobody pins
    go when room is needed: first those a window has merely passed, then those where a sequence ended or
    others came by, the oldest of each first.
    """

    def __init__(self, window: int, num_pages: int, page_size: int, cache_pages: int) -> None:
        self.window = window
        self.num_pages = num_pages
        self.reach = max(window - 1, 1)  # a page copied in part needs its front, even with a window of 1
        self._page_size = page_size
        self._free = PagePool(num_pages)
        self._attached = [NO_PAGE] * cache_pages
        self._pins = [0] * cache_pages
        self._passed: dict[int, None] = {}  # pages of the cache, oldest first
        self._ended: dict[int, None] = {}
        self._spans: dict[Lease, _Span] = {}

    def page_of(self, page: int) -> int:
        """Return the page attached to ``page`` of the cache; NO_PAGE where there is none."""
        return self._attached[page]

    def present(self, pages: Iterable[int]) -> list[bool]:
        """Say for each of the cache's ``pages`` whether it has one attached."""
        return [page != NO_PAGE and self._attached[page] != NO_PAGE for page in pages]

    def span(self, lease: Lease) -> tuple[int, list[int]]:
        """Return which page of ``lease`` is the first its window may see, and from there on this pool's
        pages."""
        span = self._spans[lease]
        return span.first, [self._attached[page] for page in lease.pages[span.first : span.end]]

    # -- a lease's life -------------------------------------------------------------------------------

    def has_room(self, pages: Sequence[int], hit: int, *, copies: bool) -> bool:
        """Whether a lease on ``pages``, ``hit`` tokens of which are reused, can begin."""
        if not copies:
            return True
        pinned = pages[max(hit - self.reach, 0) // self._page_size :]
        idle = sum(not self._pins[page] for page in pinned)
        return len(self._free) + len(self._passed) + len(self._ended) > idle

    def begin(self, lease: Lease, shared: int) -> None:
        """Pin what the window of the lease's next token sees of its ``shared`` pages, and give the page it
        copies into, if any, a page."""
        first = min(max(lease.hit - self.reach, 0) // self._page_size, shared)
        fork = max(lease.reason.shared - self.reach, 0) // self._page_size
        span = _Span(first, shared, shared, fork, -(-lease.reason.shared // self._page_size))
        self._spans[lease] = span
        for page in lease.pages[first:shared]:
            self._pin(page)
        if lease.copies:
            span.source = lease.copies[0].src
            self._pin(span.source)
            self._attach(lease.pages[shared])
            span.end += 1

    def reserve(self, lease: Lease, upto: int) -> None:
        """Give the pages of the lease's first ``upto`` tokens that have none a page; they are computed
        next."""
        span = self._spans[lease]
        end = -(-upto // self._page_size)
        if end - span.end > len(self._free) + len(self._passed) + len(self._ended):
            raise WindowRoomError(self.window, self.num_pages)
        while span.end < end:
            self._attach(lease.pages[span.end])
            span.end += 1

    def slide(self, lease: Lease, computed: int) -> None:
        """Let go of what the window of the token at ``computed`` has left."""
        span = self._spans[lease]
        first = min(max(computed - self.reach, 0) // self._page_size, span.end)
        while span.first < first:
            keep = span.first < span.shared or span.fork <= span.first < span.fork_end
            self._unpin(lease.pages[span.first], keep=keep)
            span.first += 1

    def copied(self, lease: Lease) -> None:
        """Let go of the page the lease's copy was made from."""
        span = self._spans[lease]
        if span.source != NO_PAGE:
            self._unpin(span.source, keep=True)
            span.source = NO_PAGE

    def close(self, lease: Lease) -> None:
        """Let go of everything the lease has pinned."""
        self.copied(lease)
        span = self._spans.pop(lease)
        for page in lease.pages[span.first : span.end]:
            if page != NO_PAGE:
                self._unpin(page, keep=True)

    # -- pages of the cache ---------------------------------------------------------------------------

    def detach(self, pages: Iterable[int]) -> None:
        """Free what is attached to ``pages`` of the cache, which hold nothing any more."""
        for page in pages:
            if self._attached[page] != NO_PAGE:
                self._passed.pop(page, None)
                self._ended.pop(page, None)
                self._pins[page] = 0
                self._give_up(page)

    def merge(self, page: int, other: int) -> None:
        """``other`` takes the place of ``page``, which holds the same and is given up."""
        if self._attached[page] == NO_PAGE:
            return
        if self._attached[other] == NO_PAGE:
            self._attached[other], self._attached[page] = self._attached[page], NO_PAGE
            self._forget_idle(page)
            if not self._pins[page]:
                self._ended[other] = None
        elif self._pins[page]:
            self._forget_idle(other)
        self._pins[other] += self._pins[page]
        self.detach((page,))
        self._pins[page] = 0

    def check(self, leases: Iterable[Lease]) -> str | None:
        """Return what contradicts itself; None when nothing does."""
        attached = [page for page in self._attached if page != NO_PAGE]
        if sorted([*attached, *self._free]) != list(range(self.num_pages)):
            return "a window's page is lost, or has two owners"
        pins = [0] * len(self._pins)
        for lease in leases:
            span = self._spans[lease]
            for page in [*lease.pages[span.first : span.end], span.source]:
                if page != NO_PAGE:
                    pins[page] += 1
        if pins != self._pins:
            return "a window's pins differ from the leases that need its pages"
        idle = {page for page, own in enumerate(self._attached) if own != NO_PAGE and not pins[page]}
        if idle != self._passed.keys() | self._ended.keys() or self._passed.keys() & self._ended.keys():
            return "a window's idle pages are miscounted"
        if any(pin and self._attached[page] == NO_PAGE for page, pin in enumerate(pins)):
            return "a window misses a page it sees"
        return None

    # -- inside ---------------------------------------------------------------------------------------

    def _pin(self, page: int) -> None:
        self._forget_idle(page)
        self._pins[page] += 1

    def _unpin(self, page: int, *, keep: bool) -> None:
        self._pins[page] -= 1
        if not self._pins[page]:
            (self._ended if keep else self._passed)[page] = None

    def _forget_idle(self, page: int) -> None:
        self._passed.pop(page, None)
        self._ended.pop(page, None)

    def _attach(self, page: int) -> None:
        if not len(self._free):
            idle = self._passed or self._ended
            oldest = next(iter(idle))
            del idle[oldest]
            self._give_up(oldest)
        (self._attached[page],) = self._free.take(1)
        self._pins[page] = 1

    def _give_up(self, page: int) -> None:
        self._free.give((self._attached[page],))
        self._attached[page] = NO_PAGE
