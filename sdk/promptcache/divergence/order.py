"""Evidence of order: the same lines or items, shuffled.

What was shuffled hints at who did it: file names come from an unordered listing (PC203), items on one line
from a set (PC202), lines from a collection or a loop (PC204).
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from promptcache.divergence.evidence import Finding, looks_like_files

if TYPE_CHECKING:
    from promptcache.divergence.change import Change

__all__ = ["order_finding"]

_SHOWN = 12
_ITEMS_LIMIT = 20_000
_LIST_REACH = 2_000
_LIST_START = re.compile(r"[:(\[{\n,;|]\s*|[.!?]\s+")
_LIST_END = re.compile(r"[)\]}\n]|[.!?](?:\s|$)|$")
_WORDED_ITEM = re.compile(r"(?:(?<!\s)\s+)?[,;|]\s*(?:(?:and|or)\s+)?|(?<!\s)\s+(?:and|or)\s+")
_ITEM = re.compile(r"(?:(?<!\s)\s+)?[,;|]\s*")


def order_finding(change: Change) -> Finding | None:
    """Return a finding when both texts hold the same lines or items in another order."""
    if abs(len(change.before) - len(change.after)) > 2:  # a separator may move to the end
        return None
    lines = change.old.splitlines(), change.new.splitlines()
    if _shuffled(*lines):
        return Finding("PC203" if looks_like_files(lines[0]) else "PC204", {"reordered": lines[0][:_SHOWN]})
    if len(change.old) > _ITEMS_LIMIT:
        return None
    items = [[item for line in side for item in _ITEM.split(_content(line)) if item] for side in lines]
    if _shuffled(*items):
        return Finding("PC203" if looks_like_files(items[0]) else "PC202", {"reordered": items[0][:_SHOWN]})
    for start in _list_starts(change.before, change.offset):
        items = [_items_from(text, start, change.offset) for text in (change.before, change.after)]
        if _shuffled(*items):
            return Finding(
                "PC203" if looks_like_files(items[0]) else "PC202", {"reordered": items[0][:_SHOWN]}
            )
    return None


def _list_starts(text: str, offset: int) -> list[int]:
    """Where the items of a list in running text may begin: at the word that differs, or what leads to it."""
    floor = max(0, offset - _LIST_REACH)
    leads = [match.end() for match in _LIST_START.finditer(text, floor, offset)]
    word = text.rfind(" ", floor, offset) + 1
    return sorted({max(word, floor), *leads[-1:]}, reverse=True)


def _items_from(text: str, start: int, offset: int) -> list[str]:
    """The items up to the end of the list: ``a, b and c. Use one.`` gives three."""
    ending = _LIST_END.search(text, offset, offset + _LIST_REACH)
    return _WORDED_ITEM.split(text[start : ending.start()]) if ending else []


def _content(line: str) -> str:
    """Take off a label in front and brackets around: ``Tools: [a, b].`` gives ``a, b``."""
    return line.rpartition(": ")[2].strip().strip("[](){}.")


def _shuffled(first: list[str], second: list[str]) -> bool:
    first, second = [item.strip() for item in first], [item.strip() for item in second]
    return len(first) > 1 and first != second and Counter(first) == Counter(second)
