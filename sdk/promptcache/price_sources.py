"""Reads other tools' lists of prices into ours. So far one: LiteLLM's map of models.

Its prices are USD per token, one key for each combination of kind, lifetime and length of the prompt. Kept
are those of an ordinary request; what batches, flexible and priority tiers cost is left out, since a request
does not tell which it is billed as. Our own form is `promptcache.price_list`'s.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from promptcache.errors import PriceListError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["convert_litellm", "looks_like_litellm"]

_KINDS: Final = {
    "input_cost_per_token": "input",
    "output_cost_per_token": "output",
    "cache_read_input_token_cost": "cache_read",
}
_WRITE: Final = "cache_creation_input_token_cost"
_WRITE_AGES: Final = {"_above_1hr": "1h", "_above_12hr": "12h"}
_DEFAULT_AGE: Final = {"anthropic": "5m", "openai": "30m"}
_TIER: Final = re.compile(r"_above_(\d+)k_tokens$")
_ONE_SELLER: Final = frozenset({"openai", "anthropic", "gemini", "xai"})
_PREFIXED: Final = frozenset({"deepseek", "mistral", "moonshot", "zai", "minimax", "dashscope"})


def looks_like_litellm(data: object) -> bool:
    """Whether a decoded file is LiteLLM's map."""
    if not isinstance(data, dict):
        return False
    entries = [entry for entry in data.values() if isinstance(entry, dict)]
    return any("litellm_provider" in entry for entry in entries[:50])


def convert_litellm(data: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return our prices by model from LiteLLM's map: hosted chat models whose maker sells them.

    Raises `promptcache.errors.PriceListError` when it names none.
    """
    models: dict[str, dict[str, Any]] = {}
    for key, entry in data.items():
        name = _name(key, entry) if isinstance(entry, dict) else None
        if name is not None and (prices := _prices(entry)):
            models[name] = prices
    if not models:
        raise PriceListError("$", "names no hosted chat model that is known here")
    return dict(sorted(models.items()))


def _name(key: str, entry: Mapping[str, Any]) -> str | None:
    """The name a model is listed under, None where its price is not one company's."""
    seller = entry.get("litellm_provider")
    if entry.get("mode") not in {"chat", "responses"} or key.startswith("ft:"):
        return None
    bare = key.lower().rpartition("/")[2]
    if seller in _ONE_SELLER and key.count("/") <= 1:
        return bare
    return f"{seller}/{bare}" if seller in _PREFIXED else None


def _prices(entry: Mapping[str, Any]) -> dict[str, Any]:
    seller = str(entry.get("litellm_provider"))
    plain: dict[str, Any] = {}
    tiers: dict[int, dict[str, float]] = {}
    for key, price in entry.items():
        if isinstance(price, bool) or not isinstance(price, int | float):
            continue
        tier = _TIER.search(key)
        name = _price_name(key[: tier.start()] if tier else key, seller)
        if name is None:
            continue
        place = plain if tier is None else tiers.setdefault(int(tier[1]) * 1000, {})
        place[name] = round(price * 1_000_000, 6)
    if "input" not in plain or "output" not in plain:
        return {}
    if tiers:
        plain["tiers"] = [{"above_input_tokens": above, **tiers[above]} for above in sorted(tiers)]
    return plain


def _price_name(key: str, seller: str) -> str | None:
    if key in _KINDS:
        return _KINDS[key]
    if key == _WRITE:
        age = _DEFAULT_AGE.get(seller)
        return f"cache_write_{age}" if age else "cache_write"
    age = _WRITE_AGES.get(key.removeprefix(_WRITE)) if key.startswith(_WRITE) else None
    return f"cache_write_{age}" if age else None
