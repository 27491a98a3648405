"""The clairvoyant optimum: evict the page whose next use is farthest away. A bound, no policy one can run.

It obeys what a cache must obey: a sequence needs all its pages at once, and a page is of use only behind all
pages before it. The latter comes by itself, since a page is used whenever one behind it is.
"""

from heapq import heappop, heappush

from promptcache_engine.simulate.trace import Trace

_NEVER = float("inf")


def optimum(trace: Trace, capacity: int) -> int:
    """Return how many of the trace's pages a cache of ``capacity`` pages could have had at best."""
    capacity = max(1, capacity // trace.pages_each)
    following = _next_uses(trace)
    cached: dict[tuple[str, int], float] = {}  # page → its next use
    farthest: list[tuple[float, int, float, tuple[str, int]]] = []
    hits = 0
    for request, uses in zip(trace, following, strict=True):
        pages = [(request.namespace, page) for page in request.pages]
        if len(pages) > capacity:
            continue
        held = [page for page in pages if page in cached]
        hits += len(held)
        for page in held:
            del cached[page]
        while len(cached) + len(pages) > capacity:
            _, _, use, page = heappop(farthest)
            if cached.get(page) == use:
                del cached[page]
        for depth, (page, use) in enumerate(zip(pages, uses, strict=True)):
            cached[page] = use
            heappush(farthest, (-use, -depth, use, page))
    return hits * trace.pages_each


def _next_uses(trace: Trace) -> list[list[float]]:
    """For every page of every request, the number of the request that uses it next."""
    last: dict[tuple[str, int], float] = {}
    following: list[list[float]] = []
    for number in range(len(trace) - 1, -1, -1):
        request = trace.requests[number]
        pages = [(request.namespace, page) for page in request.pages]
        following.append([last.get(page, _NEVER) for page in pages])
        last.update(dict.fromkeys(pages, number))
    following.reverse()
    return following
