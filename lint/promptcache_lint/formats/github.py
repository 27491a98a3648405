"""Workflow commands, which GitHub shows as annotations on the lines of a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity

if TYPE_CHECKING:
    from promptcache_lint.findings import Finding
    from promptcache_lint.run import LintReport

__all__ = ["write"]

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def write(report: LintReport, *, colour: bool = False) -> str:  # noqa: ARG001 - every format takes it
    """The report as one command a line."""
    return "".join(_command(finding) + "\n" for finding in report.findings)


def _command(finding: Finding) -> str:
    place = finding.place
    properties = {"file": place.path, "line": place.row, "col": place.column, "endLine": place.end_row}
    if place.end_row == place.row:
        properties["endColumn"] = place.end_column
    properties["title"] = f"{finding.code} {finding.name}"
    written = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
    return f"::{_COMMANDS[finding.severity]} {written}::{_data(finding.message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
