"""Findings as plain data and back, whole: what the cache keeps. What users read is `Finding.to_dict`."""

from __future__ import annotations

from typing import Any

from promptcache_lint.findings import Finding, Severity
from promptcache_lint.fixes.fix import Edit, Fix
from promptcache_lint.places import Place

__all__ = ["finding_from", "finding_to"]

_Place = tuple[str, int, int, int, int]


def finding_to(finding: Finding) -> dict[str, Any]:
    """A finding as data that JSON can hold."""
    fix = finding.fix
    return {
        "code": finding.code,
        "severity": int(finding.severity),
        "message": finding.message,
        "place": _place(finding.place),
        "source": _place(finding.source) if finding.source else None,
        "flow": [_place(place) for place in finding.flow],
        "segment": finding.segment,
        "stranded": finding.stranded_tokens,
        "subject": finding.subject,
        "fix": (fix.message, fix.safe, [(_place(edit.place), edit.content) for edit in fix.edits])
        if fix
        else None,
    }


def finding_from(data: dict[str, Any]) -> Finding:
    """The finding that `finding_to` wrote. Raises KeyError, TypeError or ValueError for anything else."""
    return Finding(
        code=data["code"],
        severity=Severity(data["severity"]),
        message=data["message"],
        place=Place(*data["place"]),
        source=Place(*data["source"]) if data["source"] else None,
        flow=tuple(Place(*place) for place in data["flow"]),
        segment=data["segment"],
        stranded_tokens=data["stranded"],
        subject=data["subject"],
        fix=_fix(data["fix"]) if data["fix"] else None,
    )


def _place(place: Place) -> _Place:
    return (place.path, place.row, place.column, place.end_row, place.end_column)


def _fix(data: list[Any]) -> Fix:
    message, safe, edits = data
    return Fix(message, safe, tuple(Edit(Place(*place), content) for place, content in edits))
