"""Findings with the line they stand in, a caret under it, the way the value came, and the remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_lint.formats.paint import paint, severity_colour, summary

if TYPE_CHECKING:
    from promptcache_lint.findings import Finding
    from promptcache_lint.places import Place
    from promptcache_lint.run import LintReport

__all__ = ["write"]

_WIDEST = 120


def write(report: LintReport, *, colour: bool = False) -> str:
    """The report as blocks of lines, the last one a summary."""
    blocks = ["\n".join(_block(finding, report, colour=colour)) for finding in report.findings]
    return "\n\n".join([*blocks, summary(report)]) + "\n"


def _block(finding: Finding, report: LintReport, *, colour: bool) -> list[str]:
    head = paint(
        f"{finding.severity}[{finding.code}] {finding.name}", severity_colour(finding.severity), on=colour
    )
    lines = [f"{head}: {finding.message}", *_excerpt(finding.place, report, colour=colour)]
    if finding.source is not None:
        lines.append(f"  the value comes from {_where(finding.source)}")
        lines += _excerpt(finding.source, report, colour=colour, arrow=False)
    between = finding.flow[1:-1]
    if between:
        lines.append("  by way of " + ", ".join(_where(place) for place in between))
    return [*lines, f"  {paint('remedy', 'green', on=colour)}: {finding.remedy}"]


def _where(place: Place) -> str:
    return f"{place.path}:{place.row}:{place.column}"


def _excerpt(place: Place, report: LintReport, *, colour: bool, arrow: bool = True) -> list[str]:
    lines = [f"  --> {_where(place)}"] if arrow else []
    source = report.sources.get(place.path)
    if source is None or not source.line(place.row):
        return lines
    text = source.line(place.row)
    first = place.column - 1
    last = place.end_column - 1 if place.end_row == place.row else len(text)
    text, first, last = _window(text, first, last)
    bar = paint("|", "cyan", on=colour)
    number = str(place.row)
    visible = "".join(character if character == "\t" else " " for character in text[:first])
    carets = paint("^" * max(last - first, 1), "red", on=colour)
    return [*lines, f" {number} {bar} {text}", f" {' ' * len(number)} {bar} {visible}{carets}"]


def _window(text: str, first: int, last: int) -> tuple[str, int, int]:
    """A long line cut to the part around the finding."""
    if len(text) <= _WIDEST:
        return text, first, min(last, len(text))
    start = max(0, min(first - 40, len(text) - _WIDEST))
    head = "…" if start else ""
    cut = head + text[start : start + _WIDEST]
    shift = start - len(head)
    cut += "…" if start + _WIDEST < len(text) else ""
    return cut, first - shift, min(last - shift, len(cut))
