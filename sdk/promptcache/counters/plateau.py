"""Finds a plateau: cached tokens that stay where they are while the prompt grows.

The prompt then changes right behind that many tokens on every request, whatever the hit rate looks like.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache.counters.record import CounterRecord

__all__ = ["Plateau", "find_plateau"]

_LEAST_REQUESTS = 3
_STEP = 128  # the coarsest usual granularity of reported reads: closer than that is a full hit


@dataclass(frozen=True, slots=True)
class Plateau:
    """A run of requests whose reads are pinned.

    ``from_t`` and ``to_t`` are the first and last request's labels, ``cached_tokens`` the pinned read;
    ``recovered_at`` is the first later request that read more, or None.
    """

    from_t: int | float | str | None
    to_t: int | float | str | None
    cached_tokens: int
    recovered_at: int | float | str | None = None


def find_plateau(records: Sequence[CounterRecord]) -> Plateau | None:
    """Return the longest plateau of at least three requests, or None."""
    best: tuple[int, int] | None = None
    start = 0
    while start < len(records):
        end = _run_end(records, start)
        if end - start + 1 >= _LEAST_REQUESTS and (best is None or end - start > best[1] - best[0]):
            best = start, end
        start = max(end, start + 1)
    return None if best is None else _plateau(records, *best)


def _run_end(records: Sequence[CounterRecord], start: int) -> int:
    """Return the last request of the run that begins at ``start``."""
    end = start
    while end + 1 < len(records) and _pinned(records[end], records[end + 1]):
        end += 1
    return end


def _pinned(previous: CounterRecord, record: CounterRecord) -> bool:
    """Whether ``record`` reads no more than ``previous``, though more could have been read."""
    if not record.read or record.read != previous.read:
        return False
    if (
        previous.total_input is None
        or record.total_input is None
        or record.total_input <= previous.total_input
    ):
        return False
    return previous.total_input - record.read > (record.step or _STEP)


def _plateau(records: Sequence[CounterRecord], start: int, end: int) -> Plateau:
    cached = records[start].read or 0
    recovered = next((record.t for record in records[end + 1 :] if (record.read or 0) > cached), None)
    return Plateau(records[start].t, records[end].t, cached, recovered)
