"""Which prices hold for a model: the shipped list of hosted models, and what its users know better.

The shipped list is ``data/prices.json``: USD per million tokens for models that one company sells under one
name, with the date and the source of the numbers. A model that many hosts serve at their own prices is listed
under its maker's prefix only (``deepseek/deepseek-chat``). A file of the same form, written by
``promptcache prices update`` or by hand, is laid over it, model by model. A model that neither names has no
price: `PriceList.find` returns None, and its cost is unknown, never zero. What a price list means for a
request is `promptcache.prices`; how other tools' lists are read is `promptcache.price_sources`.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from datetime import date
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from promptcache.errors import PriceListError
from promptcache.prices import effective_prices

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["OLD_AFTER_DAYS", "PriceList", "load_price_list", "own_price_file", "parse_price_list"]

OLD_AFTER_DAYS: Final = 90
"""A list older than this is said to be old."""

_LONGEST_NAME = 256
_DATED_NAME = re.compile(r"-(?:\d{8}|\d{4}-\d{2}-\d{2})$")


@dataclass(frozen=True, slots=True)
class PriceList:
    """Prices by model, in USD per million tokens, each in the shape `promptcache.prices` reads.

    ``dated`` is the day for which the numbers hold and ``source`` where they come from; ``own`` names the
    models whose prices are the user's, and ``own_file`` the file they came from (None: there is none).
    """

    dated: date
    source: str
    models: Mapping[str, Mapping[str, Any]]
    own: frozenset[str] = frozenset()
    own_file: Path | None = None

    def find(self, model: str) -> Mapping[str, Any] | None:
        """Return a model's prices, or None where they are not known.

        A dated snapshot (``gpt-4o-2024-08-06``) that is not listed itself has the prices of its name without
        the date; ``openai/gpt-4o`` those of ``gpt-4o``, where that company is the one who sells it.
        """
        if len(model) > _LONGEST_NAME:
            return None
        name = model.strip().lower()
        return next((self.models[key] for key in _spellings(name) if key in self.models), None)

    def age_days(self, today: date) -> int:
        """Return the days since the numbers were taken."""
        return (today - self.dated).days

    def is_old(self, today: date) -> bool:
        """Whether the numbers are older than `OLD_AFTER_DAYS`."""
        return self.age_days(today) > OLD_AFTER_DAYS


_SELLERS: Final = {
    "openai": ("gpt", "o1", "o3", "o4"),
    "anthropic": ("claude",),
    "gemini": ("gemini",),
    "xai": ("grok",),
}


def _spellings(name: str) -> list[str]:
    """The names under which a model may be listed, the most exact first."""
    seller, slash, bare = name.partition("/")
    names = [name]
    if slash and bare.startswith(_SELLERS.get(seller, ("\0",))):
        names.append(bare)
    return [*names, *(short for one in names if (short := _DATED_NAME.sub("", one)) != one)]


def own_price_file() -> Path:
    """Return where the user's own prices are: ``PROMPTCACHE_PRICES``, or a file in the data folder."""
    if named := os.environ.get("PROMPTCACHE_PRICES"):
        return Path(named).expanduser()
    base = os.environ.get("XDG_DATA_HOME", "")
    folder = Path(base) if base.startswith("/") else Path.home() / ".local" / "share"
    return folder / "promptcache" / "prices.json"


def load_price_list(own: Path | None = None) -> PriceList:
    """Return the shipped list with the user's own prices over it.

    ``own`` is the user's file; None: the one `own_price_file` names, if it is there.
    Raises `promptcache.errors.PriceListError` when the user's file cannot be read or holds no price list.
    """
    text = resources.files("promptcache").joinpath("data/prices.json").read_text("utf-8")
    shipped = parse_price_list(json.loads(text))
    path = own_price_file() if own is None else own
    if own is None and not path.exists():
        return shipped
    added = parse_price_list(_read(path))
    whole = len(added.models) >= len(shipped.models)  # an update of everything brings its own date
    return PriceList(
        dated=added.dated if whole else shipped.dated,
        source=added.source if whole else shipped.source,
        models={**shipped.models, **added.models},
        own=frozenset(added.models),
        own_file=path,
    )


def parse_price_list(data: object) -> PriceList:
    """Return the price list that a decoded file of our own form holds.

    Raises `promptcache.errors.PriceListError`, which names the key at fault.
    """
    if not isinstance(data, dict) or not isinstance(data.get("models"), dict):
        raise PriceListError("models", "is missing, or is no object")
    try:
        dated = date.fromisoformat(str(data.get("dated")))
    except ValueError:
        raise PriceListError("dated", f"is {data.get('dated')!r}, not a day such as 2026-11-29") from None
    models = {}
    for name, prices in data["models"].items():
        try:
            effective_prices(prices, 0)
        except PriceListError as error:
            raise PriceListError(f"models.{name}.{error.key}", error.problem) from None
        models[str(name).lower()] = prices
    return PriceList(dated, str(data.get("source", "")), models)


def _read(path: Path) -> object:
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise PriceListError(str(path), f"cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise PriceListError(str(path), f"is not JSON ({error})") from error
