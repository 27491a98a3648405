"""How far the learned policy falls behind LRU, or leads, on made-up traffic of many kinds.

Its constants were chosen on two recorded traces; here it meets traffic they do not contain: templates that
drift, flat popularity, chats, agents with tool calls, scans over documents, sudden changes of all of it. Run:
``python -m benchmarks.eviction_synthetic [--seeds 1 2 3] [--kind NAME …]``.
"""

import argparse
import heapq
import random
from collections.abc import Callable, Sequence

from promptcache_engine.cache import Hints
from promptcache_engine.simulate import replay
from promptcache_engine.simulate.trace import Trace, TraceRequest

PAGE, REQUESTS = 512, 4_000
SHARES = (1, 5, 10, 25, 50)
"""Capacities, in percent of the trace's footprint."""

Pages = tuple[int, ...]


class Numbers:
    """Pages nobody has asked for yet."""

    def __init__(self) -> None:
        self._next = 0

    def new(self, pages: int) -> Pages:
        """Return that many of them."""
        self._next += pages
        return tuple(range(self._next - pages, self._next))


def templated(
    seed: int, requests: int = REQUESTS, templates: int = 60, zipf: float = 1.0, drift: float = 0.0
) -> list[TraceRequest]:
    """Templates of 2 to 12 pages with 1 to 6 pages of one's own; ``drift``: how often one is replaced."""
    choose, numbers, now = random.Random(seed), Numbers(), 0.0
    known = [numbers.new(choose.randint(2, 12)) for _ in range(templates)]
    weights = [1 / (rank + 1) ** zipf for rank in range(templates)]
    made = []
    for _ in range(requests):
        now += choose.expovariate(1.0)
        if choose.random() < drift:
            known[choose.randrange(templates)] = numbers.new(choose.randint(2, 12))
        made.append(_request(now, choose.choices(known, weights)[0] + numbers.new(choose.randint(1, 6))))
    return made


def chats(
    seed: int, requests: int = REQUESTS, *, think: float = 60.0, tools: float = 0.0
) -> list[TraceRequest]:
    """200 users at a time, conversations of 8 turns on average; ``tools``: share of turns a tool follows."""
    choose, numbers = random.Random(seed), Numbers()
    systems = [numbers.new(4) for _ in range(5)]
    due: list[tuple[float, int, int, Pages, bool]] = [
        (choose.random() * 3 * think, user, 1, (), False) for user in range(200)
    ]
    heapq.heapify(due)
    made, users = [], len(due)
    while len(made) < requests:
        now, user, turn, past, after_tool = heapq.heappop(due)
        pages = (past or choose.choice(systems)) + numbers.new(choose.randint(1, 4))
        made.append(_request(now, pages, Hints(turn=turn, after_tool_call=after_tool)))
        if choose.random() < 1 / 8:
            heapq.heappush(due, (now + choose.expovariate(1 / think), users, 1, (), False))
            users += 1
        else:
            tool = choose.random() < tools
            wait = choose.expovariate(1 / 3 if tool else 1 / think)
            heapq.heappush(due, (now + wait, user, turn + 1, pages + numbers.new(1), tool))
    return made


def scans(seed: int) -> list[TraceRequest]:
    """Half of the requests go through 150 documents in a circle, half prefer some of them."""
    choose, numbers, now = random.Random(seed), Numbers(), 0.0
    documents = [numbers.new(choose.randint(5, 20)) for _ in range(150)]
    made = []
    for i in range(REQUESTS):
        now += choose.expovariate(1.0)
        at = i // 2 % 150 if choose.random() < 0.5 else min(149, int(choose.expovariate(0.1)))
        made.append(_request(now, documents[at] + numbers.new(choose.randint(1, 2))))
    return made


def phases(seed: int) -> list[TraceRequest]:
    """Templates, then chats, then other templates: what was learned is wrong twice."""
    made: list[TraceRequest] = []
    parts = (templated(seed, 1_500), chats(seed + 1, 1_500), templated(seed + 2, 1_500, templates=10))
    for part, requests in enumerate(parts):
        start = made[-1].time if made else 0.0
        for each in requests:
            pages = tuple(page + part * 10**7 for page in each.pages)
            made.append(_request(start + each.time, pages, each.hints))
    return made


KINDS: dict[str, Callable[[int], list[TraceRequest]]] = {
    "templated": templated,
    "drifting": lambda seed: templated(seed, drift=0.02),
    "flat": lambda seed: templated(seed, templates=200, zipf=0.3),
    "uniform": lambda seed: templated(seed, templates=400, zipf=0.0),
    "chats": chats,
    "agents": lambda seed: chats(seed, think=120.0, tools=0.6),
    "scans": scans,
    "phases": phases,
}


def _request(time: float, pages: Pages, hints: Hints | None = None) -> TraceRequest:
    return TraceRequest(time, pages, PAGE * len(pages), hints=hints or Hints())


def main(argv: Sequence[str] | None = None) -> None:
    """Print LRU's hit rate and the learned policy's lead, a line a trace, and the worst lead of all."""
    parser = argparse.ArgumentParser("python -m benchmarks.eviction_synthetic", description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="*", default=[1, 2, 3])
    parser.add_argument("--kind", nargs="*", choices=sorted(KINDS), default=list(KINDS))
    options = parser.parse_args(argv)
    worst = 100.0
    for kind in options.kind:
        for seed in options.seeds:
            trace = Trace(tuple(sorted(KINDS[kind](seed), key=lambda each: each.time)), PAGE)
            cells = []
            for share in SHARES:
                capacity = max(1, trace.footprint * share // 100)
                lru, learned = (
                    100 * replay(trace, capacity, policy) / trace.num_pages for policy in ("lru", "learned")
                )
                worst = min(worst, learned - lru)
                cells.append(f"{share} %: {lru:.2f} {learned - lru:+.2f}")
            print(f"{kind:>10} {seed}   " + "   ".join(cells), flush=True)
    print(f"worst: {worst:+.2f} points")


if __name__ == "__main__":
    main()
