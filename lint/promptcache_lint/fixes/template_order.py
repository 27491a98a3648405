"""Orders in templates: ``|dictsort`` for a mapping's items, ``|sort`` for what else is gone through."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache_lint.fixes.edits import place_range, replacement
from promptcache_lint.fixes.fix import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.findings import Finding
    from promptcache_lint.places import Source

__all__ = ["propose"]

_LOOP = re.compile(
    r"\{%[-+]?\s*for\s+(?P<targets>[^%]*?)\s+in\s+(?P<over>[^%]*?)(?P<rest>\s+if\s[^%]*?|\s+recursive)?\s*[-+]?%\}"
)
_ITEMS = re.compile(r"(?P<mapping>.*?)(?:\.items\(\s*\)|\s*\|\s*items)\s*", re.DOTALL)
_KEYS = re.compile(r"(?P<mapping>.*?)\.(?:keys|values)\(\s*\)\s*", re.DOTALL)
_JOINED = re.compile(r"\{\{[-+]?\s*(?P<over>[^{}|]+?)\s*\|\s*join\b")


def propose(finding: Finding, source: Source) -> Iterator[Fix]:
    """Changes to the loops around or nearest before the finding, and to what is joined in it."""
    start, end = place_range(source, finding.place)
    for match in _JOINED.finditer(source.text):
        if match.start() < end and match.end() > start:
            yield _fix(source, match, f"{match['over']}|sort", "Sort what is joined.")
    loops = [match for match in _LOOP.finditer(source.text) if match.start() < end or match.start() == start]
    for match in reversed(loops):
        over = match["over"]
        if items := _ITEMS.fullmatch(over):
            yield _fix(
                source, match, f"{items['mapping']}|dictsort", "Go through the items in order of keys."
            )
        elif keys := _KEYS.fullmatch(over):
            yield _fix(source, match, f"{keys[0].strip()}|sort", "Go through them in order.")
        else:
            yield _fix(source, match, f"{over}|sort", "Go through them in order.")


def _fix(source: Source, match: re.Match[str], content: str, message: str) -> Fix:
    edit = replacement(source, match.start("over"), match.end("over"), content)
    return Fix(message, safe=True, edits=(edit,))
