"""The form of the facts about providers: each key, and what its value may be.

`problem_of` names the first thing wrong. The numbers' meaning, and the models found by them, are
`promptcache.providers`.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Rule = tuple[str, Callable[[Any], bool]]

__all__ = ["SEPARATORS", "problem_of"]

SEPARATORS: Final = re.compile(r"[._]")
"""What a model's name may have where ours has a hyphen."""


def _is_count(value: object, least: int = 1) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_factor(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


def _is_rate(value: object) -> bool:
    return _is_factor(value) and value != 0


_OBJECT: Final[Rule] = ("an object", lambda value: isinstance(value, dict))
_TEXT: Final[Rule] = ("text", lambda value: isinstance(value, str) and value != "")
_COUNT: Final[Rule] = ("a whole number from 1", _is_count)
_FACTOR: Final[Rule] = ("a number from 0", _is_factor)
_PART: Final[Rule] = (
    "one of tools, system, messages",
    lambda value: value in ("tools", "system", "messages"),
)
_FLAG: Final[Rule] = ("true or false", lambda value: isinstance(value, bool))
_TOP: Final[Mapping[str, Rule]] = {
    "dated": _TEXT,
    "sources": _TEXT,
    **dict.fromkeys(("marks", "cache_key", "parameters", "providers", "models"), _OBJECT),
}
_MARKS: Final[Mapping[str, Rule]] = {"max": _COUNT, "lookback_blocks": _COUNT, "ttl_s": _OBJECT}
_CACHE_KEY: Final[Mapping[str, Rule]] = {"requests_per_minute": ("a number above 0", _is_rate)}
_FACTS: Final[Mapping[str, Rule]] = {
    "control": (
        "marks, automatic, both or null",
        lambda value: value is None or value in ("marks", "automatic", "both"),
    ),
    "min_tokens": (
        "a whole number from 0, or null",
        lambda value: value is None or _is_count(value, 0),
    ),
    "min_tokens_at_most": (
        "a whole number from 1, or null",
        lambda value: value is None or _is_count(value),
    ),
    "whole_units": _FLAG,
    "step": ("a whole number from 1, or null", lambda value: value is None or _is_count(value)),
    "ttl_s": (
        "a list of whole seconds from 1",
        lambda value: isinstance(value, list) and all(map(_is_count, value)),
    ),
    "read": ("a number from 0, or null", lambda value: value is None or _is_factor(value)),
    "write": _OBJECT,
}
_MODEL: Final[Mapping[str, Rule]] = {"provider": _TEXT, "family": _FLAG, **_FACTS}


def problem_of(data: Mapping[str, Any]) -> str | None:
    """Return what is wrong with facts laid over the shipped ones, naming the key; None if nothing."""
    return next(_problems(data), None)


def _problems(data: Mapping[str, Any]) -> Iterator[str]:
    yield from _keys(data, _TOP, "")
    marks = data["marks"]
    yield from _keys(marks, _MARKS, "marks.")
    yield from _all(marks["ttl_s"], _COUNT, "marks.ttl_s.")
    yield from _keys(data["cache_key"], _CACHE_KEY, "cache_key.")
    yield from _all(data["parameters"], _OBJECT, "parameters.")
    for name, parameters in data["parameters"].items():
        yield from _all(parameters, _PART, f"parameters.{name}.")
    for kind, rules in (("providers", _FACTS), ("models", _MODEL)):
        yield from _all(data[kind], _OBJECT, f"{kind}.")
        for name, facts in data[kind].items():
            yield from _keys(facts, rules, f"{kind}.{name}.")
            yield from _writes(facts.get("write", {}), marks["ttl_s"], f"{kind}.{name}.write.")
    yield from _names(data)


def _keys(values: Mapping[str, Any], rules: Mapping[str, Rule], path: str) -> Iterator[str]:
    for key, value in values.items():
        if key not in rules:
            yield f"{path + key!r} is no key that is known (there are {', '.join(rules)})"
        else:
            yield from _value(value, rules[key], path + key)


def _all(values: Mapping[str, Any], rule: Rule, path: str) -> Iterator[str]:
    for key, value in values.items():
        yield from _value(value, rule, path + key)


def _value(value: object, rule: Rule, path: str) -> Iterator[str]:
    wanted, fits = rule
    if not fits(value):
        yield f"{path!r} is {json.dumps(value)[:40]}, not {wanted}"


def _writes(factors: Mapping[str, Any], lifetimes: Mapping[str, Any], path: str) -> Iterator[str]:
    for ttl, factor in factors.items():
        if ttl not in lifetimes:
            yield f"{path + ttl!r} is a lifetime that 'marks.ttl_s' does not hold"
        yield from _value(factor, _FACTOR, path + ttl)


def _names(data: Mapping[str, Any]) -> Iterator[str]:
    for name, model in data["models"].items():
        spelled = SEPARATORS.sub("-", name.lower().rpartition("/")[2])
        if name != spelled or not name:
            yield f"the model {name!r} would not be found; write it {spelled!r}"
        if model.get("provider") not in data["providers"]:
            yield f"the model {name!r} is of no provider that is known"
