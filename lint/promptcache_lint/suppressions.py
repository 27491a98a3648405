"""Comments that silence findings: ``promptcache: ignore[PC101] reason``, on the line or the line before.

``ignore-file[…]`` holds for the whole file; without brackets any finding is meant. The comment's own form is
the input's (``#``, ``//``, ``<!-- -->``, ``{# #}``); which comments there are, the readers say.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptcache_lint.findings import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptcache_lint.places import Place, Source

__all__ = ["MARKER", "Suppression", "apply", "find_suppressions"]

MARKER = "promptcache: ignore"
_DIRECTIVE = re.compile(r"promptcache:\s*ignore(?P<file>-file)?(?:\[(?P<codes>[^\]]*)\])?")


@dataclass(frozen=True, slots=True)
class Suppression:
    """One directive: the rows it speaks for (None: all), and its codes (empty: all)."""

    place: Place
    rows: frozenset[int] | None
    codes: tuple[str, ...]

    def covers(self, finding: Finding, path: str) -> bool:
        """Whether the directive silences the finding, by its place or by the place of its source."""
        if self.codes and not any(finding.code.startswith(code) for code in self.codes):
            return False
        if self.rows is None:
            return True
        places = [finding.place, *([finding.source] if finding.source else [])]
        return any(place.path == path and place.row in self.rows for place in places)


def find_suppressions(source: Source, comments: Iterable[tuple[Place, str]]) -> list[Suppression]:
    """The directives in a file's comments."""
    found = []
    for place, text in comments:
        for match in _DIRECTIVE.finditer(text):
            codes = tuple(code.strip().upper() for code in (match["codes"] or "").split(",") if code.strip())
            rows = None if match["file"] else _rows(source, place)
            found.append(Suppression(place, rows, codes))
    return found


def _rows(source: Source, place: Place) -> frozenset[int]:
    """A comment after something speaks for its line; one alone on its line, for the next with text."""
    before = source.line(place.row)[: place.column - 1].strip()
    after = source.line(place.end_row)[place.end_column - 1 :].strip()
    rows = set(range(place.row, place.end_row + 1))
    if not before and not after:
        row = place.end_row + 1
        while row < source.rows and not source.line(row).strip():
            row += 1
        rows.add(row)
    return frozenset(rows)


def apply(
    findings: Iterable[Finding], suppressions: list[Suppression], path: str, *, known: Iterable[str]
) -> tuple[list[Finding], list[Finding]]:
    """What is left after suppression, and a PC901 for each directive that silenced nothing.

    ``known`` are the codes that were looked for: a directive for another one is not unused.
    """
    used: set[Suppression] = set()
    kept = []
    for finding in findings:
        covering = [suppression for suppression in suppressions if suppression.covers(finding, path)]
        used.update(covering)
        if not covering:
            kept.append(finding)
    looked_for = tuple(known)
    unused = [
        Finding("PC901", Severity.WARNING, _unused_message(suppression), suppression.place)
        for suppression in suppressions
        if suppression not in used and _was_looked_for(suppression, looked_for)
    ]
    return kept, unused


def _was_looked_for(suppression: Suppression, known: tuple[str, ...]) -> bool:
    return not suppression.codes or any(
        code.startswith(wanted) for wanted in suppression.codes for code in known
    )


def _unused_message(suppression: Suppression) -> str:
    return f"This comment silences nothing: no {', '.join(suppression.codes) or 'finding'} here."
