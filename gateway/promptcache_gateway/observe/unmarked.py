"""The history behind a conversation's last breakpoint, at a provider that keeps only what is marked.

Where the breakpoints end before the history and stay there, all of that is paid anew with every request. That
is a fault from the first request on in which there is as much of it as the cache takes; less is none. How far
the breakpoints reach is `marked`'s business.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptcache_gateway.observe.evidence import found_once
from promptcache_gateway.observe.marked import kept_thoughts

if TYPE_CHECKING:
    from promptcache_gateway.observe.evidence import Evidence
    from promptcache_gateway.observe.ruler import Ruler

_BY_LENGTH = frozenset({"PC602", "PC610"})
_SLACK_TOKENS = 16  # how much less than up to the breakpoint may be read, and it was read up to there


@dataclass(frozen=True, slots=True)
class UnmarkedHistory:
    """What of the history is not marked.

    Attributes:
        mark: the segment with the last breakpoint.
        end: one more than the last segment that came before.
        path: the place of the last breakpoint.
        code: "PC610" where that one stands in the conversation and stays, "PC602" where none stands in it.
    """

    mark: int
    end: int
    path: str
    code: str

    @property
    def summary(self) -> str:
        """A sentence on a request whose marked part was read."""
        return f"All that is marked was read; the history behind {self.path} carries no breakpoint."


@found_once
def unmarked_history(evidence: Evidence) -> UnmarkedHistory | None:
    """The history that came before and that no breakpoint covers; None where nothing of the kind is known."""
    comparison, rules = evidence.comparison, evidence.rules
    if comparison is None or comparison.broken or not rules.marked_only or rules.on_request:
        return None
    earlier, later = comparison.earlier, comparison.later
    marks = later.marks
    end = min(comparison.depth, later.turn, kept_thoughts(evidence))
    if not marks or not max(marks[-1] + 1, later.head) < end:
        return None
    mark = marks[-1]
    if earlier.segments[mark].breakpoint is None or any(mark < at < end for at in earlier.marks):
        return None  # it has moved on, or one behind it was left out
    code = "PC610" if later.segments[mark].kind == "message" else "PC602"
    return UnmarkedHistory(mark, end, later.segments[mark].path, code)


def worth_marking(evidence: Evidence, ruler: Ruler, cached: int | None) -> UnmarkedHistory | None:
    """The unmarked history where it is as much as the cache takes, and all that is marked was read."""
    found = unmarked_history(evidence)
    if found is None or cached is None or evidence.prompt is None:
        return None
    known = ruler.worth
    if known is None or known[0] != cached:
        offsets = evidence.prompt.offsets
        start, end = ruler.at(offsets[found.mark + 1]), ruler.at(offsets[found.end])
        worth = cached >= start.least - _SLACK_TOKENS and end.guess - cached >= evidence.rules.minimum
        ruler.worth = known = cached, worth
    return found if known[1] else None


@found_once
def codes_beside_text(evidence: Evidence) -> tuple[str, ...]:
    """The SDK's causes beside the text, others among them, where nothing in the text breaks the prefix.

    Not unmarked history: it goes by characters, and `worth_marking` by tokens. Where nothing is marked, only
    settings can have changed, and the texts need not be compared again.
    """
    comparison, rules = evidence.comparison, evidence.rules
    if comparison is None:
        return ()
    if not (comparison.earlier.marks or comparison.later.marks) and len(comparison.changed_settings) <= 1:
        return comparison.changed_settings  # several come in an order that hangs on the text
    found = comparison.divergence
    if "unmarked_chars" not in found.details or not rules.marked_only or rules.on_request:
        return found.causes
    return tuple(code for code in found.causes if code not in _BY_LENGTH)


def what_is_unmarked(evidence: Evidence, ruler: Ruler | None, cached: int | None, lost: int | None) -> str:
    """A sentence on a breakpoint that is missing; "" where it is not this that is amiss."""
    found = None if ruler is None else worth_marking(evidence, ruler, cached)
    if found is not None:
        return f"The breakpoints end at {found.path}; the {lost} tokens of history behind it are paid anew."
    comparison = evidence.comparison
    gone = None if comparison is None else comparison.divergence.details.get("lost_mark")
    marks = [] if comparison is None else comparison.later.marks
    if comparison is None or gone is None or not marks:
        return ""
    last = comparison.later.segments[marks[-1]].path
    return f"{gone} carried a breakpoint and does not any more; the last one now stands at {last}."
