"""Shapes of dates and times: ISO 8601, RFC 2822, ctime, written-out dates, clock times, Unix epochs, ages.

Gives fragments for the one pass over digits (`promptcache.detectors.scan`) and a pass over month names.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from promptcache.detectors.span import Candidate, Grade

if TYPE_CHECKING:
    from collections.abc import Iterator

MONTH: Final = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?"
    r"|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
_ZONE: Final = (
    r"(?: ?(?:Z|UTC|GMT|[ECMP][SD]T|CES?T|BST|IST|JST)(?![A-Za-z])(?:[+-]\d{1,2}(?::?\d{2})?)?"
    r"| ?[+-]\d{2}:?\d{2}(?!\d))?(?: \([A-Z][A-Za-z ]{2,40}\))?"
)
_HMS: Final = r"[0-2]?\d:[0-5]\d(?::[0-6]\d(?:[.,]\d{1,9})?)?(?: ?[AaPp]\.?[Mm]\b\.?)?(?!\d|:\w)" + _ZONE
_THEN_TIME: Final = r"(?:(?:,? at |, |[ T:]|T(?=\d\d))" + _HMS + ")"
_YEAR: Final = r"(?:19[7-9]\d|20\d\d)"
_DAY: Final = r"(?:[0-3]?\d)(?:st|nd|rd|th)?"

# Each fragment continues after one digit that the pass over digits has consumed.
FRAGMENTS: Final = {
    "iso": (
        r"(?<=[12])(?<!-[12])(?:97\d|98\d|99\d|0\d\d)(?:-[01]\d-[0-3]\d|/[01]\d/[0-3]\d)(?![\d/-])"
        r"(?:" + _THEN_TIME + r"|T\d{2}(?:\d{2}){0,2}Z?|(?![A-Za-z_]))"
    ),
    "basic": r"(?<=2)0\d\d[01]\d[0-3]\dT[0-2]\d[0-5]\d(?:[0-5]\d(?:\.\d+)?)?(?:Z|[+-]\d{4})?(?!\w)",
    "numeric_date": (
        r"\d?(?:/[0-3]?\d/|-[0-3]\d-|\.[0-3]\d\.)20\d\d(?![\d/-]|\.\d)(?:" + _THEN_TIME + r"|(?!\w))"
    ),
    "day_month": (
        r"(?<=[0-3])\d?(?<![4-9]\d)(?:st|nd|rd|th)?[ /-](?:of )?"
        + MONTH
        + r"\b\.?(?:,?[ /-]"
        + _YEAR
        + r"\b)?"
        + _THEN_TIME
        + r"?"
    ),
    "day_month_": (  # a first digit of 4 to 9 stands alone
        r"(?<=[4-9])(?:th)?[ /-](?:of )?" + MONTH + r"\b\.?(?:,?[ /-]" + _YEAR + r"\b)?" + _THEN_TIME + r"?"
    ),
    "time": (
        r"(?<![:.][0-9])(?:(?<=[01])\d|(?<=2)[0-3]|):[0-5]\d(?::[0-6]\d(?:[.,]\d{1,9})?)?"
        r"(?: ?[AaPp]\.?[Mm]\b\.?)?(?!\d|:\w)(?!\.\d)" + _ZONE
    ),
    "epoch": r"(?<=[12])(?:\d{9}(?:\.\d{1,9})?|\d{12}|\d{15}|\d{18})(?![\w.]\d|\d|[A-Za-z_])",
    "age": (
        r"\d{0,5}(?:\.\d+)? ?(?:s|m|h|d|w|mo|sec|secs|min|mins|hrs?|seconds?|minutes?|hours?|days?|weeks?"
        r"|months?) ago\b"
    ),
}

_MONTH_FIRST = re.compile(
    MONTH
    + r"\b\.? {1,2}"
    + _DAY
    + r"\b(?!:)(?:"
    + _THEN_TIME
    + r"(?: [A-Z]{3,4})? "
    + _YEAR
    + r"\b|(?:,? "
    + _YEAR
    + r"\b)?"
    + _THEN_TIME
    + r"?)"
)
_WEEKDAY_BEFORE = re.compile(
    r"\b(?:Mon|Tue(?:s)?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?,? (?:the )?$"
)
_HAS_TIME = re.compile(r"\d:\d\d|T\d\d")
_HAS_YEAR = re.compile(_YEAR)

EPOCH_FIRST: Final = 1_420_070_400
"""2015-01-01 in Unix seconds; earlier numbers are taken for something else."""
EPOCH_LAST: Final = 2_208_988_800
"""2040-01-01 in Unix seconds."""


def epoch_seconds(digits: str) -> float | None:
    """Read a Unix time in s, ms, µs or ns; None outside 2015 to 2040.

    >>> epoch_seconds("1764428580"), epoch_seconds("9781861972712")
    (1764428580.0, None)
    """
    whole = digits.partition(".")[0]
    scale = {10: 1, 13: 1e3, 16: 1e6, 19: 1e9}.get(len(whole))
    if scale is None:
        return None
    seconds = float(digits) / scale
    return seconds if EPOCH_FIRST <= seconds < EPOCH_LAST else None


def from_digits(shape: str, text: str, start: int, end: int) -> Candidate | None:
    """Turn a match of one of `FRAGMENTS` into a candidate, or None when its numbers are implausible."""
    value = text[start:end]
    if shape == "epoch":
        return _epoch(value, start, end)
    if shape == "time":
        return _time(value, start, end)
    if shape == "age":
        return Candidate(start, end, "PC101", "age", Grade.PLAIN)
    return dated(text, start, end)


def months(text: str) -> Iterator[Candidate]:
    """Yield dates that begin with a month's name: ``March 4, 2031``, ``Mar  4 18:04:11 2031``."""
    for match in _MONTH_FIRST.finditer(text):
        if match.start() == 0 or not text[match.start() - 1].isalnum():
            yield dated(text, match.start(), match.end())


def dated(text: str, start: int, end: int) -> Candidate:
    """Make a candidate of a date, taking in the weekday before it; with a time it is a clock reading."""
    weekday = _WEEKDAY_BEFORE.search(text[max(0, start - 15) : start])
    if weekday:
        start -= len(weekday.group())
    value = text[start:end]
    if _HAS_TIME.search(value):
        return Candidate(start, end, "PC101", "timestamp", Grade.PLAIN)
    complete = weekday is not None or _HAS_YEAR.search(value) is not None
    return Candidate(start, end, "PC109", "date", Grade.PLAIN if complete else Grade.WEAK)


def _epoch(value: str, start: int, end: int) -> Candidate | None:
    if epoch_seconds(value) is None:
        return None
    fraction = value.partition(".")[2]
    # Nobody's order number or telephone has a fraction of milliseconds.
    grade = Grade.PLAIN if len(fraction) >= 3 else Grade.HINT
    return Candidate(start, end, "PC101", "epoch", grade)


def _time(value: str, start: int, end: int) -> Candidate:
    exact = value.count(":") == 2 or value[-1] in "MmZ."
    return Candidate(start, end, "PC101", "time", Grade.HINT if exact else Grade.WEAK)
