"""What is known of providers and models: minimums, lifetimes, steps, price factors, what resets a cache.

Everything here is read from ``data/providers.json``, which carries its date: such numbers drift, so none of
them is in code. A model the file does not name gets no assumption: `find_model` returns None.
Newer numbers need no newer release: a file of the same form, named by the environment variable
``PROMPTCACHE_PROVIDERS``, is laid over it when this module is first imported.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from promptcache.errors import ProviderDataError
from promptcache.providers_form import SEPARATORS, problem_of

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "DATED",
    "KEY_REQUESTS_PER_MINUTE",
    "LOOKBACK_BLOCKS",
    "MARK_TTL_S",
    "MAX_BREAKPOINTS",
    "ModelFacts",
    "all_prompt_parameters",
    "find_model",
    "prompt_parameters",
]


def load_data(own: str | None) -> Mapping[str, Any]:
    """Return the shipped data with the file ``own`` laid over it, objects into objects.

    Raises `promptcache.errors.ProviderDataError` when the file cannot be read, or a key of it is not of the
    form `promptcache.providers_form` gives it.
    """
    text = resources.files("promptcache").joinpath("data/providers.json").read_text("utf-8")
    data: dict[str, Any] = json.loads(text)
    if own:
        data = _laid_over(data, _read(own), own)
        if problem := problem_of(data):
            raise ProviderDataError(own, problem)
    return MappingProxyType(data)


def _read(path: str) -> dict[str, Any]:
    try:
        own = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise ProviderDataError(path, error.strerror or "it cannot be read") from error
    except (ValueError, RecursionError) as error:
        raise ProviderDataError(path, f"it is not JSON ({error})") from error
    if not isinstance(own, dict):
        raise ProviderDataError(path, "it holds no object")
    return own


def _laid_over(under: dict[str, Any], over: dict[str, Any], path: str, place: str = "") -> dict[str, Any]:
    merged = dict(under)
    for key, value in over.items():
        old = under.get(key)
        if isinstance(old, dict) != isinstance(value, dict) and old is not None:
            raise ProviderDataError(path, f"{place + key!r} is not of the form it has in the shipped file")
        merged[key] = _laid_over(old, value, path, f"{place}{key}.") if isinstance(old, dict) else value
    return merged


_DATA = load_data(os.environ.get("PROMPTCACHE_PROVIDERS"))

DATED: str = _DATA["dated"]
"""Month for which the numbers hold."""

MAX_BREAKPOINTS: int = _DATA["marks"]["max"]
"""Breakpoints a request may carry (Anthropic, Qwen, OpenAI from GPT-5.6)."""

LOOKBACK_BLOCKS: int = _DATA["marks"]["lookback_blocks"]
"""Blocks that are searched for an earlier entry, counting from a mark and including it."""

MARK_TTL_S: Mapping[str, int] = MappingProxyType(_DATA["marks"]["ttl_s"])
"""Seconds that each ``ttl`` of a mark stands for."""

KEY_REQUESTS_PER_MINUTE: float = _DATA["cache_key"]["requests_per_minute"]
"""Requests a minute that one ``prompt_cache_key`` should see at OpenAI."""

_LONGEST_NAME = 256


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is known of one model's prompt cache; None means not known, never zero.

    ``control`` is ``marks`` (only what is marked is cached), ``automatic`` or ``both``. ``min_tokens`` is the
    shortest prefix that is cached, ``step`` the granularity of reported reads, both in tokens.
    ``min_tokens_at_most`` is a length from which a prefix is surely cached, where the shortest is not known.
    ``whole_units`` says that what is kept is found only as a whole: an earlier request, or what several were
    seen to share. ``ttl_s`` are the lifetimes on offer in seconds, the default first. ``read_factor`` and
    ``write_factors`` (by lifetime) multiply the input price.
    """

    name: str
    provider: str
    control: str | None
    min_tokens: int | None
    step: int | None
    ttl_s: tuple[int, ...]
    read_factor: float | None
    write_factors: Mapping[str, float]
    min_tokens_at_most: int | None = None
    whole_units: bool = False

    def prices(self, *, input_usd: float, output_usd: float) -> dict[str, float]:
        """Return prices in USD per million tokens, derived from the model's input price."""
        prices = {"input": input_usd, "output": output_usd}
        if self.read_factor is not None:
            prices["cache_read"] = input_usd * self.read_factor
        for ttl, factor in self.write_factors.items():
            prices[f"cache_write_{ttl}"] = input_usd * factor
        return prices


def find_model(model: str) -> ModelFacts | None:
    """Return what is known of ``model`` in any spelling (``anthropic/claude-opus-4.5``), or None."""
    return _find(model) if len(model) <= _LONGEST_NAME else None


@lru_cache(maxsize=512)
def _find(model: str) -> ModelFacts | None:
    spelled = SEPARATORS.sub("-", model.lower().rpartition("/")[2])
    return next((_facts(name) for name, pattern in _MODEL_NAMES if pattern.search(spelled)), None)


def prompt_parameters(provider: str | None) -> Mapping[str, str]:
    """Return the request parameters that reach the prompt, each with the part from which all is new.

    The part is ``tools`` (everything), ``system`` or ``messages``. An unknown provider gets all of them.
    """
    return MappingProxyType(_DATA["parameters"].get(provider or "any", _DATA["parameters"]["any"]))


def all_prompt_parameters() -> tuple[frozenset[str], ...]:
    """Return the names of the request parameters that reach the prompt, a set for each table of them."""
    return tuple(frozenset(names) for names in _DATA["parameters"].values())


def _facts(name: str) -> ModelFacts:
    model = _DATA["models"][name]
    facts = {**_DATA["providers"][model["provider"]], **model}
    return ModelFacts(
        name=name,
        provider=facts["provider"],
        control=facts.get("control"),
        min_tokens=facts.get("min_tokens"),
        step=facts.get("step"),
        ttl_s=tuple(facts.get("ttl_s", ())),
        read_factor=facts.get("read"),
        write_factors=MappingProxyType(facts.get("write", {})),
        min_tokens_at_most=facts.get("min_tokens_at_most"),
        whole_units=facts.get("whole_units", False),
    )


def _pattern(name: str, *, family: bool) -> re.Pattern[str]:
    # Not followed by more of a version: "claude-opus-5" is not "claude-opus-5-7", of which nothing is known.
    version = "" if family else r"|-\d{1,2}(?!\d)"
    return re.compile(rf"(?<![a-z0-9]){re.escape(name)}(?![a-z0-9]{version})")


_MODEL_NAMES = tuple(
    (name, _pattern(name, family=_DATA["models"][name].get("family", False)))
    for name in sorted(_DATA["models"], key=len, reverse=True)
)
