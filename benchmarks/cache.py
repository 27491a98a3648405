"""CPU time the cache's bookkeeping takes per request, and its hit rate, on a trace of templated prompts.

2,000 requests over 50 templates of 2,000 tokens (zipf 1.0), each with 500 tokens of its own, in a pool of
200,000 tokens, 8 in flight; reasons and events on. Run: ``python -m benchmarks.cache [--page-size N …]``.
"""

import argparse
import statistics
import time
from collections import deque
from collections.abc import Sequence

import numpy as np

from promptcache_engine.cache import Lease, PrefixCache

REQUESTS, TEMPLATES, TEMPLATE_TOKENS, OWN_TOKENS = 2_000, 50, 2_000, 500
POOL_TOKENS, IN_FLIGHT, VOCABULARY = 200_000, 8, 32_000

# Measured with the same trace on a machine of this kind: microseconds a request, hit rate.
ELSEWHERE = {
    "vLLM 0.33 (page 16)": (545, 0.7492),
    "SGLang 0.5.23, Rust tree (page 1)": (157, 0.7468),
    "MAX 26.7 (page 128)": (67, 0.7079),
}


def make_trace(requests: int = REQUESTS, template_tokens: int = TEMPLATE_TOKENS) -> list[list[int]]:
    """Return the prompts as lists of token ids."""
    weights = 1 / np.arange(1, TEMPLATES + 1)
    chosen = np.random.default_rng(0).choice(TEMPLATES, requests, p=weights / weights.sum())
    random = np.random.default_rng(1)
    templates = random.integers(0, VOCABULARY, (TEMPLATES, template_tokens))
    own = random.integers(0, VOCABULARY, (requests, OWN_TOKENS))
    return [templates[template].tolist() + own[i].tolist() for i, template in enumerate(chosen)]


def run(
    trace: Sequence[Sequence[int]], page_size: int, pool_tokens: int = POOL_TOKENS
) -> tuple[float, float]:
    """Admit and finish every prompt; return (microseconds of CPU per request, hit rate)."""
    cache = PrefixCache(pool_tokens // page_size, page_size)
    running: deque[Lease] = deque()
    start = time.process_time()
    for tokens in trace:
        if len(running) == IN_FLIGHT:
            cache.finish(running.popleft())
        lease = cache.admit(tokens)
        assert lease is not None
        running.append(lease)
        cache.events()
    while running:
        cache.finish(running.popleft())
    spent = time.process_time() - start
    cache.check()
    return spent / len(trace) * 1e6, cache.stats.hit_rate or 0.0


def main(argv: Sequence[str] | None = None) -> None:
    """Print a line a page size, and what other engines take."""
    parser = argparse.ArgumentParser("python -m benchmarks.cache", description=__doc__)
    parser.add_argument("--page-size", type=int, nargs="*", default=[1, 16, 64, 128, 256])
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args(argv)
    trace = make_trace()
    print(f"{'':36}{'µs/request':>12}{'hit rate':>10}")
    for page_size in options.page_size:
        runs = [run(trace, page_size) for _ in range(options.repeats)]
        micros = statistics.median(micros for micros, _ in runs)
        print(f"{f'promptcache (page {page_size})':36}{micros:>12.0f}{runs[0][1]:>10.4f}")
    for name, (micros, rate) in ELSEWHERE.items():
        print(f"{name:36}{micros:>12}{rate:>10.4f}")


if __name__ == "__main__":
    main()
