"""Hit rates of the eviction policies on real traces, beside LRU and the clairvoyant optimum, and their cost.

The traces (Mooncake, FAST'25) are not part of the repository. Run:
``python -m benchmarks.eviction conversation.jsonl synthetic.jsonl [--share 1 5 10 25] [--policy NAME …]``.
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from promptcache_engine.cache import POLICIES
from promptcache_engine.simulate import optimum, read_trace, replay


def main(argv: Sequence[str] | None = None) -> None:
    """Print a line a trace and share of its footprint."""
    parser = argparse.ArgumentParser("python -m benchmarks.eviction", description=__doc__)
    parser.add_argument("traces", type=Path, nargs="+")
    parser.add_argument("--share", type=float, nargs="*", default=[1, 5, 10, 25, 50, 70], help="percent")
    parser.add_argument("--policy", nargs="*", choices=sorted(POLICIES), default=["lru", "lfu", "learned"])
    options = parser.parse_args(argv)
    for path in options.traces:
        trace = read_trace(path)
        print(
            f"{path.stem}: {len(trace):,} requests, {trace.footprint:,} pages; hit rate in % (µs a request)"
        )
        for share in options.share:
            capacity = max(1, int(trace.footprint * share / 100))
            cells = [f"{share:>5g} %"]
            for policy in options.policy:
                start = time.process_time()
                rate = 100 * replay(trace, capacity, policy) / trace.num_pages
                micros = (time.process_time() - start) / len(trace) * 1e6
                cells.append(f"{policy} {rate:.2f} ({micros:.0f})")
            cells.append(f"optimum {100 * optimum(trace, capacity) / trace.num_pages:.2f}")
            print("   ".join(cells), flush=True)


if __name__ == "__main__":
    main()
