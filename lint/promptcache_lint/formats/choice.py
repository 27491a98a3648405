"""The formats by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_lint.formats import concise, full, github, gitlab, json_list, junit, sarif

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from promptcache_lint.run import LintReport

__all__ = ["FORMATS", "write_report"]

FORMATS: Mapping[str, Callable[..., str]] = {
    "full": full.write,
    "concise": concise.write,
    "json": json_list.write,
    "sarif": sarif.write,
    "github": github.write,
    "gitlab": gitlab.write,
    "junit": junit.write,
}
"""Writers by the name of their format; each takes the report and ``colour``."""


def write_report(report: LintReport, name: str, *, colour: bool = False) -> str:
    """The report in the format ``name``; only ``full`` and ``concise`` know colours."""
    return FORMATS[name](report, colour=colour)
