"""Evidence in the breakpoints: on text that changes, lost on the way, or too far from the last entry.

Only ``cache_control`` marks are judged for lookback; OpenAI's explicit breakpoints match exactly. A usage
record that shows the prefix was read refutes what the marks suggest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache.divergence.evidence import Finding
from promptcache.providers import LOOKBACK_BLOCKS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache.segments import Segment
    from promptcache.usage import Usage

__all__ = ["breakpoint_findings", "breakpoint_on_dynamic"]

_UNMARKED_CHARS = 4096  # about a thousand tokens, the usual minimum of an entry
_REFUTED = 0.9


def breakpoint_on_dynamic(earlier: Sequence[Segment], later: Sequence[Segment], index: int) -> Finding | None:
    """PC601 when every breakpoint stands on or behind the segment that changed."""
    marks = [number for segments in (earlier, later) for number in _marks(segments)]
    if not marks or min(marks) < index:
        return None
    return Finding("PC601", {"first_mark": min(marks), "changed": index})


def breakpoint_findings(
    earlier: Sequence[Segment], later: Sequence[Segment], shared: int, usage: Usage | None
) -> list[Finding]:
    """Judge the marks of two requests whose first ``shared`` segments agree.

    PC602 when the entry the earlier request left is not marked any more, or a long history never was;
    PC610 when the last breakpoint stays early in it; PC605 when the next one stands further away than the
    provider looks back.
    """
    left = [number for number in _marks(earlier) if number < shared]
    marks = _marks(later)
    if not left or any(segment.breakpoint and "mode" in segment.breakpoint for segment in later):
        return []
    entry = left[-1]
    found = _reach_finding(entry, marks, later) or _unmarked_finding(entry, marks, later, shared)
    if found is None or _read(usage, later, entry + 1 if found.code == "PC605" else shared):
        return []
    return [found]


def _reach_finding(entry: int, marks: list[int], later: Sequence[Segment]) -> Finding | None:
    behind = [mark for mark in marks if mark >= entry]
    if not behind:
        return Finding("PC602", {"lost_mark": later[entry].path, "marks": len(marks)})
    distance = behind[0] - entry
    if distance < LOOKBACK_BLOCKS:
        return None
    return Finding(
        "PC605", {"blocks_between_marks": distance, "limit": LOOKBACK_BLOCKS, "from": later[entry].path}
    )


def _unmarked_finding(entry: int, marks: list[int], later: Sequence[Segment], shared: int) -> Finding | None:
    """A long history behind the last breakpoint: PC610 where that stood still, PC602 where none is in it."""
    tail = sum(len(segment.text) for segment in later[entry + 1 : shared])
    if tail < _UNMARKED_CHARS or marks[-1] > entry:
        return None
    code = "PC610" if later[entry].kind == "message" else "PC602"
    return Finding(code, {"unmarked_chars": tail, "last_mark": later[entry].path}, severity="warning")


def _read(usage: Usage | None, later: Sequence[Segment], segments: int) -> bool:
    """Whether the usage record shows that about the first ``segments`` segments were read."""
    rate = usage.hit_rate if usage else None
    total = sum(len(segment.text) for segment in later)
    if rate is None or not total:
        return False
    return rate >= _REFUTED * sum(len(segment.text) for segment in later[:segments]) / total


def _marks(segments: Sequence[Segment]) -> list[int]:
    return [number for number, segment in enumerate(segments) if segment.breakpoint is not None]
