"""Tokens in money: what a loss cost, what the cache saved. Unknown prices stay unknown.

The arithmetic is the SDK's (`promptcache.prices`); this module knows whose prices to ask for. The
built-in engine charges nothing for a token, so for it money is unknown rather than zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from promptcache.prices import effective_prices, price_at, unread_usd

if TYPE_CHECKING:
    from promptcache.prices import Cost
    from promptcache.usage import Usage
    from promptcache_gateway.observe.diagnosis import Diagnosis, Draft

PriceList = Callable[[str], Mapping[str, Any] | None]
"""A model's prices in USD per million tokens, in the shape of `promptcache.prices`; None: unknown."""

Said = TypeVar("Said", bound="Diagnosis | Draft")

_MILLION = 1_000_000.0
_KNOWN_MODELS = 512
_DEAREST_WRITE = 2.0
"""What a written token costs at most, in input tokens: Anthropic's, for an hour."""


class Money:
    """Puts prices on tokens."""

    def __init__(self, price_list: PriceList | None = None) -> None:
        """``price_list`` None: no prices are known."""
        self._price_list = None if price_list is None else lru_cache(maxsize=_KNOWN_MODELS)(price_list)
        self._flat: dict[str, tuple[Mapping[str, Any], Mapping[str, float]]] = {}
        self._last: tuple[Cost | None, Usage | None, str] = (None, None, "")

    def price_loss(self, diagnosis: Said, model: str, usage: Usage | None) -> Said:
        """The diagnosis with what its lost tokens cost beyond what reading them would have cost.

        What of them was written anew has the price of writing. ``usage`` None: nothing was counted yet.
        """
        lost = diagnosis.lost_tokens
        rates = self._rates(model, usage.total_input) if lost is not None and usage is not None else None
        if lost is None or usage is None or rates is None:
            return diagnosis
        usd = unread_usd(usage, lost, rates)
        if usd is None:
            return diagnosis
        priced: Any = diagnosis.priced(usd)
        said: Said = priced
        return said

    def knows(self, model: str) -> bool:
        """Whether there are prices of a model."""
        return self._prices(model) is not None

    def saved(self, usage: Usage, model: str) -> float | None:
        """What the request would have cost without a cache, less what it cost; negative for a bad write."""
        cost = self._cost(usage, model) if usage.reported else None
        if cost is None:
            return None
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
        if usage.total_input is None:
            return None
        if usage.output is None and not answers:
            usage = replace(usage, output=0)
        cost = self._cost(usage, model)
        if cost is None or _lacks_write_price(cost):
            return None
        return cost.upper_usd if cost.usd is None else cost.usd

    def most(self, usage: Usage, model: str) -> float | None:
        """The most a request can have cost whose cost is None for want of a price of writes; else None."""
        rates = self._rates(model, usage.total_input)
        if rates is None or usage.total_input is None:
            return None
        cost = price_at(usage, rates)
        if cost.upper_usd is None or not _lacks_write_price(cost):
            return None
        dearer = (usage.cache_write or 0) * (_DEAREST_WRITE - 1.0)
        return cost.upper_usd + dearer * rates["input"] / _MILLION

    def _cost(self, usage: Usage, model: str) -> Cost | None:
        """A request's cost; it is asked for twice in a row, and reckoned once."""
        known, of, at = self._last
        if of is usage and at == model:
            return known
        rates = self._rates(model, usage.total_input)
        cost = None if rates is None else price_at(usage, rates)
        self._last = (cost, usage, model)
        return cost

    def _rates(self, model: str, total_input: int | None) -> Mapping[str, float] | None:
        """A model's plain prices for a request of a size; those without tiers are the same for every size."""
        prices = self._prices(model)
        if prices is None:
            return None
        known = self._flat.get(model)
        if known is not None and known[0] is prices:
            return known[1]
        rates = effective_prices(prices, total_input or 0)
        if not prices.get("tiers"):
            if len(self._flat) >= _KNOWN_MODELS:
                self._flat.clear()
            self._flat[model] = (prices, rates)
        return rates

    def _prices(self, model: str) -> Mapping[str, Any] | None:
        return None if self._price_list is None else self._price_list(model)


def _lacks_write_price(cost: Cost) -> bool:
    return cost.usd is None and any(name.startswith("cache_write") for name in cost.missing)
