"""``promptcache check REQUEST.json``: will this request be accepted and cached at its provider?

The check is `promptcache.check`; this module writes words.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from promptcache.cli.files import UnreadableError, read_object
from promptcache.cli.output import show, show_json
from promptcache.cli.style import Style
from promptcache.errors import MalformedRequestError, PromptCacheError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache.check import CheckReport

CLEAN: Final = 0
FINDINGS: Final = 1
COULD_NOT_RUN: Final = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Check one request file; return 0 when nothing is wrong, 1 on errors or warnings, 2 on bad input."""
    options = _parser().parse_args(argv)
    try:
        report = _check(options.request, options.model)
    except PromptCacheError as error:
        print(f"promptcache check: {error}", file=sys.stderr)
        return COULD_NOT_RUN
    if options.output_format == "json":
        show_json(report.to_dict())
    else:
        show(describe(report, Style.for_stream(sys.stdout)))
    return FINDINGS if any(finding.severity != "info" for finding in report.findings) else CLEAN


def describe(report: CheckReport, style: Style) -> str:
    """Write a report in words, a line for each finding."""
    verdict = style.green("The provider will accept this request.")
    if not report.valid:
        verdict = style.red("The provider will refuse this request.")
    lines = [f"{verdict} Breakpoints: {report.breakpoints}."]
    lines += [
        f"  {style.cyan(found.code)} {found.severity} at {style.bold(found.path)}: {found.message}"
        for found in report.findings
    ]
    return "\n".join(lines)


def _check(path: Path, model: str | None) -> CheckReport:
    from promptcache.check import check_request  # noqa: PLC0415 - `check --help` must not pay for it

    body = read_object(path)
    try:
        return check_request({**body, "model": model} if model else body)
    except MalformedRequestError as error:
        raise UnreadableError(path, f"not a request ({error.path}: {error.problem})") from error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "promptcache check",
        description="Check a request before it is sent. Exit: 0 nothing wrong, 1 findings, 2 could not run.",
    )
    parser.add_argument("request", metavar="REQUEST.json", type=Path, help="the request body")
    parser.add_argument("--model", help="judge it for this model instead of the one it names")
    parser.add_argument("--output-format", choices=("text", "json"), default="text")
    return parser
