"""Trying fixes: a candidate is kept when, on a copy of the file, its finding is gone and nothing new appears.

That the changed file still parses is part of it: a file that does not is a new finding, PC900.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from promptcache_lint.fixes.candidates import candidates
from promptcache_lint.fixes.edits import apply_edits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from promptcache_lint.findings import Finding, Severity
    from promptcache_lint.fixes.fix import Fix
    from promptcache_lint.prompts import Prompt
    from promptcache_lint.readers.reading import InputFile

__all__ = ["Trial"]

_MOST_TRIES = 8
_MOST_FINDINGS = 50
"""Beyond this many findings in one file nothing is tried: it is generated, or no prompt at all."""


class Trial:
    """Finds fixes for the findings of one file. ``lint`` says what there is to find in a changed copy."""

    def __init__(
        self,
        file: InputFile,
        prompts: Sequence[Prompt],
        findings: Sequence[Finding],
        lint: Callable[[InputFile], list[Finding]],
    ) -> None:
        self._file = file
        self._prompts = prompts
        self._worth_it = len(findings) <= _MOST_FINDINGS
        self._lint = lint
        self._before: Counter[tuple[str, Severity]] | None = None

    def fix_for(self, finding: Finding) -> Fix | None:
        """The first candidate that works, or None."""
        if not self._worth_it:
            return None
        proposed = candidates(finding, self._file, self._prompts)
        return next((fix for fix in islice(proposed, _MOST_TRIES) if self._works(fix, finding)), None)

    def _works(self, fix: Fix, finding: Finding) -> bool:
        text = apply_edits(self._file.source, fix.edits)
        if text is None or text == self._file.source.text:
            return False
        if self._before is None:
            self._before = _counted(self._lint(self._file))
        changed = replace(self._file, source=replace(self._file.source, text=text))
        after = _counted(self._lint(changed))
        kind = (finding.code, finding.severity)
        return after[kind] < self._before[kind] and after <= self._before


def _counted(findings: list[Finding]) -> Counter[tuple[str, Severity]]:
    return Counter((finding.code, finding.severity) for finding in findings)
