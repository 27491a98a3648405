"""Plays a trace through several replicas, each with the real cache and a prefill queue of its own.

Which replica takes a prompt is decided by a router that is found by entry point: it is the gateway's, and
this package knows only what a router does. A replica computes one prompt after another at a fixed rate; the
time to first token is the wait in its queue and the time of what its cache did not have. No decoding.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from importlib.metadata import entry_points
from statistics import fmean
from typing import Protocol

import numpy as np

from promptcache_engine.cache import PrefixCache
from promptcache_engine.simulate.errors import RoutingError
from promptcache_engine.simulate.replay import TraceClock
from promptcache_engine.simulate.trace import Trace, TraceRequest

PREFILL_RATE = 7_000.0
"""Prompt tokens a replica computes in a second, unless told otherwise."""


class Router(Protocol):
    """Decides which replica takes a prompt."""

    def send(self, now: float, pages: Sequence[int], tokens: int, page_tokens: int) -> tuple[int, int]:
        """Return the replica's number for a prompt that comes ``now``, and a ticket for `answered`."""

    def answered(self, now: float, replica: int, ticket: int, computed: int) -> None:
        """Hear that a prompt's first token came, of which ``computed`` tokens were not cached."""


MakeRouter = Callable[[int, int], Router]
"""Makes a router from the number of replicas and the pages each one's cache holds."""


@dataclass(frozen=True, slots=True)
class FleetResult:
    """What came of a trace: page hits of ``num_pages``, seconds to first token, and each replica's share.

    ``share`` is the largest replica's part of all computed tokens, times the number of replicas: 1 is even.
    """

    hits: int
    num_pages: int
    mean_ttft_s: float
    p50_ttft_s: float
    p99_ttft_s: float
    share: float

    @property
    def hit_rate(self) -> float:
        """Page hits of the pages asked for, 0 to 1."""
        return self.hits / self.num_pages if self.num_pages else 0.0


class _Replica:
    """A cache, and when the queue before it is empty."""

    def __init__(self, trace: Trace, capacity: int, policy: str) -> None:
        self._clock = TraceClock()
        self._page_tokens = trace.page_size * trace.pages_each
        self._cache = PrefixCache(
            max(1, capacity // trace.pages_each),
            1,
            policy=policy,
            clock=self._clock,
            recompute=0,
            event_limit=0,
            tokens_per_unit=self._page_tokens,
        )
        self.free_at = 0.0
        self.computed = 0

    def serve(self, request: TraceRequest, rate: float) -> tuple[float, int, int]:
        """Compute one prompt; returns when its first token comes, the pages it hit, the tokens computed."""
        begin = max(self.free_at, request.time)
        hit = self._hit(request, begin)
        computed = max(1, request.tokens - hit * self._page_tokens)
        self.free_at = begin + computed / rate
        self.computed += computed
        return self.free_at, hit, computed

    def _hit(self, request: TraceRequest, begin: float) -> int:
        if not request.pages:
            return 0
        self._clock.now = begin
        lease = self._cache.admit(
            np.array(request.pages, dtype=np.int32), request.namespace, hints=request.hints
        )
        if lease is None:
            return 0
        self._cache.finish(lease)
        return lease.hit


def play(
    trace: Trace,
    router: Router,
    replicas: int,
    capacity: int,
    *,
    policy: str = "lru",
    prefill_rate: float = PREFILL_RATE,
) -> FleetResult:
    """Play ``trace``; ``capacity`` pages each, ``policy`` evicts, ``prefill_rate`` in tokens a second."""
    fleet = [_Replica(trace, capacity, policy) for _ in range(replicas)]
    outputs: list[tuple[float, int, int, int]] = []  # first tokens to come: when, where, which, computed
    waits: list[float] = []
    hits = 0
    page_tokens = trace.page_size * trace.pages_each
    for request in trace:
        while outputs and outputs[0][0] <= request.time:
            at, number, ticket, computed = heappop(outputs)
            router.answered(at, number, ticket, computed)
        number, ticket = router.send(request.time, request.pages, request.tokens, page_tokens)
        first, hit, computed = fleet[number].serve(request, prefill_rate)
        heappush(outputs, (first, number, ticket, computed))
        waits.append(first - request.time)
        hits += hit * trace.pages_each
    total = sum(one.computed for one in fleet)
    return FleetResult(
        hits=hits,
        num_pages=trace.num_pages,
        mean_ttft_s=fmean(waits) if waits else 0.0,
        p50_ttft_s=_quantile(waits, 0.5),
        p99_ttft_s=_quantile(waits, 0.99),
        share=max(one.computed for one in fleet) * replicas / total if total else 1.0,
    )


def routings() -> dict[str, Callable[[int, int], Router]]:
    """The routing policies that are installed, each as what makes its router; raises RoutingError."""
    for entry in entry_points(group="promptcache.routers"):
        loaded = entry.load()
        return {name: _maker(loaded.SimulatedRouter, name) for name in loaded.POLICIES}
    raise RoutingError(
        "no router is installed.", remedy="Install promptcache itself: pip install promptcache."
    )


def _maker(router: Callable[[str, int, int], Router], name: str) -> MakeRouter:
    return lambda replicas, capacity: router(name, replicas, capacity)


def _quantile(values: Sequence[float], share: float) -> float:
    """The value below which ``share`` of them lie, by rank."""
    if not values:
        return 0.0
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]
