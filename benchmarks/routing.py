"""Routing policies over replicas on a real trace: hit rate and time to first token, with their noise.

The shipped policies run through the shipped router. Beside them stand two of the rules that others use,
written from their descriptions: the nearest match unless queues differ much ("cache-aware"), and a weighted
sum of scores ("weighted 3:1:1": match, queue, load). Noise is what comes of a trace whose arrivals are
shifted by up to two seconds, with another seed each time. The trace is not part of the repository. Run:
``python -m benchmarks.routing conversation.jsonl [--replicas 8] [--share 10] [--prefill-rate 7000] [--seeds
5]``.
"""

from __future__ import annotations

import argparse
import random
import time
from dataclasses import replace
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from promptcache_engine.simulate import FleetResult, Trace, play, read_trace
from promptcache_engine.simulate.fleet import routings
from promptcache_gateway.fleet.prefix import Prefix
from promptcache_gateway.fleet.routing import Router

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SHIFT_S = 2.0


class Scored:
    """A router by another's rule: it scores every replica by its match and its queue; the most wins."""

    def __init__(self, replicas: int, capacity: int) -> None:
        self.router = Router("least-load", max_keys=capacity)
        self.targets = [self.router.add(str(number)) for number in range(replicas)]

    def send(self, now: float, pages: Sequence[int], tokens: int, page_tokens: int) -> tuple[int, int]:
        matched = [target.tree.match(pages) / max(1, len(pages)) for target in self.targets]
        number = self.pick(matched, [target.load.running for target in self.targets])
        prefix = Prefix(keys=tuple(pages), key_tokens=page_tokens, tokens=tokens)
        choice = self.router.choose(prefix, [self.targets[number]], now)
        return number, self.router.sent(choice, now)

    def answered(self, now: float, replica: int, ticket: int, computed: int) -> None:
        load = self.targets[replica].load
        load.first_output(ticket, now)
        load.ended(ticket, now, computed=computed)

    def pick(self, matched: Sequence[float], running: Sequence[int]) -> int:
        raise NotImplementedError


class CacheAware(Scored):
    """The best match above a half, else the smallest tree; the shortest queue where queues differ much."""

    def pick(self, matched: Sequence[float], running: Sequence[int]) -> int:
        if max(running) - min(running) > 8 and max(running) > 1.5 * min(running):
            return running.index(min(running))
        best = max(matched)
        if best > 0.5:
            return matched.index(best)
        sizes = [len(target.tree) for target in self.targets]
        return sizes.index(min(sizes))


class Weighted(Scored):
    """Three parts match, one part queue, one part pending tokens, each from 0 to 1."""

    def pick(self, matched: Sequence[float], running: Sequence[int]) -> int:
        pending = [target.load.pending_tokens for target in self.targets]
        scores = [
            3 * match + (1 - one / max(1, *running)) + (1 - left / max(1.0, *pending))
            for match, one, left in zip(matched, running, pending, strict=True)
        ]
        return scores.index(max(scores))


def main(argv: Sequence[str] | None = None) -> None:
    """Print a line a policy."""
    parser = argparse.ArgumentParser("python -m benchmarks.routing", description=__doc__)
    parser.add_argument("trace", type=Path)
    parser.add_argument("--replicas", type=int, default=8)
    parser.add_argument("--share", type=float, default=10, help="percent of the footprint in each replica")
    parser.add_argument("--prefill-rate", type=float, default=7000)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args(argv)
    trace = read_trace(options.trace)
    capacity = max(1, int(trace.footprint * options.share / 100))
    makers: dict[str, Callable[[int, int], object]] = {
        **routings(),
        "cache-aware": CacheAware,
        "weighted 3:1:1": Weighted,
    }
    speed = f"{options.prefill_rate:,.0f} tokens a second each"
    print(f"{options.replicas} replicas, {capacity:,} pages and {speed}")
    for name, make in makers.items():
        start = time.process_time()
        told = [
            play(
                shifted(trace, seed),
                make(options.replicas, capacity),
                options.replicas,
                capacity,
                prefill_rate=options.prefill_rate,
            )
            for seed in range(options.seeds)
        ]
        micros = (time.process_time() - start) / len(trace) / len(told) * 1e6
        print(line(name, told, micros), flush=True)


def line(name: str, told: Sequence[FleetResult], micros: float) -> str:
    """Means over the seeds, and how far they spread."""
    cells = []
    for values, unit in (
        ([100 * one.hit_rate for one in told], "%"),
        ([one.mean_ttft_s for one in told], "s"),
        ([one.p50_ttft_s for one in told], "s"),
        ([one.p99_ttft_s for one in told], "s"),
    ):
        spread = stdev(values) if len(values) > 1 else 0.0
        cells.append(f"{fmean(values):6.2f} ±{spread:.2f} {unit}")
    return f"{name:>15}  " + "  ".join(cells) + f"  {micros:4.0f} µs"


def shifted(trace: Trace, seed: int) -> Trace:
    """The trace with arrivals a little earlier or later; seed 0 is the trace itself."""
    if seed == 0:
        return trace
    rng = random.Random(seed)
    moved = [replace(one, time=max(0.0, one.time + rng.uniform(-SHIFT_S, SHIFT_S))) for one in trace]
    return replace(trace, requests=tuple(sorted(moved, key=lambda one: one.time)))


if __name__ == "__main__":
    main()
