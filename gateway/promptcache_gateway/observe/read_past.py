"""Whether a provider may have read on behind what differs: some need not mind a difference."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptcache_gateway.observe.evidence import Evidence
    from promptcache_gateway.observe.rules import CacheRules
    from promptcache_gateway.observe.tokens import Tokens


def was_read_past(evidence: Evidence, tokens: Tokens) -> bool:
    """Whether the provider may have read on behind what differs, to within a step of all that it had.

    It need not mind the difference: some drop old thoughts, or write tool calls out themselves. Only asked
    where the step is not known; where it is, what is left in it counts for nothing anyway.
    """
    comparison = evidence.comparison
    if comparison is None or tokens.ruler is None or tokens.lost is None or not tokens.cached:
        return False
    if not may_have_been_read_past(evidence.rules, tokens.lost):
        return False
    return tokens.cached > tokens.ruler.at(comparison.shared_bytes).least


def may_have_been_read_past(rules: CacheRules, lost: int) -> bool:
    """Whether so little was lost that it may be what is left in a step."""
    return (
        not rules.reports_exactly and not rules.marked_only and rules.step <= 1 and lost < rules.granularity
    )
