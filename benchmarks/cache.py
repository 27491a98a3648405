"""CPU time the cache's bookkeeping takes per request, and its hit rate, on a trace of templated prompts.

2,000 requests over 50 templates of 2,000 tokens (zipf 1.0), each with 500 tokens of its own, in a pool of
200,000 tokens, 8 in flight; reasons and events on. ``--keys`` also reads every event's keys, as a publisher
of events does. ``--growth`` shows how the time grows with the prompt's length and the pool's size. Run:
``python -m benchmarks.cache [--page-size N …] [--policy NAME …] [--tokens list|array] [--keys] [--growth]``.
"""

import argparse
import gc
import statistics
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from promptcache_engine.cache import POLICIES, Lease, PrefixCache

REQUESTS, TEMPLATES, TEMPLATE_TOKENS, OWN_TOKENS = 2_000, 50, 2_000, 500
POOL_TOKENS, IN_FLIGHT, VOCABULARY = 200_000, 8, 32_000

# Measured with the same trace on a machine of this kind: microseconds a request, hit rate.
ELSEWHERE = {
    "vLLM 0.33 (page 16)": (545, 0.7492),
    "SGLang 0.5.23, Rust tree (page 1)": (157, 0.7468),
    "MAX 26.7 (page 128)": (67, 0.7079),
}


def make_trace(
    requests: int = REQUESTS, template_tokens: int = TEMPLATE_TOKENS, *, form: str = "list"
) -> list[Any]:
    """Return the prompts, as lists of token ids or as int32 arrays."""
    weights = 1 / np.arange(1, TEMPLATES + 1)
    chosen = np.random.default_rng(0).choice(TEMPLATES, requests, p=weights / weights.sum())
    random = np.random.default_rng(1)
    templates = random.integers(0, VOCABULARY, (TEMPLATES, template_tokens), dtype=np.int32)
    own = random.integers(0, VOCABULARY, (requests, OWN_TOKENS), dtype=np.int32)
    prompts = [np.concatenate([templates[template], own[i]]) for i, template in enumerate(chosen)]
    return prompts if form == "array" else [prompt.tolist() for prompt in prompts]


def run(
    trace: Sequence[Any],
    page_size: int,
    pool_tokens: int = POOL_TOKENS,
    *,
    policy: str = "lru",
    keys: bool = False,
) -> tuple[float, float]:
    """Admit and finish every prompt; return (microseconds of CPU per request, hit rate)."""
    cache = PrefixCache(pool_tokens // page_size, page_size, policy=policy)
    running: deque[Lease] = deque()
    gc.collect()
    gc.freeze()  # the trace's millions of numbers are not the cache's to walk
    start = time.process_time()
    for tokens in trace:
        if len(running) == IN_FLIGHT:
            cache.finish(running.popleft())
        lease = cache.admit(tokens)
        assert lease is not None
        running.append(lease)
        events = cache.events()
        if keys:
            for event in events:
                event.wire()
    while running:
        cache.finish(running.popleft())
    spent = time.process_time() - start
    gc.unfreeze()
    cache.check()
    return spent / len(trace) * 1e6, cache.stats.hit_rate or 0.0


def growth(page_size: int, repeats: int) -> None:
    """Print the time by length of the prompts, and by size of the pool, with the pool full each time."""
    print("\nprompt tokens   µs/request   µs per 1,000 tokens")
    for tokens in (1_000, 2_000, 4_000, 8_000, 16_000):
        trace = make_trace(600, tokens, form="array")
        micros = min(run(trace, page_size, 80 * tokens)[0] for _ in range(repeats))
        print(f"{tokens + OWN_TOKENS:>13,}{micros:>13.0f}{micros / (tokens + OWN_TOKENS) * 1e3:>22.1f}")
    print("\n  pool tokens   µs/request")
    for pool in (100_000, 400_000, 1_600_000, 6_400_000):
        requests = max(1_000, 2 * pool // OWN_TOKENS)
        trace = make_trace(requests, 500, form="array")
        micros = min(run(trace, page_size, pool)[0] for _ in range(max(1, repeats - 1)))
        print(f"{pool:>13,}{micros:>13.0f}")


def main(argv: Sequence[str] | None = None) -> None:
    """Print a line a page size and policy, and what other engines take."""
    parser = argparse.ArgumentParser("python -m benchmarks.cache", description=__doc__)
    parser.add_argument("--page-size", type=int, nargs="*", default=[1, 16, 64, 128, 256])
    parser.add_argument("--policy", nargs="*", choices=sorted(POLICIES), default=["lru", "learned"])
    parser.add_argument("--tokens", choices=("list", "array"), default="list")
    parser.add_argument("--keys", action="store_true")
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args(argv)
    trace = make_trace(form=options.tokens)
    print(f"{'':36}{'µs/request':>12}{'hit rate':>10}")
    for policy in options.policy:
        for page_size in options.page_size:
            runs = [run(trace, page_size, policy=policy, keys=options.keys) for _ in range(options.repeats)]
            micros = statistics.median(micros for micros, _ in runs)
            print(f"{f'promptcache, {policy} (page {page_size})':36}{micros:>12.0f}{runs[0][1]:>10.4f}")
    for name, (micros, rate) in ELSEWHERE.items():
        print(f"{name:36}{micros:>12}{rate:>10.4f}")
    if options.growth:
        growth(options.page_size[0] if len(options.page_size) == 1 else 16, options.repeats)


if __name__ == "__main__":
    main()
