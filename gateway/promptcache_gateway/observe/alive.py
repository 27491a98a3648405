"""What another request keeps alive where a request goes, though its predecessor's is gone or elsewhere.

It was due, and where it was not read, that is the upstream's doing: what became of the predecessor's
explains only what stands behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache.divergence.parameters import telling_parameters
from promptcache.quick_values import changed
from promptcache_gateway.observe.reason import UNEXPLAINED, Reason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache_gateway.observe.evidence import Evidence
    from promptcache_gateway.observe.tokens import Tokens

_OF_PREDECESSOR = frozenset({"PC503", "PC802", "PC803", "PC804"})
"""What is said of one entry: its conversation changed models, it expired, was cleared or is elsewhere."""


def with_what_was_due(evidence: Evidence, tokens: Tokens, reasons: Sequence[Reason]) -> list[Reason]:
    """The reasons for a loss, of which the first explains all; and the upstream's, where a part was due."""
    missed = unread(evidence, tokens) if all(reason.code in _OF_PREDECESSOR for reason in reasons) else None
    if missed is None or not reasons:
        return list(reasons)
    due = missed.lost_tokens or 0
    rest = max(0, (tokens.lost or 0) - due)
    if rest <= tokens.tolerance:
        return [missed]
    first = changed(reasons[0], lost_tokens=rest)
    pair = [missed, first] if due > rest else [first, missed]
    return [*pair, *reasons[1:]]


def unread(evidence: Evidence, tokens: Tokens) -> Reason | None:
    """The upstream's reason for what was due and was not read; None where all of it was."""
    living, due = None if evidence.match is None else evidence.match.living, _due(evidence, tokens)
    if living is None or not due:
        return None
    since = max(0.0, evidence.received_at - living.last_used)
    return Reason(
        UNEXPLAINED,
        due,
        f"{due} tokens of it were sent {since:.0f} s ago and should have been cached;"
        f" {evidence.route[0]} did not read them.",
    )


def _due(evidence: Evidence, tokens: Tokens) -> int:
    """Tokens that were not read of what a request under the same settings keeps alive; 0 where all were."""
    match, rules, prompt = evidence.match, evidence.rules, evidence.prompt
    if match is None or match.living is None or prompt is None or match.pending:
        return 0
    if rules.reports_exactly or rules.whole_units or tokens.cached is None or tokens.expected is None:
        return 0
    due = tokens.expected - tokens.cached
    if due <= tokens.tolerance:
        return 0
    earlier = match.living.prompt.parameters
    same = earlier == prompt.parameters or telling_parameters(earlier) == telling_parameters(
        prompt.parameters
    )
    return due if same else 0
