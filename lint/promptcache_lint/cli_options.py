"""The options of ``promptcache lint``, and the settings they ask for."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from promptcache_lint.findings import Severity
from promptcache_lint.formats import FORMATS

__all__ = ["overrides", "parser"]


def overrides(options: argparse.Namespace) -> dict[str, Any]:
    """The fields of `Settings` that the command line sets; the others are left to configuration files."""
    fields: dict[str, Any] = {}
    if options.select:
        fields["select"] = _codes(options.select)
    if options.ignore:
        fields["ignore"] = _codes(options.ignore)
    if options.severity:
        fields["severity"] = Severity[options.severity.upper()]
    if options.exclude:
        fields["exclude"] = tuple(options.exclude)
    if not options.respect_gitignore:
        fields["respect_gitignore"] = False
    if options.output_format in {"json", "sarif"}:
        fields["fixes"] = True
    return fields


def _codes(values: list[str]) -> tuple[str, ...]:
    return tuple(code.strip().upper() for value in values for code in value.split(",") if code.strip())


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = argparse.ArgumentParser(
        prog="promptcache lint",
        description="Find what breaks the cacheable prefix of prompts, in templates, data files and code.",
        epilog="Exit status: 0 clean, 1 errors or warnings, 2 could not run. "
        "Silence a line with a comment `promptcache: ignore[PC101] reason`.",
    )
    made.add_argument("paths", nargs="+", metavar="PATH", help="file or folder")
    _selection(made.add_argument_group("which findings"))
    _files(made.add_argument_group("which files"))
    _output(made.add_argument_group("output"))
    _fixing(made.add_argument_group("fixing"))
    return made


def _selection(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--select",
        action="append",
        default=[],
        metavar="CODES",
        help="only these codes or beginnings of codes (PC1,PC201)",
    )
    group.add_argument("--ignore", action="append", default=[], metavar="CODES", help="none of these codes")
    group.add_argument(
        "--severity",
        choices=["info", "warning", "error"],
        help="least severity to show (default: warning)",
    )
    group.add_argument(
        "--baseline",
        metavar="FILE",
        type=Path,
        help="report only what this file does not hold; it is written where it does not exist",
    )
    group.add_argument(
        "--update-baseline", action="store_true", help="write the baseline anew with what there is now"
    )


def _files(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--exclude",
        action="append",
        default=[],
        metavar="PATTERN",
        help="skip what matches, as in .gitignore; adds to the configuration's",
    )
    group.add_argument(
        "--no-respect-gitignore",
        dest="respect_gitignore",
        action="store_false",
        help="look at ignored files too",
    )
    group.add_argument(
        "--force-exclude",
        action="store_true",
        help="treat named files as if found in a folder: excludes hold, and not every text is a prompt",
    )
    group.add_argument("--config", metavar="FILE", type=Path, help="this configuration file for all folders")
    group.add_argument("--isolated", action="store_true", help="read no configuration files")
    group.add_argument(
        "-j",
        "--jobs",
        type=_count,
        default=0,
        metavar="N",
        help="processes (default: as many as are worth it)",
    )
    group.add_argument("--cache-dir", metavar="FOLDER", type=Path, help="where results are kept between runs")
    group.add_argument("--no-cache", action="store_true", help="keep no results, and use none")


def _output(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--output-format",
        choices=sorted(FORMATS),
        default="full",
        help="how to write the findings (default: full)",
    )
    group.add_argument("--output-file", metavar="FILE", type=Path, help="write them there")
    group.add_argument(
        "--costs",
        metavar="FILE",
        type=Path,
        help="say what each fault cost: the gateway's /promptcache/v1/costs, saved",
    )
    group.add_argument("--statistics", action="store_true", help="count findings by code instead")
    group.add_argument(
        "--color",
        choices=["auto", "always", "never"],
        default="auto",
        help="colours (default: on a terminal)",
    )
    group.add_argument("--exit-zero", action="store_true", help="exit with 0 whatever is found")


def _fixing(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--fix", action="store_true", help="carry out the safe fixes")
    group.add_argument(
        "--unsafe-fixes",
        action="store_true",
        help="with --fix or --diff: also fixes that change what the prompt says where",
    )
    group.add_argument("--diff", action="store_true", help="show what --fix would change, and change nothing")


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no number of processes; write 1, 2 …, or leave it out for as many as are worth it"
        )
    return int(text)
