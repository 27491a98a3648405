"""``promptcache lint PATH…``: the linter on the command line.

Exit status: 0 clean, 1 errors or warnings found, 2 could not run.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from typing import TYPE_CHECKING

from promptcache.causes import get_cause
from promptcache_lint.errors import LintError
from promptcache_lint.findings import Severity
from promptcache_lint.formats import FORMATS, write_report
from promptcache_lint.run import LintReport, lint_paths
from promptcache_lint.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with ``argv`` (without the program's name) and return the exit status."""
    options = _parser().parse_args(argv)
    try:
        settings = Settings(
            select=_codes(options.select) or ("PC",),
            ignore=_codes(options.ignore),
            severity=Severity[options.severity.upper()],
            exclude=tuple(options.exclude),
            respect_gitignore=options.respect_gitignore,
        )
        report = lint_paths(options.paths, settings)
    except LintError as error:
        print(f"promptcache lint: {error}", file=sys.stderr)
        return 2
    _print(report, options)
    return 1 if report.failed else 0


def _print(report: LintReport, options: argparse.Namespace) -> None:
    colour = _colour(options.color)
    if report.files == 0 and options.output_format in {"full", "concise"}:
        print("No files to lint: nothing under these paths holds prompts or code.")
        return
    text = (
        _statistics(report)
        if options.statistics
        else write_report(report, options.output_format, colour=colour)
    )
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (`head`) has had enough; the rest has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _statistics(report: LintReport) -> str:
    counts = Counter(finding.code for finding in report.findings)
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return (
        "".join(f"{count:5d}  {code}  {get_cause(code).title}\n" for code, count in rows)
        or "Nothing found.\n"
    )


def _colour(choice: str) -> bool:
    if choice != "auto":
        return choice == "always"
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def _codes(values: list[str]) -> tuple[str, ...]:
    return tuple(code.strip().upper() for value in values for code in value.split(",") if code.strip())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="promptcache lint",
        description="Find what breaks the cacheable prefix of prompts, in templates, data files and code.",
        epilog="Exit status: 0 clean, 1 errors or warnings, 2 could not run. "
        "Silence a line with a comment `promptcache: ignore[PC101] reason`.",
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="file or folder")
    parser.add_argument(
        "--select",
        action="append",
        default=[],
        metavar="CODES",
        help="only these codes or beginnings of codes (PC1,PC201)",
    )
    parser.add_argument("--ignore", action="append", default=[], metavar="CODES", help="none of these codes")
    parser.add_argument(
        "--severity",
        choices=["info", "warning", "error"],
        default="warning",
        help="least severity to show (default: warning)",
    )
    parser.add_argument(
        "--output-format",
        choices=sorted(FORMATS),
        default="full",
        help="how to write the findings (default: full)",
    )
    parser.add_argument("--statistics", action="store_true", help="count findings by code instead")
    parser.add_argument(
        "--exclude",
        action="append",
        default=[],
        metavar="PATTERN",
        help="skip what matches, as in .gitignore",
    )
    parser.add_argument(
        "--no-respect-gitignore",
        dest="respect_gitignore",
        action="store_false",
        help="look at ignored files too",
    )
    parser.add_argument(
        "--color",
        choices=["auto", "always", "never"],
        default="auto",
        help="colours (default: on a terminal)",
    )
    return parser
