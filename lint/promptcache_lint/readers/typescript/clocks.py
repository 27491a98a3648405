"""What is left of the clock when a time is written down: the time of day, a date, or only a month.

new Date().toISOString() → PC101;  .toISOString().slice(0, 10) → PC109;  .getFullYear() → nothing
"""

from __future__ import annotations

import re
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Text
from promptcache_lint.readers.python.values import Map, Seq, Str, Thing

if TYPE_CHECKING:
    from promptcache_lint.prompts import Trait
    from promptcache_lint.readers.python.values import Traits, Value
    from promptcache_lint.rulebook import Vocabulary

__all__ = [
    "DAYS",
    "coarser",
    "date_method",
    "is_day",
    "iso_cut",
    "literal",
    "literal_number",
    "with_options",
    "with_pattern",
]

_DAY_METHODS = {"toDateString", "getDate", "getDay", "getUTCDate", "getUTCDay", "toISODate", "toPlainDate"}
_COARSE_METHODS = {"getFullYear", "getUTCFullYear", "getMonth", "getUTCMonth", "getYear", "getTimezoneOffset"}
_LOCALE_METHODS = {"toLocaleDateString": "day", "toLocaleString": "time", "toLocaleTimeString": "time"}
_QUOTED = re.compile(r"'[^']*'|\[[^\]]*\]")
_PRODUCT = re.compile(r"\(*\d+(?:\*\d+)*\)*|864e5")
DAYS = "days"
"""The type of a time that is divided by a day; rounded, it changes at midnight."""
_TIME = re.compile(r"[HhKkmsSAaXxTtp]|LT|LLL|LTS|lll")
_DAY = re.compile(r"[DdEeicPLl]|Do")
_TIME_OPTIONS = {"hour", "minute", "second", "timeStyle", "fractionalSecondDigits", "dayPeriod"}
_DAY_OPTIONS = {"day", "weekday", "dateStyle"}
_FIELD_OPTIONS = {"year", "month", "era", *_DAY_OPTIONS, *_TIME_OPTIONS}


def is_day(divisor: str) -> bool:
    """Whether a number that the source writes, or a product of some, is a day in milliseconds or seconds."""
    said = re.sub(r"[\s_]", "", divisor)
    if _PRODUCT.fullmatch(said) is None:
        return False
    factors = map(int, said.strip("()").split("*")) if "e" not in said else (86_400_000,)
    return prod(factors) in {86_400_000, 86_400}


def literal(value: Value | None) -> str | None:
    """The text of a value that is one literal."""
    if isinstance(value, Str) and all(isinstance(part, Text) for part in value.parts):
        return "".join(part.text for part in value.parts if isinstance(part, Text))
    return None


def literal_number(value: Value | None) -> int | None:
    """The number a value is, if it is written down."""
    if isinstance(value, Thing) and value.constant is not None:
        try:
            return int(value.constant)
        except ValueError:
            return None
    return None


def coarser(traits: Traits, grain: str, vocabulary: Vocabulary) -> Traits:
    """Traits after a time was written as ``"time"``, ``"day"`` or ``"month"``."""
    if grain == "time":
        return traits
    date = vocabulary.mark("PC109") if grain == "day" else None
    kept: list[Trait] = []
    for trait in traits:
        if trait.mark.code not in {"PC101", "PC109"}:
            kept.append(trait)
        elif date is not None:
            kept.append(replace(trait, mark=date))
    return tuple(kept)


def date_method(
    name: str, receiver: Thing, arguments: list[Value], label: str, vocabulary: Vocabulary
) -> Value | None:
    """The result of a method of a date; None where it is no method that writes one."""
    traits = receiver.traits
    if name in {"toISOString", "toJSON"}:
        return Thing(label, traits, "iso")
    if name in _LOCALE_METHODS:
        return with_options(traits, arguments[1:], _LOCALE_METHODS[name], label, vocabulary)
    if name in _DAY_METHODS:
        return _written(traits, "day", label, vocabulary)
    if name in _COARSE_METHODS:
        return _written(traits, "month", label, vocabulary)
    if name in {"format", "toFormat"}:
        pattern = literal(arguments[0]) if arguments else None
        return with_pattern(traits, pattern, label, vocabulary)
    return None


def with_options(
    traits: Traits, options: list[Value], default: str, label: str, vocabulary: Vocabulary
) -> Value:
    """A time written with the options of ``Intl.DateTimeFormat``."""
    grain = default
    given = options[0] if options else None
    if isinstance(given, Map):
        keys = {key for key, _ in given.pairs if key is not None}
        if keys & _TIME_OPTIONS:
            grain = "time"
        elif keys & _DAY_OPTIONS:
            grain = "day"
        elif keys & _FIELD_OPTIONS:
            grain = "month"
    return _written(traits, grain, label, vocabulary)


def with_pattern(traits: Traits, pattern: str | None, label: str, vocabulary: Vocabulary) -> Value:
    """A time written with a pattern, as of dayjs, moment, date-fns and luxon."""
    if pattern is None:
        return Thing(label, traits)
    bare = _QUOTED.sub("", pattern)
    grain = (
        "time"
        if _TIME.search(bare.replace("MM", "").replace("Do", "D"))
        else "day"
        if _DAY.search(bare)
        else "month"
    )
    return _written(traits, grain, label, vocabulary)


def iso_cut(receiver: Thing, end: int | None, label: str, vocabulary: Vocabulary) -> Value:
    """The first ``end`` characters of an ISO time."""
    grain = "time" if end is None or end > 10 or end < 0 else "day" if end > 7 else "month"
    return _written(receiver.traits, grain, label, vocabulary)


def iso_halves(receiver: Thing, label: str, vocabulary: Vocabulary) -> Seq:
    """Date and time of an ISO time that is split at its T."""
    return Seq((_written(receiver.traits, "day", label, vocabulary), Thing(label, receiver.traits)))


def _written(traits: Traits, grain: str, label: str, vocabulary: Vocabulary) -> Thing:
    kept = coarser(traits, grain, vocabulary)
    return Thing(label, kept, settled=bool(traits) and not kept)
