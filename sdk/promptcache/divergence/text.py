"""Evidence in a static text that should not have changed: a system prompt, a tool's description.

From the surest kind to the weakest: the same characters in another dress, the same JSON, the same lines in
another order, volatile values, retrieved material, a section that comes and goes, and last an edit.
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

from promptcache.detectors import classify_change, find_volatile, mask_volatile
from promptcache.divergence.evidence import Finding, alike, common_prefix, common_suffix, fold
from promptcache.divergence.json_text import json_finding
from promptcache.divergence.order import order_finding

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["drift_finding", "stranded_chars", "text_findings", "volatile_findings"]

_MIDDLE_LIMIT = 20_000
_LABEL_REACH = 1_500
_RETRIEVED = re.compile(
    r"<(?:documents?|docs?|context|passages?|chunks?|retriev\w*|search_results?|results?|sources?|examples?"
    r"|snippets?)\b"
    r"|(?:^|\n)[\s#*>-]*(?:relevant |retrieved |related |search |knowledge |reference |few-shot |similar )?"
    r"(?:documents?|passages?|chunks?|contexts?|excerpts?|results|sources|snippets|examples|articles)\b"
    r"[^\n]{0,40}:",
    re.IGNORECASE,
)
_HEADED = re.compile(r"\s*(?:#{1,6} |<[A-Za-z_][\w-]*>|\[[A-Z]|[A-Z][\w ,'-]{2,40}:)")
_LIST_ITEM = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s")
_WHOLE = re.compile(r"[.!?:>\])]\s*$|\n$")
_ROTATION = 48


def text_findings(before: str, after: str, offset: int) -> list[Finding]:
    """Explain the change of one text into another; ``offset`` is where they first differ.

    Returns the causes with the one at ``offset`` first, or an empty list when the texts are not two
    versions of one text.
    """
    sure = drift_finding(before, after) or json_finding(before, after, offset) or order_finding(before, after)
    if sure:
        return [sure]
    volatile = volatile_findings(before, after, offset)
    if _retrieved(before, after, offset) and mask_volatile(before) != mask_volatile(after):
        return [Finding("PC402"), *volatile]
    if volatile:
        return volatile
    if not alike(before, after):
        return []
    return [_section_finding(before, after, offset) or Finding("PC403")]


def stranded_chars(before: str, after: str, offset: int) -> int:
    """Return how much identical text stands behind the difference, in the lines after it."""
    tail = common_suffix(before, after, after=offset)
    line_end = before.find("\n", len(before) - tail)
    return tail if line_end < 0 else len(before) - line_end - 1


def drift_finding(before: str, after: str) -> Finding | None:
    """PC206 when nothing but white space, zero-width marks or Unicode forms differs."""
    if abs(len(before) - len(after)) > max(64, len(before) // 2) or fold(before) != fold(after):
        return None
    same = before.split() == after.split()
    return Finding(
        "PC206", {"drift": "white space" if same or before.strip() == after.strip() else "characters"}
    )


def volatile_findings(before: str, after: str, offset: int) -> list[Finding]:
    """Return one finding for each volatile cause among the differences, the one at ``offset`` first."""
    codes = [classify_change(before, after, offset)]
    if codes[0]:
        codes += _further_codes(before, after, offset)
    return [Finding(code) for code in dict.fromkeys(codes) if code]


def _further_codes(before: str, after: str, offset: int) -> Iterator[str | None]:
    """Causes of the differences behind the first one, looked for in the lines that changed."""
    start = before.rfind("\n", 0, offset) + 1
    tail = common_suffix(before, after, after=offset)
    old, new = before[start : len(before) - tail], after[start : len(after) - tail]
    if max(len(old), len(new)) > _MIDDLE_LIMIT:
        return
    if mask_volatile(old) == mask_volatile(new):
        for first, second in zip(find_volatile(old), find_volatile(new), strict=False):
            if first.text != second.text:
                yield first.code
        return
    for first_line, second_line in _changed_lines(old, new):
        yield classify_change(first_line, second_line, common_prefix(first_line, second_line))


def _changed_lines(old: str, new: str) -> Iterator[tuple[str, str]]:
    first, second = old.split("\n"), new.split("\n")
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
        if tag == "replace":
            yield from zip(first[i1:i2], second[j1:j2], strict=False)


def _retrieved(before: str, after: str, offset: int) -> bool:
    """Whether the difference lies in retrieved documents or examples, by the label in front of it."""
    start = max(0, offset - _LABEL_REACH)
    label = before[start : before.find("\n", offset) + 1 or len(before)]
    other = after[start : after.find("\n", offset) + 1 or len(after)]
    found = list(_RETRIEVED.finditer(label))
    if not found or not _RETRIEVED.search(other):
        return False
    return "\n\n\n" not in label[found[-1].end() :]


def _section_finding(before: str, after: str, offset: int) -> Finding | None:
    """PC404 when whole lines or sentences came or went and nothing took their place.

    Items of a list do not count, nor a last sentence that was added: so does a memory grow.
    """
    tail = common_suffix(before, after, after=offset)
    old, new = before[offset : len(before) - tail], after[offset : len(after) - tail]
    if bool(old.strip()) == bool(new.strip()):
        return None
    section = _whole_section(before if old.strip() else after, offset, len(old or new))
    if section is None or all(map(_LIST_ITEM.match, filter(str.strip, section.split("\n")))):
        return None
    if offset == len(before) and not _HEADED.match(section):
        return None
    return Finding("PC404", {"section": section.strip().split("\n")[0][:80], "present": bool(new.strip())})


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
