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
_ITEM = re.compile(r"\s*[,;|]\s*")


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
    return None


def _content(line: str) -> str:
    """Take off a label in front and brackets around: ``Tools: [a, b].`` gives ``a, b``."""
    return line.rpartition(": ")[2].strip().strip("[](){}.")


def _shuffled(first: list[str], second: list[str]) -> bool:
    first, second = [item.strip() for item in first], [item.strip() for item in second]
    return len(first) > 1 and first != second and Counter(first) == Counter(second)
