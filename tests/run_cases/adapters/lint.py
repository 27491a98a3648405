"""Prompt and code files through the linter: `promptcache_lint.lint_paths`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptcache_lint import Settings, Severity, lint_paths

if TYPE_CHECKING:
    from promptcache_lint import Finding
    from tests.run_cases.case import Case


def run(case: Case) -> dict[str, Any]:
    """Lint the inputs as one tree; files are named as the case names them."""
    report = lint_paths([case.path(name) for name in case.inputs], Settings(severity=Severity.INFO))
    return {"findings": [_finding(finding, case.folder) for finding in report.findings]}


def _finding(finding: Finding, folder: Path) -> dict[str, Any]:
    here = finding.place.path
    source = finding.source
    return {
        "file": _name(here, folder),
        "line": finding.place.row,
        "source_line": source.row if source is not None and source.path == here else None,
        "flow_lines": [place.row for place in finding.flow if place.path == here],
        "cause": finding.code,
        "severity": str(finding.severity),
    }


def _name(path: str, folder: Path) -> str:
    return os.path.relpath(path, folder.resolve() if Path(path).is_absolute() else folder).replace(
        os.sep, "/"
    )
