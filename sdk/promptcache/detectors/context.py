"""The words around a value: do they call it current, or an example, or a fact that stays?

Looks only at the same line, and back to the beginning of the sentence. Knows nothing about shapes.
"""

from __future__ import annotations

import re
from typing import Final

_REACH: Final = 96
"""Characters looked at before a value."""

_SENTENCE_END = re.compile(r"(?<!e\.g)(?<!i\.e)(?<!\bcf)(?<!\bno)[.!?]\s+(?=\S)")

_EXAMPLE = re.compile(
    r"\b(?:e\.g|for example|for instance|(?<![./@-])examples?(?!\.\w)|such as|samples?|looks? like"
    r"|placeholders?|formats?"
    r"|formatted|pattern|regex|regexp|default|defaults to|dummy|mock|fictional|test data)\b"
    r"|\b(?:as|like)\s+[\"'`“]?$"
    r"|`$",
    re.IGNORECASE,
)

_FACT = re.compile(
    r"\b(?:since|until|till|before|after|founded|established|released?|published|version|effective|valid"
    r"|expire[sd]?|deadline|due|cut-?off|born|died|copyright|introduced|deprecated|discontinued|enacted"
    r"|signed|amended|adopted|in force|holiday|opened|launched|launches)\b|©|\(c\)",
    re.IGNORECASE,
)

_LIMIT = re.compile(
    r"\b(?:fewer|less|more|at least|at most|up to|under|below|above|exceeds?|than|if|when|whenever|once|limit"
    r"|max|maximum|min|minimum|within|every|per)\b",
    re.IGNORECASE,
)

_CLOCK_LABEL = re.compile(
    r"\b(?:now|current|currently|today|today's|tonight|time|datetime|date|timestamp|clock|epoch|unix|ts|as of"
    r"|it is|it's|generated|rendered|asked|started|created_at|updated_at|sent at|local time)\b",
    re.IGNORECASE,
)

# Words that may stand between "current" and the value: "the current UTC time in Oslo is (24 h): ".
_LINK = (
    r"(?:[\s(:=*\"'`-]{1,3}(?:is|are|date|time|day|and|the|a|at|on|of|it|local|server|system|utc|gmt"
    r"|datetime|timestamp|now|in [\w/-]+|24 ?h))*[\s):=*\"'`,<>]{0,5}$"
)
_CURRENT = re.compile(
    r"\b(?:now|current|currently|today|today's|todays|tonight|as of|it is|it's|(?:generated|rendered|asked"
    r"|retrieved|fetched|synced|refreshed)(?= at| on|:))"
    + _LINK
    + r"|^\W*(?:the )?date(?: is)?\s?[:=]\W{0,3}$",
    re.IGNORECASE,
)
_TIME_LABEL = re.compile(
    r"^\W*(?:the )?(?:current |local |server |system |utc )?(?:time|datetime|clock|timestamp)"
    r"(?: is)?\W{0,5}$",
    re.IGNORECASE,
)
_NOW_AFTER = re.compile(r"^[\s,)]{0,2}(?:right )?now\b", re.IGNORECASE)


def sentence_before(text: str, start: int) -> str:
    """Return what precedes ``start`` in its sentence, on its line, at most ``_REACH`` characters."""
    before = text[max(0, start - _REACH) : start]
    before = before[before.rfind("\n") + 1 :]
    return before[max((match.end() for match in _SENTENCE_END.finditer(before)), default=0) :]


def is_example(before: str) -> bool:
    """Tell whether the words before a value present it as an example, a format or a default."""
    return _EXAMPLE.search(before) is not None


def is_fact(before: str) -> bool:
    """Tell whether the words before a date or time state something that stays true ("founded in …")."""
    return _FACT.search(before) is not None


def is_limit(before: str) -> bool:
    """Tell whether the words before a figure make it a rule ("when fewer than …") and not a reading."""
    return _LIMIT.search(before) is not None


def is_epoch_label(before: str, after: str) -> bool:
    """Tell whether the words around ten or more digits say that they are a time."""
    return _CLOCK_LABEL.search(before[-24:]) is not None or _NOW_AFTER.match(after) is not None


def is_current(before: str, after: str) -> bool:
    """Tell whether the words around a date or time call it the present one."""
    return (
        _CURRENT.search(before) is not None
        or _TIME_LABEL.search(before) is not None
        or _NOW_AFTER.match(after) is not None
    )
