"""Tokens in money: what a loss cost, what the cache saved. Unknown prices stay unknown.

The arithmetic is the SDK's (`promptcache.prices`); this module knows whose prices to ask for. The
built-in engine charges nothing for a token, so for it money is unknown rather than zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from promptcache.prices import effective_prices, price_usage

if TYPE_CHECKING:
    from promptcache.prices import Cost
    from promptcache.usage import Usage
    from promptcache_gateway.observe.diagnosis import Diagnosis

PriceList = Callable[[str], Mapping[str, Any] | None]
"""A model's prices in USD per million tokens, in the shape of `promptcache.prices`; None: unknown."""

_MILLION = 1_000_000.0
_KNOWN_MODELS = 512
_DEAREST_WRITE = 2.0
"""What a written token costs at most, in input tokens: Anthropic's, for an hour."""


class Money:
    """Puts prices on tokens."""

    def __init__(self, price_list: PriceList | None = None) -> None:
        """``price_list`` None: no prices are known."""
        self._price_list = None if price_list is None else lru_cache(maxsize=_KNOWN_MODELS)(price_list)

    def price_loss(self, diagnosis: Diagnosis, model: str, total_input: int | None) -> Diagnosis:
        """The diagnosis with what its lost tokens cost beyond what reading them would have cost."""
        prices = self._prices(model)
        if prices is None or diagnosis.lost_tokens is None:
            return diagnosis
        rates = effective_prices(prices, total_input or 0)
        if "input" not in rates or "cache_read" not in rates:
            return diagnosis
        usd = diagnosis.lost_tokens * (rates["input"] - rates["cache_read"]) / _MILLION
        return replace(diagnosis, lost_usd=usd)

    def saved(self, usage: Usage, model: str) -> float | None:
        """What the request would have cost without a cache, less what it cost; negative for a bad write."""
        prices = self._prices(model)
        if prices is None or not usage.reported:
            return None
        cost = price_usage(usage, prices)
        return None if cost.usd is None or cost.upper_usd is None else cost.upper_usd - cost.usd

    def cost(self, usage: Usage, model: str, *, answers: bool = True) -> float | None:
        """What the request cost; None where the price of input or output is not known, or no count.

        Where it is not known how much was read, or what that costs, all of the input has the price of input:
        more than it can have cost. What was written costs more than that: without its price the cost is None.

        Args:
            usage: the upstream's counts.
            model: the model's name at the upstream.
            answers: False for requests that have no output to count: embeddings.
        """
        prices = self._prices(model)
        if prices is None or usage.total_input is None:
            return None
        if usage.output is None and not answers:
            usage = replace(usage, output=0)
        cost = price_usage(usage, prices)
        if _lacks_write_price(cost):
            return None
        return cost.upper_usd if cost.usd is None else cost.usd

    def most(self, usage: Usage, model: str) -> float | None:
        """The most a request can have cost whose cost is None for want of a price of writes; else None."""
        prices = self._prices(model)
        if prices is None or usage.total_input is None:
            return None
        cost = price_usage(usage, prices)
        if cost.upper_usd is None or not _lacks_write_price(cost):
            return None
        dearer = (usage.cache_write or 0) * (_DEAREST_WRITE - 1.0)
        return cost.upper_usd + dearer * effective_prices(prices, usage.total_input)["input"] / _MILLION

    def _prices(self, model: str) -> Mapping[str, Any] | None:
        return None if self._price_list is None else self._price_list(model)


def _lacks_write_price(cost: Cost) -> bool:
    return cost.usd is None and any(name.startswith("cache_write") for name in cost.missing)
