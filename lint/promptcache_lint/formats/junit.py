"""JUnit XML, for build servers: one suite a file, one failing case a finding.

Only elements and attributes that Jenkins' schema of such reports knows, which others read too.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from promptcache_lint.findings import Severity

if TYPE_CHECKING:
    from promptcache_lint.findings import Finding
    from promptcache_lint.run import LintReport

__all__ = ["write"]

_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(report: LintReport, *, colour: bool = False) -> str:  # noqa: ARG001 - every format takes it
    """The report as XML; findings of severity info are cases that pass."""
    failures = sum(1 for finding in report.findings if finding.severity > Severity.INFO)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    total = max(len(report.findings), 1)
    lines.append(f'<testsuites name="promptcache" tests="{total}" failures="{failures}" errors="0">')
    for path, group in groupby(report.findings, key=lambda finding: finding.place.path):
        lines += _suite(path, list(group))
    if not report.findings:
        lines.append('  <testsuite name="promptcache" tests="1" failures="0" errors="0">')
        lines.append('    <testcase name="no findings" classname="promptcache" time="0"/>')
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>"]) + "\n"


def _suite(path: str, findings: list[Finding]) -> list[str]:
    failures = sum(1 for finding in findings if finding.severity > Severity.INFO)
    name = _attribute(path)
    lines = [f'  <testsuite name={name} tests="{len(findings)}" failures="{failures}" errors="0">']
    for finding in findings:
        case = _attribute(f"{finding.code} at {finding.place.row}:{finding.place.column}")
        lines.append(f'    <testcase name={case} classname={name} time="0">')
        if finding.severity > Severity.INFO:
            message = _attribute(finding.message)
            remedy = _text(finding.remedy)
            lines.append(f'      <failure type="{finding.severity}" message={message}>{remedy}</failure>')
        lines.append("    </testcase>")
    return [*lines, "  </testsuite>"]


def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub("�", text))


def _text(text: str) -> str:
    return escape(_NOT_XML.sub("�", text))
