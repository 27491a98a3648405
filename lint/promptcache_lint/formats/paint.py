"""Colours for terminals, and the lines that sum a report up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity

if TYPE_CHECKING:
    from promptcache_lint.run import LintReport

__all__ = ["paint", "severity_colour", "summary"]

_CODES = {"red": "31", "yellow": "33", "blue": "34", "cyan": "36", "bold": "1", "dim": "2", "green": "32"}


def paint(text: str, colour: str, *, on: bool) -> str:
    """The text in a colour, or as it is when colours are off."""
    return f"\033[{_CODES[colour]}m{text}\033[0m" if on else text


def severity_colour(severity: Severity) -> str:
    """The colour of a severity."""
    return {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "blue"}[severity]


def summary(report: LintReport) -> str:
    """One line: how many findings of which severity, in how many files."""
    files = _count(report.files, "file")
    if not report.findings:
        return f"Nothing found in {files}."
    counts = [
        _count(sum(1 for finding in report.findings if finding.severity is severity), str(severity))
        for severity in (Severity.ERROR, Severity.WARNING)
        if any(finding.severity is severity for finding in report.findings)
    ]
    notes = sum(1 for finding in report.findings if finding.severity is Severity.INFO)
    if notes:
        counts.append(f"{notes} info")
    return f"Found {', '.join(counts)} in {files}."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
