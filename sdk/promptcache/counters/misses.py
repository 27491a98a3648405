"""Why each request of a sequence hit or missed, from times, labels and counts.

Each request is held against the one before it. What no label explains is the upstream's doing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache.counters.record import CounterRecord

__all__ = ["MissReason", "Reason", "miss_reasons"]

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
    for number, record in enumerate(records):
        previous = records[number - 1] if number else None
        gap = _gap(previous, record)
        reason = _reason(previous, record, gap, known_route=record.route in routes)
        cause = "PC804" if previous and reason == "cold_start" else _CAUSES[reason]
        reasons.append(MissReason(reason, cause, gap))
        routes.add(record.route)
    return reasons


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
