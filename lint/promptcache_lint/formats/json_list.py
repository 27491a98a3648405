"""The findings as one JSON list, for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptcache_lint.run import LintReport

__all__ = ["write"]


def write(report: LintReport, *, colour: bool = False) -> str:  # noqa: ARG001 - every format takes it
    """The report as JSON."""
    return json.dumps([finding.to_dict() for finding in report.findings], indent=2, ensure_ascii=False) + "\n"
