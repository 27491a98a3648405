"""What a request cost: a pure function of its usage record and a price list.

A price list is a mapping of USD per million tokens: ``input``, ``output``, ``cache_read``, ``cache_write``
(any lifetime) or ``cache_write_5m``, ``_1h``, ``_30m``, ``_12h``. It may hold ``tiers``: a list of mappings
with ``above_input_tokens`` and the prices that replace the others there; and ``multiplier``, which scales
everything (batch, fast mode, region) on top of the tier.
A count without a price, or a price without a count, makes the cost unknown, never zero. Known factors by
model: `promptcache.providers`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from promptcache.errors import PriceListError
from promptcache.quick_values import quick

if TYPE_CHECKING:
    from promptcache.usage import Usage

__all__ = ["Cost", "cost_usd", "effective_prices", "price_at", "price_usage", "unread_usd"]

_MILLION = 1_000_000
_NAMES = frozenset({"input", "output", "cache_read"})
_TTLS = ("5m", "1h", "30m", "12h")
_LONGEST_FIRST = ("12h", "1h", "30m", "5m")
_WRITES_BY_DEFAULT = ("cache_write", "cache_write_5m", "cache_write_30m")
"""Writes that a provider does not split have its default lifetime; each has one."""


@quick
@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of one request in USD.

    ``usd`` is None when it is not known; ``missing`` then names the prices that were needed, or is empty
    when the provider did not report its counts. ``upper_usd`` is the cost had nothing been cached.
    """

    usd: float | None
    missing: tuple[str, ...] = ()
    upper_usd: float | None = None

    @property
    def known(self) -> bool:
        """Whether every token that was counted has a price."""
        return self.usd is not None


def cost_usd(usage: Usage, prices: Mapping[str, Any]) -> float | None:
    """Return the cost of a request in USD, or None when a price or a count is not known.

    Raises `promptcache.errors.PriceListError`, which names the key, for a value that is no price.
    """
    return price_usage(usage, prices).usd


def price_usage(usage: Usage, prices: Mapping[str, Any]) -> Cost:
    """Return the cost of a request with what is missing to know it."""
    return price_at(usage, effective_prices(prices, usage.total_input or 0))


def price_at(usage: Usage, rates: Mapping[str, float]) -> Cost:
    """Return the same by the plain prices that `effective_prices` gives for a request of its size."""
    counts = _counts(usage, rates)
    upper = _upper(usage, rates)
    if counts is None:
        return Cost(None, (), upper)
    usd: float = 0
    for name, tokens in counts.items():
        if tokens and name not in rates:
            missing = [other for other, count in counts.items() if count and other not in rates]
            return Cost(None, tuple(missing), upper)
        if tokens:
            usd += tokens * rates[name]
    return Cost(usd / _MILLION, (), upper)


def unread_usd(usage: Usage, tokens: int, rates: Mapping[str, float]) -> float | None:
    """Return what ``tokens`` that were not read cost more than reading them would have, in USD, or None.

    They are those that follow what was read. A provider writes up to the last breakpoint, what is kept longer
    in front of what is kept for less; so they were written as far as anything was, and the others were
    computed at the price of input.

    Args:
        usage: the request's counts.
        tokens: how many of its tokens could have been read and were not.
        rates: plain prices for a request of its size, as `effective_prices` gives them.
    """
    if "input" not in rates or "cache_read" not in rates:
        return None
    usd, left = 0.0, tokens
    for name, count in _written(usage, rates) if tokens and usage.cache_write else ():
        taken = min(left, count)
        if taken and name not in rates:
            return None
        usd += taken * (rates[name] - rates["cache_read"]) if taken else 0.0
        left -= taken
    return (usd + left * (rates["input"] - rates["cache_read"])) / _MILLION


def _written(usage: Usage, rates: Mapping[str, float]) -> list[tuple[str, int]]:
    """Return the written tokens with the name of their price, in the order in which they stand."""
    found, unsplit = [], usage.cache_write or 0
    for ttl, tokens in zip(_LONGEST_FIRST, _longest_writes_first(usage), strict=True):
        if tokens:
            found.append((_write_price(ttl, rates), tokens))
            unsplit -= tokens
    if unsplit > 0:
        found.append((_unsplit_price(rates), unsplit))
    return found


def effective_prices(prices: Mapping[str, Any], total_input: int) -> dict[str, float]:
    """Return the plain prices for a request of ``total_input`` tokens: its tier, then the multiplier.

    A price of None is one that is not known. Raises `promptcache.errors.PriceListError`, which names the key,
    for a value that is no price.
    """
    rates = _plain(prices, "")
    for above, tier in _tiers(prices):
        if total_input > above:
            rates.update(tier)
    multiplier = _number(prices.get("multiplier", 1.0), "multiplier")
    return {name: price * multiplier for name, price in rates.items()}


def _counts(usage: Usage, rates: Mapping[str, float]) -> dict[str, int] | None:
    """Return the tokens to pay under each price's name; None when the counts do not tell."""
    if usage.total_input is None:
        return None
    if usage.output is None and rates.get("output") != 0:
        return None
    if usage.reported and (usage.uncached is None or usage.cache_read is None):
        return None
    counts = {"input": usage.uncached or 0, "output": usage.output or 0}
    if not usage.reported:
        if "cache_read" in rates and rates["cache_read"] != rates.get("input"):
            return None  # part of it may have been read at the lower price
        return {**counts, "input": usage.total_input}
    counts["cache_read"] = usage.cache_read or 0
    split = {ttl: tokens for ttl, tokens in zip(_TTLS, _split_writes(usage), strict=True) if tokens}
    if not split and not usage.cache_write:
        return counts
    unsplit = max(0, (usage.cache_write or 0) - sum(split.values()))
    for ttl, tokens in split.items():
        _add(counts, _write_price(ttl, rates), tokens)
    _add(counts, _unsplit_price(rates), unsplit)
    return counts


_split_writes = attrgetter(*(f"cache_write_{ttl}" for ttl in _TTLS))
_longest_writes_first = attrgetter(*(f"cache_write_{ttl}" for ttl in _LONGEST_FIRST))


def _write_price(ttl: str, rates: Mapping[str, float]) -> str:
    exact = f"cache_write_{ttl}"
    return "cache_write" if "cache_write" in rates and exact not in rates else exact


def _unsplit_price(rates: Mapping[str, float]) -> str:
    """Return the name of the price for writes of no stated lifetime: general, a default's, the only one."""
    for name in _WRITES_BY_DEFAULT:
        if name in rates:
            return name
    offered = [f"cache_write_{ttl}" for ttl in _TTLS if f"cache_write_{ttl}" in rates]
    return offered[0] if len(offered) == 1 else "cache_write"


def _add(counts: dict[str, int], name: str, tokens: int) -> None:
    if tokens:
        counts[name] = counts.get(name, 0) + tokens


def _upper(usage: Usage, rates: Mapping[str, float]) -> float | None:
    if usage.total_input is None or "input" not in rates:
        return None
    if usage.output is None and rates.get("output") != 0:
        return None
    if usage.output and "output" not in rates:
        return None
    return (usage.total_input * rates["input"] + (usage.output or 0) * rates.get("output", 0.0)) / _MILLION


def _plain(prices: object, path: str) -> dict[str, float]:
    """Return the prices of a list or tier by name; words about them, such as a currency, are passed over."""
    if not isinstance(prices, Mapping):
        raise PriceListError(path.rstrip(".") or "$", f"is {prices!r}, not a mapping")
    rates = {}
    for name, price in prices.items():
        is_known = isinstance(name, str) and (name in _NAMES or name.startswith("cache_write"))
        if is_known and price is not None:
            rates[name] = _number(price, path + name)
    return rates


def _tiers(prices: Mapping[str, Any]) -> list[tuple[float, dict[str, float]]]:
    """Return the tiers with the input each begins above, the lowest first."""
    tiers = prices.get("tiers", ())
    if not isinstance(tiers, list | tuple):
        raise PriceListError("tiers", f"is {tiers!r}, not a list")
    found = []
    for index, tier in enumerate(tiers):
        path = f"tiers[{index}]."
        rates = _plain(tier, path)
        found.append((_number(tier.get("above_input_tokens"), f"{path}above_input_tokens"), rates))
    return sorted(found, key=lambda pair: pair[0])


def _number(value: object, key: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise PriceListError(key, f"is {value!r}, not a number")
    number = float(value)
    if not 0 <= number < math.inf:
        raise PriceListError(key, f"is {value!r}, which is no price")
    return number
