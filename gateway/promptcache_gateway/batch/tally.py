"""What a batch has come to: requests, tokens, money. Unknown stays unknown.

Counts are the server's own, in whatever convention; prices are the price list's, of ordinary requests. How
it is shown is `report`'s business.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from promptcache.prices import price_usage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from promptcache.usage import Usage

    PricesOf = Callable[[str], Mapping[str, Any] | None]


@dataclass(slots=True)
class Tally:
    """Sums over a batch.

    Attributes:
        requests: all the input holds.
        prices: a model's prices, None where they are not known.
        earlier: answered by an earlier run.
        answered: answered by this one.
        failed: not answered, or with an error.
        prompt_tokens: of all prompts whose count is known.
        reported: answers that say how much was read from a cache.
        reported_tokens: prompt tokens of those.
        cached_tokens: of them, those read from a cache.
        written_tokens: of them, those written to it.
        output_tokens: generated, where it is known.
        priced: answers whose cost is known.
        cost_usd: what those cost.
        uncached_usd: what they would have cost without a cache.
    """

    requests: int
    prices: PricesOf = field(repr=False)
    earlier: int = 0
    answered: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    reported: int = 0
    reported_tokens: int = 0
    cached_tokens: int = 0
    written_tokens: int = 0
    output_tokens: int = 0
    priced: int = 0
    cost_usd: float = 0.0
    uncached_usd: float = 0.0

    def count(self, usage: Usage, model: str) -> None:
        """Add what one answer cost."""
        self.prompt_tokens += usage.total_input or 0
        self.output_tokens += usage.output or 0
        if usage.reported and usage.total_input is not None:
            self.reported += 1
            self.reported_tokens += usage.total_input
            self.cached_tokens += usage.cache_read or 0
            self.written_tokens += usage.cache_write or 0
        prices = self.prices(model) if model else None
        if prices is not None:
            cost = price_usage(usage, prices)
            if cost.usd is not None and cost.upper_usd is not None:
                self.priced += 1
                self.cost_usd += cost.usd
                self.uncached_usd += cost.upper_usd

    @property
    def finished(self) -> int:
        """Requests whose answer stands in the output."""
        return self.earlier + self.answered

    @property
    def hit_rate(self) -> float | None:
        """Cached tokens of prompt tokens, 0..1; None where no answer reports them."""
        return self.cached_tokens / self.reported_tokens if self.reported_tokens else None

    def to_dict(self) -> dict[str, Any]:
        """As JSON; null is unknown."""
        known = bool(self.reported)
        return {
            "requests": self.requests,
            "answered": self.answered,
            "answered_earlier": self.earlier,
            "failed": self.failed,
            "not_sent": self.requests - self.finished - self.failed,
            "prompt_tokens": self.prompt_tokens,
            "cached_tokens": self.cached_tokens if known else None,
            "cache_write_tokens": self.written_tokens if known else None,
            "output_tokens": self.output_tokens,
            "reported": self.reported,
            "hit_rate": self.hit_rate,
            "priced": self.priced,
            "cost_usd": self.cost_usd if self.priced else None,
            "saved_usd": self.uncached_usd - self.cost_usd if self.priced else None,
        }
