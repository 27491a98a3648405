"""Requests of which less was read than what stands before them led to expect, and the log does not say why.

They are nobody's fault and count in no cause. That they are there is said all the same, or the report would
look as if nothing had happened. Why a verdict is withheld is `replay`'s business.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptcache_gateway.diagnose.replay import Judged


@dataclass(slots=True)
class Unexplained:
    """How many there are of a template, how many tokens less were read, and the first of them."""

    requests: int = 0
    tokens: int = 0
    example: dict[str, Any] | None = None

    def add(self, judged: Judged, place: Mapping[str, Any]) -> None:
        """Count a request, which stands at a place in the logs."""
        record, diagnosis = judged.record, judged.record.diagnosis
        self.requests += 1
        self.tokens += max(0, (diagnosis.reusable_tokens or 0) - (record.cached_tokens or 0))
        if self.example is None:
            self.example = {
                **place,
                "request": record.id,
                "compared_with": diagnosis.compared_with,
                "summary": diagnosis.summary,
            }

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {"requests": self.requests, "tokens": self.tokens, "example": self.example}


def is_unexplained(judged: Judged) -> bool:
    """Whether a request was counted and compared, and no verdict was given."""
    record, diagnosis = judged.record, judged.record.diagnosis
    return (
        judged.counted
        and record.reported
        and judged.exchange.counts is None
        and diagnosis.attribution == "unknown"
        and diagnosis.cause is None
        and diagnosis.hit is None
        and diagnosis.lost_tokens is None
        and diagnosis.compared_with is not None
    )
