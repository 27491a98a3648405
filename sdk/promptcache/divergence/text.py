"""Evidence in a static text that should not have changed: a system prompt, a tool's description.

From the surest kind to the weakest: the same characters in another dress, the same JSON, the same lines in
another order, volatile values, retrieved material, a section that comes and goes, and last an edit.
"""

from __future__ import annotations

import difflib
import re
from itertools import accumulate
from typing import TYPE_CHECKING

from promptcache.detectors import classify_change, find_volatile, mask_volatile
from promptcache.divergence.alignment import alignable
from promptcache.divergence.change import Change
from promptcache.divergence.evidence import Finding, alike, common_prefix, fold
from promptcache.divergence.json_text import json_finding
from promptcache.divergence.order import order_finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache.detectors import VolatileSpan

__all__ = ["drift_finding", "text_findings", "volatile_findings"]

_MIDDLE_LIMIT = 20_000
_LABEL_REACH = 1_500
_RETRIEVED = re.compile(
    r"<(?:documents?|docs?|context|passages?|chunks?|retriev\w*|search_results?|results?|sources?|examples?|knowledge"
    r"|snippets?)\b"
    r"|(?:^|\n)[ \t#*>-]*(?:relevant |retrieved |related |search |knowledge |reference |few-shot |similar )?"
    r"(?:documents?|passages?|chunks?|contexts?|excerpts?|results|sources|snippets|examples|articles"
    r"|knowledge(?: base)?)\b(?![^\n:]{0,24}\b(?:used|usage|left|remaining|window|limit|length|size|budget"
    r"|tokens?|count|full)\b)[^\n]{0,40}:"
    # A heading that ends with the colon may begin with words of its own: "Answer from these documents:"
    r"|(?:^|\n)[^\n:]{0,60}\b(?:documents?|passages?|chunks?|excerpts?|search results|snippets|articles"
    r"|retrieved context)[ \t]{0,4}:[ \t]{0,4}(?=\n)",
    re.IGNORECASE,
)
_HEADED = re.compile(r"\s*(?:#{1,6} |<[A-Za-z_][\w-]*>|\[[A-Z]|[A-Z][\w ,'-]{2,40}:)")
_LIST_ITEM = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s")
_WHOLE = re.compile(r"[.!?:>\])]\s*$|\n$")
_ROTATION = 48
_CLOCK = "PC101"
_FIRST, _LOOSE_END = 512, 16  # enough to see that two texts say different things


def text_findings(change: Change) -> list[Finding]:
    """Explain the change of one text into another.

    Returns the causes with the one at the first difference in front, or an empty list when the texts are
    not two versions of one text.
    """
    sure = drift_finding(change) or json_finding(change) or order_finding(change)
    if sure:
        return [sure]
    volatile = volatile_findings(change)
    if _retrieved(change) and mask_volatile(change.old) != mask_volatile(change.new):
        return [Finding("PC402"), *volatile]
    if volatile and volatile[0].offset == change.offset:
        return volatile
    if not alike(change.before, change.after):
        return []
    if volatile:
        change = Change.between(mask_volatile(change.old), mask_volatile(change.new))
    section = _section_finding(change)
    if section is None and change.is_value:
        return [Finding("PC401", {"pattern": "value"}), *volatile]
    return [section or Finding("PC403"), *volatile]


def drift_finding(change: Change) -> Finding | None:
    """PC206 when nothing but white space, zero-width marks or Unicode forms differs."""
    old, new = change.old, change.new
    if old == new:
        return None
    start, other = fold(old[:_FIRST]), fold(new[:_FIRST])
    shared = max(0, min(len(start), len(other)) - _LOOSE_END)
    if start[:shared] != other[:shared] or fold(old) != fold(new):
        return None
    spaces = "".join(old.split()) == "".join(new.split())
    return Finding("PC206", {"drift": "white space" if spaces else "characters"})


def volatile_findings(change: Change) -> list[Finding]:
    """Return one finding for each volatile cause among the differences, the first difference in front.

    Where that one is no volatile value, others are looked for in two versions of one text only.
    """
    first = classify_change(change.before, change.after, change.offset)
    places = {} if first is None else {first: change.offset}
    small = max(len(change.old), len(change.new)) <= _MIDDLE_LIMIT
    if small and (first or alike(change.before, change.after)):
        for code, offset in _further_codes(change.old, change.new):
            if code is not None:
                places.setdefault(code, change.start + offset)
    return [Finding(code, offset=offset) for code, offset in places.items()]


def _further_codes(old: str, new: str) -> Iterator[tuple[str | None, int]]:
    """Causes of the differences behind the first one, looked for in the lines that changed.

    Each comes with the characters of ``new`` before it.
    """
    if mask_volatile(old) == mask_volatile(new):
        for first, second in zip(find_volatile(old), find_volatile(new), strict=False):
            if first.text != second.text:
                yield first.code, second.start
        return
    for first_line, second_line, start in _changed_lines(old, new):
        shared = common_prefix(first_line, second_line)
        yield classify_change(first_line, second_line, shared), start + shared
        for one, other in _changed_clocks(first_line, second_line):
            if one.text != other.text and other.start > shared:
                yield other.code, start + other.start


def _changed_clocks(old: str, new: str) -> Iterator[tuple[VolatileSpan, VolatileSpan]]:
    """Pairs of clock readings in two lines that have as many: behind another difference no other value is
    sure to be one of its own."""
    readings = [[found for found in find_volatile(line) if found.code == _CLOCK] for line in (old, new)]
    return zip(*readings, strict=True) if len(readings[0]) == len(readings[1]) else iter(())


def _changed_lines(old: str, new: str) -> Iterator[tuple[str, str, int]]:
    """Pairs of lines of which the second took the first's place, with where it begins in ``new``."""
    first, second = old.split("\n"), new.split("\n")
    if not alignable(first, second):
        return
    starts = list(accumulate((len(line) + 1 for line in second), initial=0))
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
        if tag == "replace":
            yield from zip(first[i1:i2], second[j1:j2], starts[j1:j2], strict=False)


def _retrieved(change: Change) -> bool:
    """Whether the difference lies in retrieved documents or examples, by the label in front of it."""
    start = max(0, change.offset - _LABEL_REACH)
    labels = []
    for text in (change.before, change.after):
        ending = text.find("\n", change.offset)
        labels.append(text[start : ending + 1 if ending >= 0 else change.offset + _LABEL_REACH])
    found = list(_RETRIEVED.finditer(labels[0]))
    if not found or not _RETRIEVED.search(labels[1]):
        return False
    return "\n\n\n" not in labels[0][found[-1].end() :]


def _section_finding(change: Change) -> Finding | None:
    """PC404 when whole lines or sentences came or went and nothing took their place.

    Items of a list do not count, nor a last sentence that was added: so does a memory grow.
    """
    gone, came = change.gone, change.came
    if bool(gone.strip()) == bool(came.strip()):
        return None
    section = _whole_section(
        change.before if gone.strip() else change.after, change.offset, len(gone or came)
    )
    if section is None or all(map(_LIST_ITEM.match, filter(str.strip, section.split("\n")))):
        return None
    if change.offset == len(change.before) and not _HEADED.match(section):
        return None
    return Finding("PC404", {"section": section.strip().split("\n")[0][:80], "present": bool(came.strip())})


def _whole_section(text: str, start: int, length: int) -> str | None:
    """Return the piece that came or went, moved left to where it ends like a line or a sentence.

    A common beginning may swallow its first letters: of "Be kind. Now plan. Never lie." the piece is found
    as "ow plan. N".
    """
    for shift in range(min(_ROTATION, start, length) + 1):
        if shift and text[start - shift] != text[start - shift + length]:
            return None
        piece = text[start - shift : start - shift + length]
        if _WHOLE.search(piece):
            return piece
    return None
