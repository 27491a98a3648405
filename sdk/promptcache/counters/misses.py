"""Why each request of a sequence hit or missed, from times, labels and counts.

Each request is held against the one before it. What no label explains is the upstream's doing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from promptcache.quick_values import quick

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache.counters.record import CounterRecord

__all__ = ["MissReason", "Reason", "miss_reason", "miss_reasons"]

Reason = Literal[
    "cold_start",
    "hit",
    "ttl_expired",
    "prefix_changed",
    "model_changed",
    "upstream_unexplained",
    "unreported",
]

_CAUSES: dict[Reason, str | None] = {
    "cold_start": "PC801",
    "hit": None,
    "ttl_expired": "PC802",
    "prefix_changed": None,  # the counters show that, not why
    "model_changed": "PC503",
    "upstream_unexplained": "PC809",
    "unreported": "PC810",
}
_LEAST_SHARE = 0.5


@quick
@dataclass(frozen=True, slots=True)
class MissReason:
    """Why one request hit or missed; ``gap_s`` is the time since the start of the one before, in seconds."""

    reason: Reason
    cause: str | None
    gap_s: float | None = None


def miss_reasons(records: Sequence[CounterRecord]) -> list[MissReason]:
    """Return a reason for each record, in order. A lifetime runs from the start of the last use."""
    reasons = []
    routes: set[str | None] = set()
    previous: CounterRecord | None = None
    for record in records:
        reasons.append(miss_reason(previous, record, known_route=record.route in routes))
        routes.add(record.route)
        previous = record
    return reasons


def miss_reason(previous: CounterRecord | None, record: CounterRecord, *, known_route: bool) -> MissReason:
    """Return the reason for one record after the one before it; ``known_route``: others went there before."""
    gap = _gap(previous, record)
    reason = _reason(previous, record, gap, known_route=known_route)
    cause = "PC804" if previous and reason == "cold_start" else _CAUSES[reason]
    return MissReason(reason, cause, gap)


def _reason(
    previous: CounterRecord | None, record: CounterRecord, gap: float | None, *, known_route: bool
) -> Reason:
    if record.read is None:
        return "unreported"
    if previous is None:
        return "hit" if record.read else "cold_start"
    if _reads_enough(previous, record):
        return "hit"
    if previous.model != record.model:
        return "model_changed"
    if record.append_only is False or previous.identity != record.identity:
        return "prefix_changed"
    if gap is not None and record.ttl_s is not None and gap > record.ttl_s:
        return "ttl_expired"
    return "upstream_unexplained" if known_route else "cold_start"


def _reads_enough(previous: CounterRecord, record: CounterRecord) -> bool:
    """Whether at least half of what the last request left behind was read."""
    expected = previous.cached_after
    if not record.read or expected is None:
        return bool(record.read)
    return record.read >= _LEAST_SHARE * min(expected, record.total_input or expected)


def _gap(previous: CounterRecord | None, record: CounterRecord) -> float | None:
    if previous is None or previous.start_s is None or record.start_s is None:
        return None
    return record.start_s - previous.start_s
