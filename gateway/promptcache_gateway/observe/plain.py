"""Requests of which little has to be asked: what they continue was read, or was not, or is surely broken.

Most requests are hits, and say so by their counts alone. Of the misses two kinds are plain. Some are nobody's
fault: the same prefix was sent a moment ago, with the same settings to the same model, and was not read. Of
others the caller broke the prefix, and what is to be said of that was found before anything was counted. What
is said of each is what `verdict` weighs it to be, at a fraction of the time that an answer would wait for
that; of any other request nothing is said here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_gateway.observe.bearings import bearings_of
from promptcache_gateway.observe.breaks import certain_break
from promptcache_gateway.observe.counting import ESTIMATE_SLACK, Counting, all_was_read
from promptcache_gateway.observe.drafts import (
    draft_contradicted,
    draft_counted_break,
    draft_counted_shortfall,
    draft_engines_hit,
    draft_hit,
    draft_unexplained,
)
from promptcache_gateway.observe.marked import kept_thoughts
from promptcache_gateway.observe.read_past import may_have_been_read_past
from promptcache_gateway.observe.ruler import guess_at
from promptcache_gateway.observe.shortfall import certain_reasons, reasons_of
from promptcache_gateway.observe.stops import stops_of, tolerance_of
from promptcache_gateway.observe.unmarked import unmarked_history

if TYPE_CHECKING:
    from promptcache.usage import Usage
    from promptcache_gateway.exchange import EngineFacts
    from promptcache_gateway.observe.comparison import Comparison
    from promptcache_gateway.observe.diagnosis import Draft
    from promptcache_gateway.observe.evidence import Evidence

NOTHING = 1
"""A loss of so many tokens is none: the markup's token at a difference may belong to either side."""

_FIRST = "PC801"
"""What a first request is said to be, which has lost nothing."""


def plain_hit(evidence: Evidence, usage: Usage) -> Draft | None:
    """A request that continues another and was read as far as anyone promises; None where it is none."""
    comparison, match = evidence.comparison, evidence.match
    prompt, cached = usage.total_input, usage.cache_read
    if comparison is None or comparison.broken or comparison.shares_nothing or not evidence.use_cache:
        return None
    if match is None or match.predecessor is None or prompt is None or not cached:
        return None
    if evidence.rules.marked_only and unmarked_history(evidence) is not None:
        return None  # whether that is worth a mark has to be weighed
    if not all_was_read(evidence, prompt, cached):
        return None
    return draft_hit(evidence, cached)


def plain_miss(evidence: Evidence, usage: Usage) -> Draft | None:
    """A request whose prefix was not read though it should be there; None where it is none.

    No fleet took it: that knows more.
    """
    total, prompt, comparison = usage.total_input, evidence.prompt, evidence.comparison
    if total is None or usage.cache_read != 0 or prompt is None or comparison is None:
        return None
    if not _should_be_there(evidence, comparison):
        return None
    rules, whole, offsets = evidence.rules, comparison.living_full, prompt.offsets
    place = comparison.living_bytes if whole is None else offsets[len(whole.prompt.segments)]
    if prompt.turn > prompt.head:  # there is a history
        place = min(place, offsets[kept_thoughts(evidence)])
    bearings = bearings_of(evidence)
    least, most = bearings.bounds(place, total, bearings.least_otherwise(total))
    least = min(least, total)
    most = min(max(most, least), total)  # as a `Ruler` has it
    promised = rules.promised(least)
    slack = 0.0 if least == most else promised * ESTIMATE_SLACK
    if promised <= max(tolerance_of(rules), slack):
        return None
    lost = promised
    if lost != rules.promised(most):  # in whole steps most often it is
        lost = rules.promised(guess_at(bearings, place, total, (least, most))[0])
    return draft_unexplained(evidence, total, min(lost, total))


def plain_break(evidence: Evidence, usage: Usage | None, engine: EngineFacts | None) -> Draft | None:
    """A request whose prefix its caller broke where it could have been read; None where it is none.

    So it is where the counts may change what is said of the break.
    """
    comparison = evidence.comparison
    if comparison is None or not comparison.broken or comparison.shares_nothing or not evidence.use_cache:
        return None
    if engine is not None:
        prompt, cached = (engine.prompt_tokens if engine.diverged_at else None), engine.cached_tokens
    elif usage is not None and usage.cache_read is not None:
        prompt, cached = usage.total_input, usage.cache_read
    else:
        return None
    if prompt is None or not stops_of(evidence).broken:
        return None
    found = certain_break(evidence)
    if found is None or found.codes[0] == _FIRST:
        return None
    counting = Counting(evidence, prompt, cached, engine)
    lost = counting.lost_by_break()
    if cached and counting.is_contradicted():
        return draft_contradicted(lost, counting)
    if lost <= NOTHING or (cached and may_have_been_read_past(evidence.rules, lost)):
        return None
    if engine is None and counting.due > tolerance_of(evidence.rules):
        return None  # what stands in front of the break was not read either
    return draft_counted_break(evidence, found, lost, counting)


def plain_shortfall(evidence: Evidence, usage: Usage) -> Draft | None:
    """A request of which less was read than could be, for reasons that were known before; else None.

    As for `plain_miss`, no fleet took it.
    """
    comparison, match = evidence.comparison, evidence.match
    prompt, cached = usage.total_input, usage.cache_read
    if comparison is None or comparison.broken or comparison.shares_nothing or not evidence.use_cache:
        return None
    if match is None or match.predecessor is None or prompt is None or cached is None:
        return None
    reasons = certain_reasons(evidence) if comparison.depth else None
    if reasons is None or (reasons and reasons[0].code == _FIRST):
        return None
    counting = Counting(evidence, prompt, cached, None)
    lost, tolerance = counting.lost_unbroken(), tolerance_of(evidence.rules)
    if lost <= tolerance or (reasons and counting.due > tolerance):
        return None  # it is a hit, or the reasons may not be those of all that was lost
    return draft_counted_shortfall(evidence, reasons, lost, counting, written=usage.cache_write)


def plain_answer(evidence: Evidence, engine: EngineFacts) -> Draft | None:
    """What the built-in engine's facts say of a prefix that nothing breaks; None where that takes more."""
    comparison, match = evidence.comparison, evidence.match
    if comparison is None or comparison.broken or comparison.shares_nothing or not evidence.use_cache:
        return None
    if match is None or match.predecessor is None:
        return None
    counting = Counting(evidence, engine.prompt_tokens, engine.cached_tokens, engine)
    lost = counting.lost_unbroken()
    if lost <= tolerance_of(evidence.rules):
        return draft_engines_hit(evidence, counting) if engine.cached_tokens else None
    reasons = reasons_of(evidence, engine)
    if not reasons:
        return None
    return draft_counted_shortfall(evidence, reasons, lost, counting, engine=engine)


def _should_be_there(evidence: Evidence, comparison: Comparison) -> bool:
    """Whether it goes on from another, unchanged, and its upstream should still hold all of that."""
    rules, match, earlier, later = evidence.rules, evidence.match, comparison.earlier, comparison.later
    if match is None or not match.alive or match.pending or match.living is None or match.predecessor is None:
        return False
    if comparison.broken or comparison.shares_nothing or match.living_segments < comparison.depth:
        return False
    if earlier.marks or later.marks or not evidence.use_cache:
        return False
    if earlier.parameters != later.parameters and comparison.changed_settings:
        return False
    if rules.marked_only or rules.whole_units or rules.reports_exactly or not rules.enabled:
        return False
    return match.predecessor.route == evidence.route and evidence.emptied_at is None
