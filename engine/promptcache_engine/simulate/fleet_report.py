"""Runs a trace over replicas at several capacities and routing policies, and writes down what came out."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from promptcache_engine.simulate.errors import RoutingError
from promptcache_engine.simulate.fleet import FleetResult, play, routings
from promptcache_engine.simulate.report import Capacity
from promptcache_engine.simulate.trace import Trace


@dataclass(frozen=True, slots=True)
class FleetRow:
    """What one routing policy came to with so many pages in each replica."""

    capacity: str
    pages: int
    routing: str
    result: FleetResult


@dataclass(frozen=True, slots=True)
class FleetReport:
    """What a simulation over replicas found."""

    replicas: int
    requests: int
    page_size: int
    prefill_rate: float
    policy: str
    rows: tuple[FleetRow, ...]
    approximate: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON values; rates are 0 to 1, times in seconds."""
        return {
            "replicas": self.replicas,
            "requests": self.requests,
            "page_size": self.page_size,
            "prefill_rate": self.prefill_rate,
            "eviction_policy": self.policy,
            "approximate": self.approximate,
            "results": [
                {
                    "capacity": row.capacity,
                    "pages": row.pages,
                    "routing": row.routing,
                    "hit_rate": row.result.hit_rate,
                    **asdict(row.result),
                }
                for row in self.rows
            ],
        }

    def describe(self) -> str:
        """Write the report as a table."""
        table = [["capacity", "routing", "hit rate", "mean TTFT", "p50", "p99", "busiest"]]
        for row in self.rows:
            told = row.result
            seconds = (told.mean_ttft_s, told.p50_ttft_s, told.p99_ttft_s)
            cells = [row.capacity, row.routing, f"{100 * told.hit_rate:.2f} %"]
            table.append([*cells, *(f"{one:.2f} s" for one in seconds), f"{told.share:.2f}"])
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        speed = f"{self.prefill_rate:,.0f} prompt tokens a second each"
        lines = [
            f"{self.requests:,} requests over {self.replicas} replicas, {speed}, {self.policy} eviction",
            "",
            *("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in table),
            "",
            "busiest: the computed tokens of the replica with the most, beside an even share.",
        ]
        if self.approximate:
            lines.append("Tokens are estimated from text, four bytes each.")
        return "\n".join(lines)


def simulate_fleet(
    trace: Trace,
    replicas: int,
    capacities: Sequence[Capacity],
    names: Sequence[str],
    *,
    policy: str,
    prefill_rate: float,
) -> FleetReport:
    """Play ``trace`` over ``replicas`` at every capacity with every routing policy of ``names`` (none: all).

    ``capacities`` are each replica's, a share being one of the whole trace's footprint. Raises RoutingError
    for a policy that is not there.
    """
    known = routings()
    for name in names:
        if name not in known:
            raise RoutingError(f"{name!r} is no routing policy.", remedy=f"Known: {', '.join(known)}.")
    footprint, rows = trace.footprint, []
    for capacity in capacities:
        pages = capacity.of(footprint)
        filled = min(pages, max(1, trace.num_pages))
        for name in names or known:
            router = known[name](replicas, max(1, filled // trace.pages_each))
            result = play(trace, router, replicas, filled, policy=policy, prefill_rate=prefill_rate)
            rows.append(FleetRow(capacity.text, pages, name, result))
    return FleetReport(
        replicas, len(trace), trace.page_size, prefill_rate, policy, tuple(rows), trace.approximate
    )
