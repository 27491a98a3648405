"""What a diagnosis will ask for, made while the upstream works: its answer need not wait for it then.

Only where less will be read than could be, as far as that can be told: the prefix is broken or has outlived
its time, or nothing was read last time. Of any other request, a hit as a rule, nothing of this is asked, and
only a large one is prepared nevertheless: its answer would wait too long if it were no hit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache.usage import Usage
from promptcache_gateway.exchange import EngineFacts
from promptcache_gateway.observe.verdict import weigh

if TYPE_CHECKING:
    from promptcache_gateway.observe.comparison import Comparison
    from promptcache_gateway.observe.evidence import Evidence

_USUAL_BYTES_A_TOKEN = 4


def prepare(evidence: Evidence, *, whatever_is_read: bool = False) -> None:
    """Have the texts compared and measured, and what is amiss found out.

    How many tokens there are is not known yet; hardly anything hangs on it, and what does not is kept with
    the evidence.

    Args:
        evidence: what is known of the request.
        whatever_is_read: even where it will be a hit as far as can be told.
    """
    comparison = evidence.comparison
    if comparison is None or comparison.shares_nothing:
        return
    if not (whatever_is_read or _will_be_asked(evidence)):
        return
    usual = max(comparison.later.total_bytes // _USUAL_BYTES_A_TOKEN, 1)
    engine = _usual_facts(comparison, usual) if evidence.rules.reports_exactly else None
    weigh(evidence, Usage(total_input=usual, cache_read=0), engine).whole()


def _usual_facts(comparison: Comparison, tokens: int) -> EngineFacts:
    """What the built-in engine will tell, as far as it can be told: where, and nothing that was removed."""
    shared = max(comparison.shared_bytes // _USUAL_BYTES_A_TOKEN, 1)
    return EngineFacts(tokens, 0, 0, 0, 0, 0, 0, min(shared, tokens))


def _will_be_asked(evidence: Evidence) -> bool:
    comparison, match = evidence.comparison, evidence.match
    if comparison is None or match is None or match.predecessor is None:
        return False
    return comparison.broken or not match.alive or match.predecessor.cached_tokens == 0
