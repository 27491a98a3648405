"""GitLab's code quality report."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from promptcache_lint.findings import Severity

if TYPE_CHECKING:
    from promptcache_lint.findings import Finding
    from promptcache_lint.run import LintReport

__all__ = ["write"]

_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.INFO: "info"}


def write(report: LintReport, *, colour: bool = False) -> str:  # noqa: ARG001 - every format takes it
    """The report as a JSON list of issues; fingerprints survive lines that move."""
    seen: Counter[str] = Counter()
    return (
        json.dumps([_issue(finding, seen) for finding in report.findings], indent=2, ensure_ascii=False)
        + "\n"
    )


def _issue(finding: Finding, seen: Counter[str]) -> dict[str, Any]:
    identity = f"{finding.code}|{finding.place.path}|{finding.message}"
    seen[identity] += 1
    fingerprint = hashlib.sha256(f"{identity}|{seen[identity]}".encode("utf-8", "surrogatepass")).hexdigest()
    return {
        "description": f"{finding.code} {finding.message}",
        "check_name": finding.code,
        "fingerprint": fingerprint,
        "severity": _SEVERITIES[finding.severity],
        "location": {
            "path": finding.place.path,
            "lines": {"begin": finding.place.row, "end": finding.place.end_row},
        },
    }
