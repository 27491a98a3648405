"""How much a cause matters where it was seen.

error: ordinary traffic will miss. warning: it misses now and then, or only behind the last breakpoint.
info: worth knowing, nothing to repair.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache.divergence.evidence import Finding, Severity
    from promptcache.segments import Segment

__all__ = ["severity_of"]

_NOW_AND_THEN = frozenset(
    {
        "PC105",  # another machine or folder
        "PC107",  # a figure moves when what it counts moves
        "PC109",  # midnight
        "PC203",  # an order that may change
        "PC204",
        "PC404",  # a section that comes and goes
        "PC503",
        "PC504",
        "PC506",
        "PC607",
    }
)
_WORTH_KNOWING = frozenset({"PC110", "PC604", "PC606", "PC801", "PC802", "PC807"})


def severity_of(finding: Finding, later: Sequence[Segment], index: int | None) -> Severity:
    """Return the severity of ``finding`` for a divergence at segment ``index`` (None: the texts agree)."""
    if finding.severity is not None:
        return finding.severity
    if finding.code in _WORTH_KNOWING:
        return "info"
    if finding.code in _NOW_AND_THEN:
        return "warning"
    if index is not None and _marked_part_survives(later, index):
        return "warning"
    return "error"


def _marked_part_survives(later: Sequence[Segment], index: int) -> bool:
    """Whether there are breakpoints, and all stand before the divergence: what they mark is still read."""
    marks = [number for number, segment in enumerate(later) if segment.breakpoint is not None]
    return bool(marks) and marks[-1] < index
