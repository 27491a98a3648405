"""``promptcache check REQUEST.json``: will this request be accepted and cached at its provider?

The check is `promptcache.check`; this module reads the file and writes words.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from promptcache.cli.style import Style
from promptcache.errors import PromptCacheError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache.check import CheckReport

CLEAN: Final = 0
FINDINGS: Final = 1
COULD_NOT_RUN: Final = 2


class UnreadableFileError(PromptCacheError):
    """The file given on the command line holds no request; ``path`` is the file."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}.", remedy="Give a file that holds one request body as JSON.")
        self.path = path
        self.problem = problem


def main(argv: Sequence[str] | None = None) -> int:
    """Check one request file; return 0 when nothing is wrong, 1 on errors or warnings, 2 on bad input."""
    options = _parser().parse_args(argv)
    try:
        report = _check(options.request, options.model)
    except PromptCacheError as error:
        print(f"promptcache check: {error}", file=sys.stderr)
        return COULD_NOT_RUN
    if options.output_format == "json":
        print(json.dumps(report.to_dict(), ensure_ascii=False, indent=2))
    else:
        print(describe(report, Style.for_stream(sys.stdout)))
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

    body = _read(path)
    return check_request({**body, "model": model} if model else body)


def _read(path: Path) -> dict[str, Any]:
    try:
        body = json.loads(path.read_bytes())
    except OSError as error:
        raise UnreadableFileError(path, error.strerror or "cannot be read") from error
    except (ValueError, RecursionError) as error:
        raise UnreadableFileError(path, f"not JSON ({error})") from error
    if not isinstance(body, dict):
        raise UnreadableFileError(path, f"holds a JSON {type(body).__name__}, not an object")
    return body


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "promptcache check",
        description="Check a request before it is sent. Exit: 0 nothing wrong, 1 findings, 2 could not run.",
    )
    parser.add_argument("request", metavar="REQUEST.json", type=Path, help="the request body")
    parser.add_argument("--model", help="judge it for this model instead of the one it names")
    parser.add_argument("--output-format", choices=("text", "json"), default="text")
    return parser
