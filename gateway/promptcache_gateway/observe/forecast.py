"""What the head of a stream said of a request, which is said again behind its last byte.

The built-in engine knows all that it will tell before its first byte. So what follows from that is found out
once, and again only where what it rests on is another by then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptcache.quick_values import quick
from promptcache_gateway.observe.verdict import draft

if TYPE_CHECKING:
    from promptcache_gateway.exchange import EngineFacts
    from promptcache_gateway.observe.diagnosis import Diagnosis, Draft
    from promptcache_gateway.observe.evidence import Counts, Evidence


@quick
@dataclass(frozen=True, slots=True)
class Forecast:
    """What was said, and what it rests on.

    Attributes:
        found: what was said.
        evidence: what was known before the answer.
        engine: what the engine told.
        counts: tokens of the earlier requests, as far as they had been counted.
    """

    found: Diagnosis | Draft
    evidence: Evidence
    engine: EngineFacts
    counts: Counts

    def holds(self, evidence: Evidence, engine: EngineFacts) -> bool:
        """Whether the same would be found again."""
        same = self.evidence is evidence and (self.engine is engine or self.engine == engine)
        return same and self.counts == evidence.counts


def foretell(known: Forecast | None, evidence: Evidence, engine: EngineFacts) -> Forecast:
    """What the built-in engine's facts say: what is known, where that still holds."""
    if known is not None and known.holds(evidence, engine):
        return known
    return Forecast(draft(evidence, None, engine), evidence, engine, evidence.counts)
