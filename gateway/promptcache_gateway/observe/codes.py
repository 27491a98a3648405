"""The codes that a difference is called by: the SDK's, without those that say nothing of a cache's loss.

What each of them cost is `breaks`' business, and so is what history knows of the two requests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache.divergence.evidence import alike
from promptcache_gateway.observe.compaction import COMPACTION
from promptcache_gateway.observe.edits import counterpart
from promptcache_gateway.observe.evidence import found_once
from promptcache_gateway.observe.own_marks import ON_DYNAMIC, is_own_on_dynamic
from promptcache_gateway.observe.places import spot_of

if TYPE_CHECKING:
    from promptcache_gateway.observe.comparison import Comparison


@found_once
def causes_of(comparison: Comparison) -> tuple[str, ...]:
    """The codes of a difference.

    Two conversations' system prompts are two, and neither was edited. A summary that is asked for under other
    instructions has other tools for the same reason.
    """
    codes = comparison.divergence.causes
    if COMPACTION in codes and comparison.depth < comparison.later.head:
        return tuple(code for code in codes if not code.startswith("PC3"))
    if "PC401" in codes and "PC403" in codes and not comparison.same_conversation:
        codes = tuple(code for code in codes if code != "PC403")
    codes = tuple(code for code in codes if not _costs_nothing(comparison, code)) or codes
    codes = tuple(code for code in codes if not _is_asked_anew(comparison, code)) or codes
    codes = tuple(code for code in codes if code != ON_DYNAMIC or not is_own_on_dynamic(comparison))
    if codes == ("PC403",) and comparison.breaks_off:
        return ("PC401",)  # the instructions were not edited: static text stands behind a value
    return codes or (unnamed(comparison),)


def _costs_nothing(comparison: Comparison, code: str) -> bool:
    """Whether a code of the instructions stands behind all that could have been read."""
    place = comparison.divergence.places.get(code)
    if place is None or place[0] >= comparison.later.head or code.startswith("PC6"):
        return False
    spot = spot_of(comparison, code)
    return spot.path is not None and comparison.shared_bytes < comparison.kept_bytes <= spot.start


def _is_asked_anew(comparison: Comparison, code: str) -> bool:
    """Whether an edit stands where the predecessor asked last: another question there changed no history."""
    earlier, later = comparison.earlier, comparison.later
    place = comparison.divergence.places.get(code)
    if code != "PC502" or place is None or place[0] >= len(later.segments):
        return False
    before = counterpart(earlier, later, place[0])
    if before is None or before < earlier.turn:
        return False
    return not alike(earlier.segments[before].body, later.segments[place[0]].body)


def unnamed(comparison: Comparison) -> str:
    """The code of a change that fits no detector, by where it stands."""
    later, depth = comparison.later, comparison.depth
    if depth < min(later.head, len(later.segments)):
        return "PC302" if later.segments[depth].kind == "tool" else "PC403"
    return "PC502"
