"""One line a finding: ``path:row:column: severity[CODE] message``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_lint.formats.paint import paint, severity_colour, summary

if TYPE_CHECKING:
    from promptcache_lint.run import LintReport

__all__ = ["write"]


def write(report: LintReport, *, colour: bool = False) -> str:
    """The report as lines, the last one a summary."""
    lines = []
    for finding in report.findings:
        place = finding.place
        label = paint(f"{finding.severity}[{finding.code}]", severity_colour(finding.severity), on=colour)
        lines.append(f"{place.path}:{place.row}:{place.column}: {label} {finding.message}")
    return "\n".join([*lines, summary(report)]) + "\n"
