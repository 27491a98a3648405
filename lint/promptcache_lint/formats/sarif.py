"""SARIF 2.1.0, one result a finding, the way of the value as a code flow."""

from __future__ import annotations

import json
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from promptcache._version import __version__
from promptcache.causes import get_cause
from promptcache_lint.findings import Severity, rule_url

if TYPE_CHECKING:
    from promptcache_lint.findings import Finding
    from promptcache_lint.fixes.fix import Fix
    from promptcache_lint.places import Place
    from promptcache_lint.run import LintReport

__all__ = ["write"]

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def write(report: LintReport, *, colour: bool = False) -> str:  # noqa: ARG001 - every format takes it
    """The report as a SARIF log."""
    codes = sorted({finding.code for finding in report.findings})
    driver = {
        "name": "promptcache",
        "version": __version__,
        "informationUri": "https://promptcache.dev",
        "rules": [_rule(code) for code in codes],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, codes) for finding in report.findings],
    }
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2, ensure_ascii=False) + "\n"


def _rule(code: str) -> dict[str, Any]:
    cause = get_cause(code)
    return {
        "id": code,
        "name": "".join(word.capitalize() for word in cause.name.split("-")),
        "shortDescription": {"text": cause.title},
        "fullDescription": {"text": cause.explanation},
        "help": {"text": cause.remedy},
        "helpUri": rule_url(code),
    }


def _result(finding: Finding, codes: list[str]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": _LEVELS[finding.severity],
        "message": {"text": finding.message},
        "locations": [_location(finding.place)],
    }
    if finding.flow:
        steps = [{"location": _location(place)} for place in finding.flow]
        result["codeFlows"] = [{"threadFlows": [{"locations": steps}]}]
    if finding.fix is not None:
        result["fixes"] = [_fix(finding.fix)]
    return result


def _fix(fix: Fix) -> dict[str, Any]:
    changes: dict[str, list[dict[str, Any]]] = {}
    for edit in fix.edits:
        change = {"deletedRegion": _region(edit.place), "insertedContent": {"text": edit.content}}
        changes.setdefault(edit.place.path, []).append(change)
    return {
        "description": {"text": fix.message},
        "artifactChanges": [
            {"artifactLocation": {"uri": _uri(path)}, "replacements": replacements}
            for path, replacements in changes.items()
        ],
    }


def _location(place: Place) -> dict[str, Any]:
    return {"physicalLocation": {"artifactLocation": {"uri": _uri(place.path)}, "region": _region(place)}}


def _region(place: Place) -> dict[str, int]:
    return {
        "startLine": place.row,
        "startColumn": place.column,
        "endLine": place.end_row,
        "endColumn": max(place.end_column, place.column if place.end_row == place.row else 1),
    }


def _uri(path: str) -> str:
    """Relative to the working directory; an absolute path, of a file outside it, as a file URI."""
    quoted = quote(PurePosixPath(path).as_posix(), errors="surrogateescape")
    return f"file://{quoted}" if path.startswith("/") else quoted
