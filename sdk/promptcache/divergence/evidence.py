"""The values evidence is made of: a finding, and the small text measures every kind of evidence uses.

Nothing here decides anything; the modules beside it do, one for each kind of evidence.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "Finding",
    "Severity",
    "alike",
    "common_prefix",
    "common_suffix",
    "excerpt",
    "fold",
    "looks_like_files",
]

Severity = Literal["error", "warning", "info"]

_EXCERPT_BEFORE, _EXCERPT_AFTER = 24, 56
_FOLDED_AWAY = re.compile(r"[\s\u00ad\u200b-\u200d\u2060\ufeff]+")
_SAMPLE = 4096
_FILE = re.compile(
    r"[\w.-]+[/\\][\w./\\-]+|\b[\w-]+\.(?:md|txt|py|json|ya?ml|toml|js|ts|go|rs|c|h|html|css|pdf|csv)\b"
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One cause with what is known about it; ``severity`` overrides the code's usual one.

    ``segment`` and ``offset`` say from where it makes the prompt new: the index of a segment (first of its
    part, in the end of the whole request) and the characters before it in that segment's body. None: where
    the part, or the segment, first differs.
    """

    code: str
    details: Mapping[str, Any] = field(default_factory=dict)
    severity: Severity | None = None
    segment: int | None = None
    offset: int | None = None


def common_prefix(a: str, b: str) -> int:
    """Return how many leading characters ``a`` and ``b`` share, by halving, so that long texts are cheap."""
    high = min(len(a), len(b))
    if a[:high] == b[:high]:
        return high
    low = 0
    while high - low > 1:
        middle = (low + high) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle
    return low


def common_suffix(a: str, b: str, *, after: int = 0) -> int:
    """Return how many trailing characters ``a`` and ``b`` share, not counting their first ``after``."""
    high = min(len(a), len(b)) - after
    if high <= 0 or a[len(a) - high :] == b[len(b) - high :]:
        return max(high, 0)
    low = 0
    while high - low > 1:
        middle = (low + high) // 2
        if a[len(a) - middle : len(a) - low] == b[len(b) - middle : len(b) - low]:
            low = middle
        else:
            high = middle
    return low


def fold(text: str) -> str:
    """Take out what may drift unseen: white space, zero-width marks, Unicode forms, curly quotes."""
    return _FOLDED_AWAY.sub("", unicodedata.normalize("NFKC", text)).translate(_QUOTES)


_QUOTES = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "-"}
)


def alike(before: str, after: str) -> bool:
    """Whether two texts look like two versions of one: a third of their ends or half their words agree."""
    shorter, longer = sorted((len(before), len(after)))
    if not shorter:
        return False
    start = common_prefix(before, after)
    if 3 * (start + common_suffix(before, after, after=start)) >= longer:
        return True
    words = set(before[:_SAMPLE].split())
    others = set(after[:_SAMPLE].split())
    return 2 * len(words & others) >= len(words | others) > 0


def excerpt(text: str, offset: int) -> str:
    """Return a short piece of ``text`` around ``offset``, with an ellipsis where it was cut."""
    start, end = max(0, offset - _EXCERPT_BEFORE), min(len(text), offset + _EXCERPT_AFTER)
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


def looks_like_files(items: Iterable[str]) -> bool:
    """Whether every item reads like a path or a file's name."""
    return all(_FILE.search(item) for item in items)
