"""Evidence in a static text that should not have changed: a system prompt, a tool's description.

From the surest kind to the weakest: the same characters in another dress, the same JSON, the same lines in
another order, volatile values, retrieved material, a section that comes and goes, and last an edit.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from promptcache.detectors import classify_change, find_volatile, mask_volatile
from promptcache.divergence.change import Change
from promptcache.divergence.evidence import Finding, alike, common_prefix, common_suffix, fold
from promptcache.divergence.json_text import json_finding
from promptcache.divergence.order import order_finding
from promptcache.divergence.pieces import Gap, gaps_between

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache.detectors import VolatileSpan

__all__ = ["drift_finding", "text_findings", "volatile_findings"]

_MIDDLE_LIMIT = 20_000
_LONGEST = 1_000_000
_MOST_PLACES = 256
_SENTENCES, _TELLING_WORD = 400, 4
_WORD = re.compile(r"\s*\S+\s*|\s+")
_CONTEXT = 320  # characters around a value that say what it is
_PADDING = re.compile(r"(?<=\S)(?: +|\n)(?=\S)")  # of columns, and where lines are wrapped
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
    r"|retrieved context)[ \t]{0,4}:[ \t]{0,4}(?=\n)"
    # A heading of Markdown needs no colon.
    r"|(?:^|\n)#{1,6} (?:(?:retrieved|relevant|related|search)[ \t][^\n:]{0,40}|documents?|passages?|sources"
    r"|snippets|excerpts|chunks)[ \t]{0,4}(?=\n)",
    re.IGNORECASE,
)
_CITED = re.compile(r"(?:^|\n)\[\d{1,2}\][ \t]")
_PASSAGES = 2
_HEADING = re.compile(r"\n#{1,6} ")
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
    if (_retrieved(change) or _cited(change)) and mask_volatile(change.old) != mask_volatile(change.new):
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

    Where that one is no volatile value, others are looked for in two versions of one text only. White space
    that drifted beside a value is PC206.
    """
    first = classify_change(change.before, change.after, change.offset)
    places = {} if first is None else {first: change.offset}
    if first or alike(change.before, change.after):
        for code, offset in _further_codes(change.old, change.new):
            if code is not None:
                places.setdefault(code, change.start + offset)
    ordered = sorted(places.items(), key=lambda place: (place[1], place[0] != first))
    return [Finding(code, offset=offset) for code, offset in ordered]


def _further_codes(old: str, new: str) -> Iterator[tuple[str | None, int]]:
    """Causes of the differences behind the first one. Each comes with the characters of ``new`` before it."""
    small = max(len(old), len(new)) <= _MIDDLE_LIMIT
    if small and mask_volatile(old) == mask_volatile(new):
        for first, second in zip(find_volatile(old), find_volatile(new), strict=False):
            if first.text != second.text:
                yield first.code, second.start
        return
    if max(len(old), len(new)) > _LONGEST:
        return
    for gap in gaps_between(old, new)[:_MOST_PLACES]:
        for part in _parts_of(gap, old, new):
            yield from _codes_in(part, old, new)


def _parts_of(gap: Gap, old: str, new: str) -> Iterator[Gap]:
    """Values of two sentences that stand side by side, word by word, where most of both is the same."""
    gone, came = old[gap.old_start : gap.old_end], new[gap.new_start : gap.new_end]
    if max(len(gone), len(came)) > _SENTENCES or not alike(gone, came):
        yield gap
        return
    for part in gaps_between(gone, came, _WORD.findall, _TELLING_WORD):
        i, j = gap.old_start, gap.new_start
        yield Gap(i + part.old_start, i + part.old_end, j + part.new_start, j + part.new_end)


def _codes_in(gap: Gap, old: str, new: str) -> Iterator[tuple[str | None, int]]:
    """Causes of one difference: its first, and clock readings behind that."""
    gone, came = old[gap.old_start : gap.old_end], new[gap.new_start : gap.new_end]
    if _drifts(_with_edges(old, gap.old_start, gap.old_end), _with_edges(new, gap.new_start, gap.new_end)):
        yield "PC206", gap.new_start + common_prefix(gone, came)
        return
    if not gone or not came:
        return
    before, behind = gap.old_start - _CONTEXT, gap.old_end + _CONTEXT
    lead = common_suffix(
        old[max(0, before) : gap.old_start], new[max(0, gap.new_start - _CONTEXT) : gap.new_start]
    )
    shared = common_prefix(gone, came)
    yield (
        classify_change(
            old[gap.old_start - lead : behind],
            new[gap.new_start - lead : gap.new_end + _CONTEXT],
            lead + shared,
        ),
        gap.new_start + shared,
    )
    if max(len(gone), len(came)) <= _MIDDLE_LIMIT:
        for one, other in _changed_clocks(gone, came):
            if one.text != other.text and other.start > shared:
                yield other.code, gap.new_start + other.start


def _drifts(gone: str, came: str) -> bool:
    """Whether only white space or the form of characters differs; padded columns and wrapped lines follow a
    value."""
    if gone == came or max(len(gone), len(came)) > _FIRST or fold(gone) != fold(came):
        return False
    return _PADDING.sub(" ", gone) != _PADDING.sub(" ", came)


def _with_edges(text: str, start: int, end: int) -> str:
    """A part of a text with what stands in front of it and behind it, up to the next characters that show."""
    while start and text[start : start + 1].isspace():
        start -= 1
    while end < len(text) and text[end - 1 : end].isspace():
        end += 1
    return text[max(start - 1, 0) : end + 1]


def _changed_clocks(old: str, new: str) -> Iterator[tuple[VolatileSpan, VolatileSpan]]:
    """Pairs of clock readings in two texts that have as many: behind another difference no other value is
    sure to be one of its own."""
    readings = [[found for found in find_volatile(text) if found.code == _CLOCK] for text in (old, new)]
    return zip(*readings, strict=True) if len(readings[0]) == len(readings[1]) else iter(())


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
    rest = labels[0][found[-1].end() :]
    headed = found[-1].group().lstrip("\n").startswith("#")
    return "\n\n\n" not in rest and not (
        headed and _HEADING.search(labels[0][: change.offset - start], found[-1].end())
    )


def _cited(change: Change) -> bool:
    """Whether other passages stand under the same numbers, as answers cite them: rules are edited instead."""
    held = [[*_CITED.finditer(text), None] for text in (change.before, change.after)]
    if min(map(len, held)) <= _PASSAGES:
        return False
    passages = []
    for text, marks in zip((change.before, change.after), held, strict=True):
        for mark, following in pairwise(marks):
            end = len(text) if following is None else following.start()
            if mark is not None and mark.end() <= change.offset <= end:
                passages.append(text[mark.end() : end].partition("\n\n")[0])
    return len(passages) == len(held) and not alike(*passages)


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
