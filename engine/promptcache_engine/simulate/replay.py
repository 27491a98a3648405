"""Plays a trace through the real cache, one page a token: what is measured is the code that serves.

Requests are played one after another, each ended before the next comes, on the trace's own clock. A prompt
that does not fit into the cache at all is refused, and none of its pages is a hit.
"""

import numpy as np

from promptcache_engine.cache import PrefixCache
from promptcache_engine.simulate.trace import Trace


class TraceClock:
    """The time of the request being played, in seconds."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """Return it."""
        return self.now


def replay(trace: Trace, capacity: int, policy: str) -> int:
    """Return how many of the trace's pages a cache of ``capacity`` pages has when they are asked for."""
    clock = TraceClock()
    cache = PrefixCache(
        max(1, capacity // trace.pages_each),
        1,
        policy=policy,
        clock=clock,
        recompute=0,
        event_limit=0,
        tokens_per_unit=trace.page_size * trace.pages_each,
    )
    hits = 0
    for request in trace:
        if not request.pages:
            continue
        clock.now = request.time
        tokens = np.array(request.pages, dtype=np.int32)
        lease = cache.admit(tokens, request.namespace, hints=request.hints)
        if lease is not None:
            hits += lease.hit
            cache.finish(lease)
    return hits * trace.pages_each


def endless(trace: Trace) -> int:
    """Return how many pages a cache that never evicts has."""
    seen: set[tuple[str, int]] = set()
    hits = 0
    for request in trace:
        pages = [(request.namespace, page) for page in request.pages]
        hits += sum(page in seen for page in pages)
        seen.update(pages)
    return hits * trace.pages_each
