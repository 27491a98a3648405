"""Breakpoints that the gateway puts in itself, where an operator asks for it: no caller moves or drops them.

It marks what has come often enough, and of several workers each goes by what it knows. So a mark may be
missing, stay where it is or stand too far from the last one without any doing of the caller's. What a caller
himself marked and does not any more is his change beside the gateway's marks, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache.providers import LOOKBACK_BLOCKS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache_gateway.observe.comparison import Comparison
    from promptcache_gateway.observe.prompt import Prompt

MARKING = "breakpoints"
"""In `Prompt.own`: the gateway marks what is not marked, and nothing that the caller wrote hinders it."""
HELD_BACK = "breakpoints held back"
"""In `Prompt.own`: it leaves unmarked what stands behind instructions that it has seen to change."""

MISSING = "PC602"
ON_DYNAMIC = "PC601"
_OF_MARKS = frozenset({MISSING, "PC605", "PC610"})
_AWAITED = "The gateway's own breakpoints, as [mutations] has them, are set on what was seen to come again."
_NOT_SET = "is not set any more: it sets them, as [mutations] has it, on what was seen to come again."


def own_marks_amiss(comparison: Comparison, code: str) -> str | None:
    """What is said of a fault in the breakpoints that is the gateway's doing; None where it is a caller's."""
    earlier, later = comparison.earlier, comparison.later
    if code not in _OF_MARKS or not (earlier.own or later.own):
        return None
    left = [at for at in earlier.marks if at < comparison.depth]
    if _is_callers_lost(comparison, left):
        return None
    if not left:
        return _AWAITED if not later.marks and MARKING in earlier.own | later.own else None
    entry = left[-1]
    behind = [at for at in later.marks if at >= entry]
    where = earlier.segments[entry].path
    if not behind:
        return f"The gateway's own breakpoint at {where} {_NOT_SET}" if _is_own(earlier, entry) else None
    if behind == [entry]:
        return _AWAITED if MARKING in later.own else None
    if _is_own(earlier, entry) or _is_own(later, behind[0]):
        return f"The gateway's own breakpoints are too far apart to find what ends at {where}."
    return None


def follow_from_break(comparison: Comparison) -> bool:
    """Whether the gateway may have set no marks only because of what breaks the prefix.

    That keeps changing, or the prefix is a new one: the gateway marked the predecessor behind where the two
    part, and still marks what comes again.
    """
    earlier, later = comparison.earlier, comparison.later
    if not comparison.broken or later.marks:
        return False
    if HELD_BACK in earlier.own:
        return True
    return MARKING in later.own and any(at >= comparison.depth for at in own_marks(earlier))


def own_marks(prompt: Prompt) -> tuple[int, ...]:
    """The segments that the gateway marked."""
    return tuple([at for at in prompt.marks if _is_own(prompt, at)]) if prompt.own else ()


def is_own_on_dynamic(comparison: Comparison) -> bool:
    """Whether only marks of the gateway's stand on or behind what changes, and no caller put one there."""
    earlier, later = comparison.earlier, comparison.later
    if not (earlier.own or later.own):
        return False
    callers = [*_callers(earlier, earlier.marks), *_callers(later, later.marks)]
    changed: int = comparison.divergence.details.get("changed", 0)
    return min(callers, default=-1) < changed


def _is_callers_lost(comparison: Comparison, left: Sequence[int]) -> bool:
    """Whether what a caller himself marked last is found from no mark of the new request."""
    before = _callers(comparison.earlier, left)
    if not before:
        return False
    behind = [at for at in comparison.later.marks if at >= before[-1]]
    return not behind or behind[0] - before[-1] >= LOOKBACK_BLOCKS


def _callers(prompt: Prompt, marks: Sequence[int]) -> list[int]:
    return [at for at in marks if not _is_own(prompt, at)]


def _is_own(prompt: Prompt, at: int) -> bool:
    return prompt.segments[at].path in prompt.own
