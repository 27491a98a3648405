"""How far a provider reads that caches only what is marked: up to a breakpoint of an earlier request.

An entry ends where an earlier request had a breakpoint, lives as long as that breakpoint asked for, and is
found from a breakpoint of the new one, at most so many blocks behind it. Of an identical prefix beyond the
last such entry nothing can be read, and nobody is to blame for that. Whether a breakpoint stands wrong is
the SDK's finding.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from promptcache.divergence.evidence import alike
from promptcache_gateway.observe.compaction import COMPACTION
from promptcache_gateway.observe.evidence import found_once
from promptcache_gateway.observe.own_marks import HELD_BACK, MARKING
from promptcache_gateway.observe.rules import ttl_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache.segments import Segment
    from promptcache_gateway.observe.comparison import Comparison
    from promptcache_gateway.observe.evidence import Evidence
    from promptcache_gateway.observe.prompt import Prompt
    from promptcache_gateway.observe.row import Entry

_THOUGHTS = re.compile(r'"type":"(?:thinking|redacted_thinking|reasoning)"')
_RESULT = '"type":"tool_result"'


@found_once
def readable_segments(evidence: Evidence) -> int:
    """Leading segments of a request that an entry known to be alive covers; 0 where none does."""
    match = evidence.match
    if match is None or match.living is None:
        return 0
    age_s = evidence.received_at - match.living.last_used
    return _readable_of(evidence, match.living, match.living_segments, age_s)


@found_once
def readable_at_any_age(evidence: Evidence) -> int:
    """The same with entries that have outlived their breakpoint's lifetime, those of the expired predecessor
    among them, while another request keeps a part of its prefix alive."""
    match = evidence.match
    if match is None or match.living is None:
        return 0
    found = _readable_of(evidence, match.living, match.living_segments, 0.0)
    own, comparison = match.predecessor, evidence.comparison
    if own is None or comparison is None or match.alive or own.route != evidence.route:
        return found
    return max(found, _readable_of(evidence, own, comparison.depth, 0.0))


@found_once
def left_segments(evidence: Evidence) -> int | None:
    """Leading segments that entries of any age cover, where the conversation ran before or runs now.

    None where nothing is known of either.
    """
    elsewhere = _left_elsewhere(evidence)
    if evidence.match is None or (evidence.match.living is None and not elsewhere):
        return None
    return max(readable_at_any_age(evidence), elsewhere)


def _left_elsewhere(evidence: Evidence) -> int:
    """Leading segments that a conversation's last request left to the model or upstream it ran on before.

    0 where it goes on where it was, or is no conversation that goes on. What the new model holds of other
    conversations' beginnings is not what this one could have read.
    """
    match, comparison = evidence.match, evidence.comparison
    if match is None or match.predecessor is None or comparison is None:
        return 0
    if match.predecessor.route == evidence.route or comparison.depth <= match.living_segments:
        return 0
    if not (comparison.same_conversation or comparison.divergence.append_only):
        return 0
    return _readable_of(evidence, match.predecessor, comparison.depth, 0.0)


def _readable_of(evidence: Evidence, entry: Entry, depth: int, idle_s: float) -> int:
    """Leading segments that what one request left covers, which shares ``depth`` of them."""
    rules, later = evidence.rules, evidence.prompt
    if later is None:
        return 0
    limit = min(depth, kept_thoughts(evidence))
    earlier = entry.prompt.segments
    written = [at for at in entry.prompt.marks if at < limit]
    alive = [
        at for at in written if (ttl_of(earlier[at].breakpoint) or rules.mark_lifetime_s or 0.0) >= idle_s
    ]
    sought = later.marks
    found = [at for at in alive if any(0 <= mark - at < rules.lookback for mark in sought)]
    return max(found, default=-1) + 1


@found_once
def has_no_marks(evidence: Evidence) -> bool:
    """Whether a request marks nothing where only what is marked is kept."""
    return evidence.rules.marked_only and evidence.prompt is not None and not evidence.prompt.marks


@found_once
def breaks_behind_marks(evidence: Evidence) -> bool:
    """Whether a request leaves its predecessor behind all of that one's marks that it could have read up to.

    Nothing else was kept for it, so nothing more would have been read had it stayed the same: but for what
    the gateway would have marked, had it stood still.
    """
    comparison = evidence.comparison
    if comparison is None or not evidence.rules.marked_only:
        return False
    earlier, later = comparison.earlier, comparison.later
    if HELD_BACK in earlier.own and comparison.depth < later.head:
        return False
    if not earlier.marks:
        return MARKING in earlier.own and bool(later.marks)  # the gateway begins to mark
    return not is_marked_behind(comparison)


@found_once
def unkept_bytes(evidence: Evidence) -> int:
    """Bytes of a request that its predecessor has too, but behind its last mark: none of them was kept.

    Where the gateway held its own marks back because of what changes, it would have set them further behind.
    """
    comparison = evidence.comparison
    if comparison is None or not comparison.broken or not evidence.rules.marked_only:
        return 0
    earlier, later = comparison.earlier, comparison.later
    if not earlier.marks or HELD_BACK in earlier.own:
        return 0
    behind = Counter(earlier.keys[max(earlier.marks[-1], comparison.depth) + 1 :])
    unkept = 0
    for at in range(min(later.turn, len(later.segments)) - 1, later.head - 1, -1):
        if behind[later.keys[at]] > 0:
            behind[later.keys[at]] -= 1
            unkept += later.offsets[at + 1] - later.offsets[at]
    return unkept


def is_marked_behind(comparison: Comparison) -> bool:
    """Whether the predecessor marked anything behind where they part that the request could have read."""
    marks = comparison.earlier.marks
    return any(at >= comparison.depth and _recurs(comparison, at) for at in marks)


def _recurs(comparison: Comparison, mark: int) -> bool:
    """Whether a request has the message too that a mark of its predecessor's stands on.

    Of the predecessor's newest turn all that stands before the mark, as a question may come again about
    something else. What the request changed may be the message itself.
    """
    earlier = comparison.earlier
    if mark < earlier.head or COMPACTION in comparison.divergence.causes:
        return True
    start = min(mark, earlier.turn)
    places = range(max(start, comparison.depth + 1), mark + 1)
    return all(_stands(earlier.segments[at], comparison.later) for at in places)


def _stands(segment: Segment, later: Prompt) -> bool:
    """Whether a message is one of a request's, or an edited one of its history."""
    messages, turn = later.segments[later.head :], max(later.turn - later.head, 0)
    if any(other.text == segment.text for other in messages):
        return True
    return any(other.role == segment.role and alike(segment.body, other.body) for other in messages[:turn])


@found_once
def kept_thoughts(evidence: Evidence) -> int:
    """Leading segments up to the thoughts that a provider may drop as a new turn of the user's begins.

    While a model calls tools its thoughts stay in the prompt; some providers take them out with the next
    question, and what stands behind them is new then, however equal the requests are.
    """
    match, later = evidence.match, evidence.prompt
    if later is None or match is None:
        return 0
    before, segments = match.living or match.predecessor, later.segments
    if before is None or later.turn <= later.head:  # there is no history
        return len(segments)
    for at in range(_last_question(before.prompt.segments), later.turn):
        if _is_thought(segments[at]):
            asked = any(_is_question(segment) for segment in segments[later.turn :])
            return at if asked else len(segments)
    return len(segments)


def _last_question(segments: Sequence[Segment]) -> int:
    places = range(len(segments) - 1, -1, -1)
    return next((at for at in places if _is_question(segments[at])), 0)


def _is_question(segment: Segment) -> bool:
    if segment.role != "user":
        return False
    return not (segment.text.startswith("{", segment.head) and _RESULT in segment.body)


def _is_thought(segment: Segment) -> bool:
    if segment.role != "assistant":
        return False
    return (
        bool(segment.text.startswith("{", segment.head) and _THOUGHTS.search(segment.body))
        or "reasoning" in segment.extra
    )
