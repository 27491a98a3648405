"""One reason for which less was read than could have been, and whose doing that is.

Which reasons a request has is `shortfall`'s finding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptcache.quick_values import quick

if TYPE_CHECKING:
    from promptcache_gateway.observe.diagnosis import Attribution

UNEXPLAINED = "PC809"
"""Said of what should have been read and was not, for no reason that can be seen."""

CALLERS_OWN = frozenset(
    {"PC503", "PC504", "PC601", "PC602", "PC603", "PC605", "PC606", "PC607", "PC608", "PC610"}
)
_UPSTREAMS = frozenset({"PC803", "PC804", UNEXPLAINED, "PC811"})


@quick
@dataclass(frozen=True, slots=True)
class Reason:
    """One code, the tokens it cost (None: not known apart), and a sentence.

    ``on_demand``: an administrator asked for it, so that it is nobody's fault. ``driven``: the upstream left
    the caller no choice.
    """

    code: str
    lost_tokens: int | None
    summary: str
    on_demand: bool = False
    driven: bool = False

    @property
    def attribution(self) -> Attribution:
        """Whose doing it is."""
        if self.on_demand:
            return "expected"
        if self.driven:
            return "upstream"
        if self.code in CALLERS_OWN:
            return "caller"
        return "upstream" if self.code in _UPSTREAMS else "expected"
