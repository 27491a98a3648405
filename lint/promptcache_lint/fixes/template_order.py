"""Orders in templates: ``|dictsort`` for what is in a mapping, ``|sort`` for what else is gone through."""

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
_VIEW = re.compile(r"(?P<mapping>.*?)\.(?P<view>keys|values)\(\s*\)\s*", re.DOTALL)
_JOINED = re.compile(r"\{\{[-+]?\s*(?P<over>[^{}|]+?)\s*\|\s*join\b")


def propose(finding: Finding, source: Source) -> Iterator[Fix]:
    """Changes to the loops around or nearest before the finding, and to what is joined in it.

    Keys compare, or ``dictsort`` is of no use to anybody; values and what else there is may be mappings,
    which do not: these are sorted only when asked.
    """
    start, end = place_range(source, finding.place)
    for match in _JOINED.finditer(source.text):
        if match.start() < end and match.end() > start:
            yield _fix(source, match, f"{match['over']}|sort", "Sort what is joined.", safe=False)
    loops = [match for match in _LOOP.finditer(source.text) if match.start() < end or match.start() == start]
    for match in reversed(loops):
        over = match["over"]
        if items := _ITEMS.fullmatch(over):
            says = "Go through the items in order of keys."
            yield _fix(source, match, f"{items['mapping']}|dictsort", says)
        elif view := _VIEW.fullmatch(over):
            which = "first" if view["view"] == "keys" else "last"
            says = f"Go through the {view['view']} in order of keys."
            yield _fix(source, match, f"{view['mapping']}|dictsort|map('{which}')", says)
        else:
            yield _fix(source, match, f"{over}|sort", "Go through them in order.", safe=False)


def _fix(source: Source, match: re.Match[str], content: str, message: str, *, safe: bool = True) -> Fix:
    edit = replacement(source, match.start("over"), match.end("over"), content)
    return Fix(message, safe=safe, edits=(edit,))
