"""Finds volatile values in one text: `candidates` collects shapes, `find_volatile` weighs the words around.

One pass over digits serves dates, times, counters and addresses together; the other shapes have anchors of
their own that a text without them passes at the speed of a string search.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from promptcache.detectors import clock, context, counter, identity, place
from promptcache.detectors.span import Candidate, Grade, VolatileSpan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_FAMILIES: Final = (clock, place, counter)
_FROM_DIGITS: Final[dict[str, Callable[[str, str, int, int], Candidate | None]]] = {
    shape: family.from_digits for family in _FAMILIES for shape in family.FRAGMENTS
}
_DIGITS = re.compile(
    # A number begins here: not inside a word or a number. The first digit is consumed before anything is
    # looked at, so that the regex engine skips to digits by character class.
    # The lookahead drops plain numbers of data at once: they are followed by a comma, a bracket or a space.
    r"[0-9](?<![0-9A-Za-z_][0-9])(?<![0-9][.,][0-9])"
    r"(?=[0-9]*(?:[.,][0-9]+)*(?:[-/:%A-Za-z]| [-/|:(A-Za-z\u2013\u2014])|[0-9]{9}|(?:[0-9]*\.){2}"
    r"|(?<=[A-Za-z][ :=#][0-9])|(?<=[A-Za-z][:=] [0-9])|(?<=[A-Za-z] #[0-9]))(?:"
    + "|".join(f"(?P<{shape}>{body})" for family in _FAMILIES for shape, body in family.FRAGMENTS.items())
    + ")"
)
_CLOCK_CODES: Final = frozenset({"PC101", "PC109"})


def find_volatile(text: str) -> list[VolatileSpan]:
    """Return the values in ``text`` that will differ next time, in order and without overlap.

    Prefers to miss: a value that the words around present as an example, a format, a limit or a lasting fact
    is left out, and so is one whose shape proves nothing (a bare ``18:05``, ten digits) without a label.
    """
    return [span for found in candidates(text) if (span := _weigh(text, found)) is not None]


def mask_volatile(text: str) -> str:
    """Return ``text`` with each volatile value replaced by ``⟨kind⟩``.

    Two renderings that differ only in such values mask equal. Unlike `find_volatile` this does not ask what
    the words around say: an example masked in both texts is masked alike.
    """
    parts: list[str] = []
    done = 0
    for found in candidates(text):
        if found.grade is Grade.WEAK and not _has_label(text, found):
            continue
        parts += (text[done : found.start], "⟨", found.kind, "⟩")
        done = found.end
    parts.append(text[done:])
    return "".join(parts)


def candidates(text: str) -> list[Candidate]:
    """Return every shape in ``text``, in order; of overlapping ones the first, and of those the longest."""
    found: list[Candidate] = []
    for match in _DIGITS.finditer(text):
        shape = match.lastgroup or ""
        candidate = _FROM_DIGITS[shape](shape, text, match.start(), match.end())
        if candidate is not None:
            found.append(candidate)
    found.extend(clock.months(text))
    found.extend(identity.scan(text))
    found.extend(place.scan(text))
    return _without_overlap(found)


def is_labelled(text: str, found: Candidate) -> bool:
    """Tell whether the words around ``found`` say what it is (a WEAK or HINT shape then counts)."""
    return _has_label(text, found)


def _without_overlap(found: Iterable[Candidate]) -> list[Candidate]:
    kept: list[Candidate] = []
    for candidate in sorted(found, key=lambda c: (c.start, -c.end, c.grade)):
        if kept and candidate.start < kept[-1].end:
            continue
        kept.append(candidate)
    return kept


def _weigh(text: str, found: Candidate) -> VolatileSpan | None:
    before = context.sentence_before(text, found.start)
    after = text[found.end : found.end + 8]
    if context.is_example(before):
        return None
    if found.code in _CLOCK_CODES and context.is_fact(before) and not context.is_current(before, after):
        return None
    if (found.code == "PC107" or found.kind == "time") and context.is_limit(before):
        return None
    if found.grade is not Grade.PLAIN and not _has_label(text, found):
        return None
    labelled = found.code not in _CLOCK_CODES or context.is_current(before, after)
    return VolatileSpan(
        found.start, found.end, found.code, found.kind, text[found.start : found.end], labelled
    )


def _has_label(text: str, found: Candidate) -> bool:
    if found.code not in _CLOCK_CODES:
        return False
    before = context.sentence_before(text, found.start)
    after = text[found.end : found.end + 8]
    if found.kind == "epoch":
        return context.is_epoch_label(before, after)
    return context.is_current(before, after)
