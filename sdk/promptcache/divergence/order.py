"""Evidence of order: the same lines or items, shuffled.

What was shuffled hints at who did it: file names come from an unordered listing (PC203), items on one line
from a set (PC202), lines from a collection or a loop (PC204).
"""

from __future__ import annotations

import re
from collections import Counter

from promptcache.divergence.evidence import Finding, common_prefix, common_suffix, looks_like_files

__all__ = ["order_finding"]

_ITEM = re.compile(r"\s*[,;|]\s*")


def order_finding(before: str, after: str) -> Finding | None:
    """Return a finding when ``before`` and ``after`` hold the same lines or items in another order."""
    if len(before) != len(after) and abs(len(before) - len(after)) > 2:  # a separator may move to the end
        return None
    lines = _changed_lines(before, after)
    if _shuffled(lines[0], lines[1]):
        return Finding("PC203" if looks_like_files(lines[0]) else "PC204", {"reordered": lines[0]})
    items = [[item for line in side for item in _ITEM.split(_content(line)) if item] for side in lines]
    if _shuffled(items[0], items[1]):
        return Finding("PC203" if looks_like_files(items[0]) else "PC202", {"reordered": items[0]})
    return None


def _changed_lines(before: str, after: str) -> tuple[list[str], list[str]]:
    """Return the lines between the common start and the common end of the two texts."""
    start = before.rfind("\n", 0, common_prefix(before, after)) + 1
    tail = common_suffix(before, after, after=start)
    return _lines(before, start, tail), _lines(after, start, tail)


def _lines(text: str, start: int, tail: int) -> list[str]:
    end = text.find("\n", len(text) - tail)
    return text[start : end if end >= 0 else len(text)].splitlines()


def _content(line: str) -> str:
    """Take off a label in front and brackets around: ``Tools: [a, b].`` gives ``a, b``."""
    return line.rpartition(": ")[2].strip().strip("[](){}.")


def _shuffled(first: list[str], second: list[str]) -> bool:
    first, second = [item.strip() for item in first], [item.strip() for item in second]
    return len(first) > 1 and first != second and Counter(first) == Counter(second)
