"""``[prices]`` of promptcache.toml: which prices hold, and whether they are old.

The shipped list is laid under the user's file, and that under what promptcache.toml says of single models. A
list that cannot be read is found when the settings are, not when the first request is to be priced.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from promptcache.errors import PriceListError
from promptcache.price_list import OLD_AFTER_DAYS, PriceList, load_price_list
from promptcache.prices import effective_prices
from promptcache_gateway.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

KEYS: dict[str, type] = {"file": str}
MODEL_KEYS: dict[str, type] = dict.fromkeys(
    (
        "input",
        "output",
        "cache_read",
        "cache_write",
        *(f"cache_write_{ttl}" for ttl in ("5m", "30m", "1h", "12h")),
        "multiplier",
    ),
    float,
)
"""Prices of one model, in USD per million tokens; ``multiplier`` scales all of them."""

_NEEDED = ("input", "output")


@dataclass(frozen=True)
class PriceSettings:
    """What was configured.

    Attributes:
        file: the user's price list; None: the one ``promptcache prices`` writes, if it is there.
        models: prices of single models, over every list.
    """

    file: Path | None = None
    models: Mapping[str, Mapping[str, float]] = field(default_factory=lambda: MappingProxyType({}))

    @cached_property
    def prices(self) -> PriceList:
        """All prices; raises `SettingsError` where a list cannot be read."""
        try:
            found = load_price_list(self.file)
        except PriceListError as error:
            where = "PROMPTCACHE_PRICES" if self.file is None else "prices.file"
            raise SettingsError(
                where, f"{error}", remedy="Write it anew with 'promptcache prices update --from FILE'."
            ) from error
        own = {name.lower(): prices for name, prices in self.models.items()}
        return replace(found, models={**found.models, **own}, own=found.own | own.keys())

    def warning(self, today: date | None = None) -> str | None:
        """What is to be said of old prices; None where they are not."""
        today = datetime.now(UTC).date() if today is None else today
        prices = self.prices
        if not prices.is_old(today):
            return None
        return (
            f"the prices are {prices.age_days(today)} days old (more than {OLD_AFTER_DAYS}): costs and "
            "budgets may be wrong. Take newer ones with 'promptcache prices update --from FILE', or name "
            "them in [prices]."
        )


def read_prices(table: Mapping[str, Any], config: Path | None) -> PriceSettings:
    """The settings in ``[prices]``, its keys and types checked; raises `SettingsError`.

    A relative ``file`` starts from where promptcache.toml lies.
    """
    for name, prices in table.get("models", {}).items():
        _check(f'prices.models."{name}"', prices)
    file = table.get("file")
    found = None if file is None or config is None else config.parent / file
    settings = PriceSettings(found, table.get("models", {}))
    _ = settings.prices  # read now, so that a fault is found now
    return settings


def _check(where: str, prices: Mapping[str, float]) -> None:
    missing = [name for name in _NEEDED if name not in prices]
    if missing:
        raise SettingsError(
            f"{where}.{missing[0]}",
            "is missing.",
            remedy="Give it in USD per million tokens; 0 where it is free.",
        )
    try:
        effective_prices(prices, 0)
    except PriceListError as error:
        raise SettingsError(f"{where}.{error.key}", f"{error.problem}.") from error
