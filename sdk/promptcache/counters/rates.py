"""Hit rates over many requests, with the right denominator.

Tokens read over tokens sent, counting only requests whose provider reported; a request that did not report
is neither a hit nor a miss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptcache.usage import Usage

__all__ = ["HitRates", "hit_rates"]


@dataclass(frozen=True, slots=True)
class HitRates:
    """Rates in 0..1; None where nothing was reported.

    ``per_record`` is each request's token rate; ``token_hit_rate`` that of all together;
    ``request_hit_rate`` the share of reporting requests that read anything at all.
    ``cause`` is PC810 when some upstream does not report.
    """

    per_record: tuple[float | None, ...]
    token_hit_rate: float | None
    request_hit_rate: float | None
    reported_requests: int
    unreported_requests: int

    @property
    def cause(self) -> str | None:
        """PC810 when requests are missing from the rates because their upstream does not report."""
        return "PC810" if self.unreported_requests else None


def hit_rates(usages: Iterable[Usage]) -> HitRates:
    """Return the hit rates of ``usages``."""
    records = list(usages)
    reported = [usage for usage in records if usage.cache_read is not None and usage.total_input is not None]
    read = sum(usage.cache_read or 0 for usage in reported)
    total = sum(usage.total_input or 0 for usage in reported)
    hits = sum(1 for usage in reported if usage.cache_read)
    return HitRates(
        per_record=tuple(usage.hit_rate for usage in records),
        token_hit_rate=read / total if total else None,
        request_hit_rate=hits / len(reported) if reported else None,
        reported_requests=len(reported),
        unreported_requests=len(records) - len(reported),
    )
