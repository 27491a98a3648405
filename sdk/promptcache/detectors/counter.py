"""Shapes of counters and usage figures: ``step 3 of 10``, ``used 1,234 tokens``, ``49% - 1,085/2,200 chars``.

A limit ("at most 500 tokens") is not a counter: a number counts only beside words that say it moves.
"""

from __future__ import annotations

import re
from typing import Final

from promptcache.detectors.span import Candidate, Grade

# All of its digits or none (possessive): no fragment goes on with a digit, and trying costs most of a number.
_NUMBER: Final = r"\d*+(?:,\d{3})*(?:\.\d+)?[kKM]?"
_WHOLE: Final = r"\d+(?:,\d{3})*(?:\.\d+)?[kKM]?"
_UNIT: Final = r"(?:tokens?|chars?|characters?|words?|messages?|requests?|credits?|calls?|turns?|tool calls?)"
_MOVES: Final = r"(?:used|left(?! by\b)|remaining|consumed|spent|so far|in use)"

# Each fragment continues after one digit that the pass over digits has consumed.
FRAGMENTS: Final = {
    "meter": (
        _NUMBER + r"%? ?(?:[-\u2013\u2014|:(] ?" + _WHOLE + r")? ?/ ?" + _WHOLE + r" ?" + _UNIT + r"\b"
        r"(?: " + _MOVES + r"\b)?"
    ),
    "figure": (
        _NUMBER + r"(?:(?: of | out of |/)" + _WHOLE + r"(?: ?" + _UNIT + r")?|%| ?" + _UNIT + r"|(?<=\$\d)"
        r"|(?<=\$\d\.\d\d)) (?:" + _MOVES + r"|full)\b"
    ),
    "amount": _NUMBER + r"(?: of " + _WHOLE + r"|/" + _WHOLE + r")? " + _UNIT + r"\b",
    "step": _NUMBER + r"(?: of | out of | ?/ ?)" + _WHOLE + r"(?![\w/-])",
    "count": r"(?:(?<=[A-Za-z][ :=#][0-9])|(?<=[A-Za-z][:=] [0-9])|(?<=[A-Za-z] #[0-9]))"
    + _NUMBER
    + r"(?!\w)",
}

_MOVING_BEFORE = re.compile(
    r"\b(?:used|consumed|spent|remaining|usage|so far|left|total so far|current(?:ly)? (?:at|using))"
    r"(?: (?:is|so far|now))?\s?(?P<colon>[:=])?\s?\(?$",
    re.IGNORECASE,
)
_STEP_BEFORE = re.compile(
    r"\b(?:step|turn|round|iteration|attempt|try|retry|message|request|call|task|loop|cycle|pass)"
    r"(?:[ _-]?(?:number|no\.?|count|index))?\s?[:=#]?\s?#?$",
    re.IGNORECASE,
)
_COUNT_BEFORE = re.compile(
    r"\b(?:turn|iteration|attempt|(?:step|turn|message|request|call|token|tool[ _-]call"
    r"|retry)s?[ _-]?(?:number|count|index|used|left|remaining|so far)|uptime|elapsed|tokens? usage|usage)"
    r"\s?[:=#]\s?#?$",
    re.IGNORECASE,
)
_ORDINAL_BEFORE = re.compile(
    r"\b(?:step|turn|round|iteration|attempt|try|retry|message|request|call|loop|cycle|pass|day|session|visit"
    r"|count|total|so far|used|remaining|left|context|budget|usage)(?:[ _-]?(?:number|no\.?|count))?"
    r"\s?(?:is\s?)?[:=#]?\s?#?$",
    re.IGNORECASE,
)

_LAST_LETTERS: Final = (
    *("used", "consumed", "spent", "remaining", "usage", "so far", "left", " at", "using", " is", "now"),
    *("step", "turn", "round", "iteration", "attempt", "try", "message", "request", "call", "task", "loop"),
    *("cycle", "pass", "number", "no", "no.", "count", "index", "uptime", "elapsed"),
)
"""What the words in front of a counted number end with."""


def from_digits(shape: str, text: str, start: int, end: int) -> Candidate | None:
    """Turn a match of one of `FRAGMENTS` into a candidate, or None when no word says that it moves."""
    before = text[max(0, start - 32) : start]
    before = before[before.rfind("\n") + 1 :]
    if shape not in {"meter", "figure"} and not _may_be_counted(before):
        return None
    moving = _MOVING_BEFORE.search(before)
    # A bare number needs the colon too: "used 10 times" is a fact, "used: 10" a reading.
    if shape in {"meter", "figure"} or (moving and (shape != "count" or moving["colon"])):
        return Candidate(start, end, "PC107", "counter", Grade.PLAIN)
    if shape == "step" and _STEP_BEFORE.search(before):
        return Candidate(start, end, "PC107", "counter", Grade.PLAIN)
    if shape == "count" and _COUNT_BEFORE.search(before):
        return Candidate(start, end, "PC107", "counter", Grade.PLAIN)
    return None


def _may_be_counted(before: str) -> bool:
    """A cheap look at the last letters first: before most numbers stands none of the words."""
    return before.rstrip(" \t:=#(").lower().endswith(_LAST_LETTERS)


def is_ordinal_label(before: str) -> bool:
    """Tell whether the words before a number name something counted (``Step``, ``Messages:``)."""
    return _ORDINAL_BEFORE.search(before) is not None
