"""Patterns in a sequence of usage records that point at one cause.

Each rule is a function that returns a diagnosis or None; the surest come first. What fits no rule is
reported as nothing: counters alone prove little.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from promptcache.counters.misses import miss_reasons
from promptcache.counters.plateau import find_plateau

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from promptcache.counters.record import CounterRecord

__all__ = ["SequenceDiagnosis", "diagnose_sequence"]

_LEAST_REQUESTS = 3
_EXPLAINED = frozenset({"hit", "cold_start"})


@dataclass(frozen=True, slots=True)
class SequenceDiagnosis:
    """The one cause a sequence of counters points at; ``cause`` None means nothing to report."""

    cause: str | None
    alarm: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def counts_as_miss(self) -> bool:
        """Whether requests missed that could have hit; not so where nothing could or nobody reports."""
        return self.cause not in {None, "PC604", "PC810", "PC811"}


def diagnose_sequence(records: Sequence[CounterRecord]) -> SequenceDiagnosis:
    """Return what the counters of consecutive requests point at."""
    rules = (_unreported, _frozen_marks, _written_never_read, _never_read, _routes, _plateau, _reasons)
    found = (rule(records) for rule in rules) if records else ()
    return next((diagnosis for diagnosis in found if diagnosis), SequenceDiagnosis(None))


def _unreported(records: Sequence[CounterRecord]) -> SequenceDiagnosis | None:
    return None if any(record.read is not None for record in records) else SequenceDiagnosis("PC810")


def _frozen_marks(records: Sequence[CounterRecord]) -> SequenceDiagnosis | None:
    """The breakpoints stand still while the prompt grows behind them."""
    last = records[-1]
    start = len(records) - 1
    while start and records[start - 1].marks == last.marks and _grows(records[start - 1], records[start]):
        start -= 1
    if not last.marks or len(records) - start < _LEAST_REQUESTS or not last.read or not last.total_input:
        return None
    if last.read > max(last.marks):
        return None
    details = {"frozen_since_t": records[start].t, "uncached_tail_tokens_last": last.total_input - last.read}
    return SequenceDiagnosis("PC610", alarm=True, details=details)


def _grows(previous: CounterRecord, record: CounterRecord) -> bool:
    return (previous.total_input or 0) < (record.total_input or 0)


def _written_never_read(records: Sequence[CounterRecord]) -> SequenceDiagnosis | None:
    """Entries are written again and again, and none is ever read."""
    if len(records) < 2 or not all(record.write and record.read == 0 for record in records):
        return None
    details = {"write_amplification": len(records)}
    identities = {record.identity for record in records}
    if None in identities:
        return None
    if len(identities) == len(records):
        return SequenceDiagnosis("PC601", alarm=True, details=details)
    if len(identities) > 1:
        return None
    return SequenceDiagnosis(_split_cause(records), alarm=True, details=details)


def _split_cause(records: Sequence[CounterRecord]) -> str:
    """Why one body was written several times: another key, all at once, too late, or another machine."""
    if len({record.key for record in records}) > 1:
        return "PC607"
    first = records[0]
    ready = first.first_byte_s if first.first_byte_s is not None else first.end_s
    starts = [record.start_s for record in records[1:] if record.start_s is not None]
    if ready is not None and starts and all(start < ready for start in starts):
        return "PC608"
    if all(reason.reason == "ttl_expired" for reason in miss_reasons(records)[1:]):
        return "PC802"
    return "PC804"


def _never_read(records: Sequence[CounterRecord]) -> SequenceDiagnosis | None:
    """Nothing is read and nothing written, though the prompts extend each other."""
    if len(records) < _LEAST_REQUESTS or any(record.read or record.write for record in records):
        return None
    sizes = [record.total_input for record in records if record.total_input is not None]
    least = next((record.min_tokens for record in records if record.min_tokens is not None), None)
    if sizes and least is not None and max(sizes) < least:
        return SequenceDiagnosis("PC604")
    same = len({record.identity for record in records}) == 1 and records[0].identity is not None
    if same or all(record.append_only for record in records[1:]):
        return SequenceDiagnosis("PC811", alarm=True)
    return None


def _routes(records: Sequence[CounterRecord]) -> SequenceDiagnosis | None:
    """Requests miss exactly when they go somewhere else than the one before."""
    if len({record.route for record in records}) == 1:
        return None
    pairs = list(zip(records, records[1:], miss_reasons(records)[1:], strict=False))
    moved = [reason for before, after, reason in pairs if before.route != after.route]
    stayed = [reason for before, after, reason in pairs if before.route == after.route]
    if not moved or any(reason.reason == "hit" for reason in moved):
        return None
    if any(reason.reason != "hit" for reason in stayed):
        return None
    return SequenceDiagnosis("PC804", alarm=True, details={"route_changes": len(moved)})


def _plateau(records: Sequence[CounterRecord]) -> SequenceDiagnosis | None:
    """Reads are pinned while the prompt grows: the history is rewritten right behind them."""
    plateau = find_plateau(records)
    if plateau is None:
        return None
    return SequenceDiagnosis("PC502", alarm=True, details={"cached_tokens": plateau.cached_tokens})


def _reasons(records: Sequence[CounterRecord]) -> SequenceDiagnosis | None:
    """The most frequent reason among the requests that missed, where it names a cause."""
    causes = Counter(
        reason.cause for reason in miss_reasons(records) if reason.reason not in _EXPLAINED and reason.cause
    )
    if not causes:
        return None
    (cause, requests), *_ = causes.most_common(1)
    return SequenceDiagnosis(cause, alarm=True, details={"requests": requests})
