"""Runs a trace at several capacities and policies, and writes down what came out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from promptcache_engine.simulate.errors import CapacityError
from promptcache_engine.simulate.optimum import optimum
from promptcache_engine.simulate.replay import endless, replay
from promptcache_engine.simulate.trace import Trace


@dataclass(frozen=True, slots=True)
class Capacity:
    """How large a cache: a number of pages, or a share (0 to 1) of the trace's footprint."""

    text: str
    pages: int | None = None
    share: float | None = None

    @classmethod
    def parse(cls, text: str) -> "Capacity":
        """Read ``1708`` (pages) or ``5%`` (of the footprint); raises CapacityError."""
        try:
            if text.endswith("%"):
                share = float(text[:-1]) / 100
                if 0 < share <= 1:
                    return cls(text, share=share)
            elif int(text) > 0:
                return cls(text, pages=int(text))
        except (ValueError, OverflowError):
            pass
        raise CapacityError(
            f"capacity {text!r} cannot be used.", remedy="Give pages (1708) or a share (5%, at most 100%)."
        )

    def of(self, footprint: int) -> int:
        """Return the pages, rounded down, one at least."""
        if self.pages is not None:
            return self.pages
        assert self.share is not None
        return max(1, int(footprint * self.share + 1e-9))


@dataclass(frozen=True, slots=True)
class Row:
    """Hits at one capacity: by policy, and at best."""

    capacity: str
    pages: int
    hits: dict[str, int]
    optimum: int


@dataclass(frozen=True, slots=True)
class Report:
    """What a simulation found; all counts in pages of ``page_size`` tokens."""

    page_size: int
    requests: int
    num_pages: int
    footprint: int
    endless: int
    rows: tuple[Row, ...]
    approximate: bool
    skipped: int

    def rate(self, hits: int) -> float:
        """Return ``hits`` as a share of all pages asked for, 0 to 1."""
        return hits / self.num_pages if self.num_pages else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON values; rates are 0 to 1."""
        return {
            "page_size": self.page_size,
            "requests": self.requests,
            "pages": self.num_pages,
            "footprint": self.footprint,
            "infinite": self.rate(self.endless),
            "approximate": self.approximate,
            "skipped": self.skipped,
            "results": [
                {
                    "capacity": row.capacity,
                    "pages": row.pages,
                    "hit_rate": {policy: self.rate(hits) for policy, hits in row.hits.items()},
                    "optimum": self.rate(row.optimum),
                }
                for row in self.rows
            ],
        }


def simulate(trace: Trace, capacities: Sequence[Capacity], policies: Sequence[str]) -> Report:
    """Play ``trace`` at every capacity with every policy."""
    footprint = trace.footprint
    rows = []
    for capacity in capacities:
        pages = capacity.of(footprint)
        # What is never filled changes nothing, and need not be allocated.
        filled = min(pages, max(1, trace.num_pages))
        hits = {policy: replay(trace, filled, policy) for policy in policies}
        rows.append(Row(capacity.text, pages, hits, optimum(trace, pages)))
    return Report(
        page_size=trace.page_size,
        requests=len(trace),
        num_pages=trace.num_pages,
        footprint=footprint,
        endless=endless(trace),
        rows=tuple(rows),
        approximate=trace.approximate,
        skipped=trace.skipped,
    )
