"""``promptcache diff A.json B.json``: says where request B leaves request A, and why.

The comparison is `promptcache.divergence`; this module writes words. A model or a parameter
that changed ends the reuse as well, though the text goes on: only no cause at all is status 0.
"""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from promptcache.causes import get_cause
from promptcache.cli.files import UnreadableError, read_object
from promptcache.cli.output import show, show_json
from promptcache.cli.style import Style
from promptcache.errors import MalformedRequestError, PromptCacheError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache.usage import Usage

APPEND_ONLY: Final = 0
DIVERGED: Final = 1
COULD_NOT_RUN: Final = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Compare two request files.

    Returns 0 when the second extends the first and nothing else ends the reuse, 1 when not, 2 on bad input.
    """
    options = _parser().parse_args(argv)
    try:
        result = _compare(options.earlier, options.later, options.usage)
    except PromptCacheError as error:
        print(f"promptcache diff: {error}", file=sys.stderr)
        return COULD_NOT_RUN
    if options.output_format == "json":
        show_json(result)
    else:
        show(describe(result, Style.for_stream(sys.stdout)))
    return APPEND_ONLY if result["append_only"] and not result["cause"] else DIVERGED


def describe(result: dict[str, Any], style: Style) -> str:
    """Write a divergence, given as its JSON form, in words."""
    lines = [_headline(result, style)]
    if not result["append_only"]:
        lines.append(f"  shared {result['shared_chars']} characters, lost {result['lost_chars']}")
        lines += _excerpts(result, style)
    if result.get("cause"):
        lines += ["", *_reason(result, style)]
    return "\n".join(lines)


def _headline(result: dict[str, Any], style: Style) -> str:
    if result["append_only"] and result.get("cause"):
        return style.red("The second request extends the first, and yet may not reuse it.")
    if result["append_only"]:
        return style.green("The second request extends the first; its prefix is unchanged.")
    where = f" at {style.cyan(result['path'])}" if result.get("path") else ""
    offset = f", character {result['char_offset']}" if result.get("char_offset") is not None else ""
    return style.red("The second request leaves the first") + f"{where}{offset}."


def _excerpts(result: dict[str, Any], style: Style) -> list[str]:
    lines = []
    for sign, key, paint in (("-", "before", style.red), ("+", "after", style.green)):
        if result.get(key):
            lines.append("  " + paint(f"{sign} {json.dumps(result[key], ensure_ascii=False)}"))
    return lines


def _reason(result: dict[str, Any], style: Style) -> list[str]:
    cause = get_cause(result["cause"])
    wrap = textwrap.TextWrapper(88, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False).fill
    severity = f" ({result['severity']})" if result.get("severity") else ""
    lines = [f"{style.cyan(cause.code)} {style.bold(cause.title)}{severity}", wrap(cause.explanation)]
    for name, value in (result.get("details") or {}).items():
        lines.append(wrap(f"{name.replace('_', ' ')}: {_plain(value)}"))
    lines.append(wrap(f"Instead: {result.get('remedy') or cause.remedy}"))
    others = [code for code in result.get("causes") or [] if code != cause.code]
    if others:
        lines.append(style.dim(f"  also: {', '.join(others)} (see `promptcache rule CODE`)"))
    return lines


def _plain(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _compare(earlier: Path, later: Path, usage_file: Path | None) -> dict[str, Any]:
    from promptcache.divergence import compare_requests  # noqa: PLC0415 - `rule` must not pay for it

    bodies = [read_object(path) for path in (earlier, later)]
    usage = _usage(usage_file) if usage_file else None
    try:
        return compare_requests(bodies[0], bodies[1], usage=usage).to_dict()
    except MalformedRequestError as error:
        raise UnreadableError(
            _culprit(earlier, later, bodies), f"not a request ({error.path}: {error.problem})"
        ) from error


def _culprit(earlier: Path, later: Path, bodies: list[dict[str, Any]]) -> Path:
    """Tell which of the two files is the malformed one."""
    from promptcache.segments import cut_request  # noqa: PLC0415 - only on the way to an error

    try:
        cut_request(bodies[0])
    except MalformedRequestError:
        return earlier
    return later


def _usage(path: Path) -> Usage:
    from promptcache.usage import Usage  # noqa: PLC0415 - only with --usage

    remedy = "Give a file that holds a response, or its usage object, as JSON."
    usage = Usage.from_response(read_object(path, remedy=remedy))
    if usage.total_input is None and usage.cache_read is None and usage.output is None:
        raise UnreadableError(path, "holds no usage", remedy=remedy)
    return usage


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "promptcache diff",
        description="Say where one request leaves another, and why. Exit: 0 append-only, 1 diverged (text, "
        "model, parameters or another cause), 2 could not run.",
    )
    parser.add_argument("earlier", metavar="A.json", type=Path, help="the earlier request body")
    parser.add_argument("later", metavar="B.json", type=Path, help="the later request body")
    parser.add_argument("--usage", metavar="FILE", type=Path, help="usage or response of the later request")
    parser.add_argument("--output-format", choices=("text", "json"), default="text")
    return parser
