"""What a diagnosis will ask for, made while the upstream works: its answer need not wait for it then.

All of it where less will be read than could be, as far as that can be told: the prefix is broken or has
outlived its time, it was sent elsewhere before, or nothing was read last time. Of any other request, a hit as
a rule, only what a hit is asked, so that nothing is made that is not used, and, while nobody else waits, what
tells how much was lost if it were none; a large one is prepared nevertheless: its answer would wait too long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache.usage import Usage
from promptcache_gateway.exchange import EngineFacts
from promptcache_gateway.observe.counting import all_was_read
from promptcache_gateway.observe.plain import plain_miss
from promptcache_gateway.observe.stops import stops_of
from promptcache_gateway.observe.verdict import draft, weigh

if TYPE_CHECKING:
    from promptcache_gateway.observe.comparison import Comparison
    from promptcache_gateway.observe.evidence import Evidence

_USUAL_BYTES_A_TOKEN = 4


def prepare(evidence: Evidence, *, whatever_is_read: bool = False, at_leisure: bool = False) -> None:
    """Have the texts compared and measured, and what is amiss found out.

    How many tokens there are is not known yet; hardly anything hangs on it, and what does not is kept with
    the evidence.

    Args:
        evidence: what is known of the request.
        whatever_is_read: even where it will be a hit as far as can be told.
        at_leisure: there is nothing else to do meanwhile.
    """
    comparison = evidence.comparison
    if comparison is None or comparison.shares_nothing:
        return
    if comparison.earlier.parameters != comparison.later.parameters:
        _ = comparison.changed_settings  # which is kept
    usual = max(comparison.later.total_bytes // _USUAL_BYTES_A_TOKEN, 1)
    exactly = evidence.rules.reports_exactly
    if whatever_is_read or _will_be_asked(evidence):
        engine = _usual_facts(comparison, usual, read=False) if exactly else None
        weigh(evidence, Usage(total_input=usual, cache_read=0), engine).whole()
        if comparison.broken and not exactly:  # of which something may be read after all
            weigh(evidence, Usage(total_input=usual, cache_read=usual), None)
    elif exactly:
        weigh(evidence, None, _usual_facts(comparison, usual, read=True))
    elif not evidence.use_cache:
        return
    elif evidence.rules.marked_only:
        read = stops_of(evidence).promised // _USUAL_BYTES_A_TOKEN
        draft(evidence, Usage(total_input=usual, cache_read=read), None)
    else:
        all_was_read(evidence, usual, comparison.living_bytes // _USUAL_BYTES_A_TOKEN)
        if at_leisure:
            plain_miss(evidence, Usage(total_input=usual, cache_read=0))


def _usual_facts(comparison: Comparison, tokens: int, *, read: bool) -> EngineFacts:
    """What the built-in engine will tell, as far as it can be told: where, and nothing that was removed."""
    shared = min(max(comparison.shared_bytes // _USUAL_BYTES_A_TOKEN, 1), tokens)
    cached = shared if read else 0
    return EngineFacts(tokens, cached, cached, 0, 0, 0, 0, shared)


def _will_be_asked(evidence: Evidence) -> bool:
    comparison, match = evidence.comparison, evidence.match
    if comparison is None or match is None or match.predecessor is None:
        return False
    if comparison.broken or not match.alive or match.predecessor.cached_tokens == 0:
        return True
    return match.living_segments < comparison.depth and match.predecessor.route != evidence.route
