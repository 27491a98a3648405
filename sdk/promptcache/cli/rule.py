"""``promptcache rule [CODE]``: explains one cause of a cache miss, a family of them, or lists all.

How a cause looks in source, with a bad and a good example, is known to the linter: it says so through the
entry-point group ``promptcache.documentation``, each a ``(code) -> str | None`` that returns Markdown.
"""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from dataclasses import asdict
from importlib.metadata import entry_points
from itertools import groupby
from typing import TYPE_CHECKING, Final

from promptcache.causes import CAUSES, FAMILIES, Cause, get_cause
from promptcache.cli.style import Style
from promptcache.errors import UnknownCauseError

if TYPE_CHECKING:
    from collections.abc import Sequence

_WIDTH = 88
_GROUP: Final = "promptcache.documentation"


def main(argv: Sequence[str] | None = None) -> int:
    """Print one cause, one family (``PC1``) or all; return 0, or 2 for a code that does not exist."""
    options = _parser().parse_args(argv)
    code = options.code.upper() if options.code else ""
    try:
        causes = [get_cause(code)] if code and code not in FAMILIES else _family(code)
    except UnknownCauseError as error:
        print(f"promptcache rule: {error}", file=sys.stderr)
        return 2
    if options.output_format == "json":
        print(json.dumps([asdict(cause) for cause in causes], ensure_ascii=False, indent=2))
    else:
        style = Style.for_stream(sys.stdout)
        print(_list(causes, style) if code in FAMILIES or not code else _page(causes[0], style))
    return 0


def _page(cause: Cause, style: Style) -> str:
    """The explanation, then what others have to say of the cause, in their own headings."""
    return "\n\n".join([explain(cause, style), *_documentation(cause.code, style)])


def _documentation(code: str, style: Style) -> list[str]:
    texts = [entry.load()(code) for entry in entry_points(group=_GROUP)]
    return [_headed(text, style) for text in texts if text]


def _headed(text: str, style: Style) -> str:
    """Markdown with its headings as this page has them; those inside fenced code are comments and stay."""
    fenced, lines = False, []
    for line in text.splitlines():
        fenced ^= line.startswith("```")
        lines.append(style.bold(line.lstrip("# ")) if line.startswith("## ") and not fenced else line)
    return "\n".join(lines)


def explain(cause: Cause, style: Style) -> str:
    """Write a cause as a short page of text."""
    wrap = textwrap.TextWrapper(_WIDTH, break_on_hyphens=False).fill
    return "\n".join(
        [
            f"{style.cyan(style.bold(cause.code))} {style.bold(cause.name)}",
            f"{style.dim(FAMILIES[cause.family])}",
            "",
            wrap(f"{cause.title}."),
            "",
            wrap(cause.explanation),
            "",
            style.bold("Instead"),
            wrap(cause.remedy),
        ]
    )


def _family(prefix: str) -> list[Cause]:
    return [cause for code, cause in CAUSES.items() if code.startswith(prefix)]


def _list(causes: list[Cause], style: Style) -> str:
    sections = []
    for family, members in groupby(causes, key=lambda cause: cause.family):
        lines = [style.bold(f"{family}  {FAMILIES[family]}")]
        lines += [f"  {style.cyan(cause.code)}  {cause.title}" for cause in members]
        sections.append("\n".join(lines))
    return "\n\n".join(sections)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("promptcache rule", description="Explain causes of cache misses.")
    parser.add_argument(
        "code", nargs="?", metavar="CODE", help="a cause (PC101) or a family (PC1); all if left out"
    )
    parser.add_argument("--output-format", choices=("text", "json"), default="text")
    return parser
