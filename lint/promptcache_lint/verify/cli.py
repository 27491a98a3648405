"""``promptcache verify MODULE:FUNCTION``: does a request stay the same when only the world changes?

Exit status: 0 stable, 1 unstable, 2 could not run.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptcache.causes import get_cause
from promptcache.errors import MalformedRequestError
from promptcache_lint.errors import LintError, RenderError
from promptcache_lint.formats.paint import paint, severity_colour
from promptcache_lint.verify.experiment import verify
from promptcache_lint.verify.render import Target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache_lint.verify.verdict import Shown, Verdict

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with ``argv`` (without the program's name) and return the exit status."""
    options = _parser().parse_args(argv)
    try:
        verdict = verify(_target(options))
    except LintError as error:
        print(f"promptcache verify: {error}", file=sys.stderr)
        return 2
    except MalformedRequestError as error:
        problem = f"it renders no request ({error.path}: {error.problem})."
        print(f"promptcache verify: {RenderError(options.target, problem)}", file=sys.stderr)
        return 2
    if options.output_format == "json":
        print(json.dumps(verdict.to_dict(), indent=2, ensure_ascii=False))
    else:
        print(_told(verdict, colour=_colour()))
    return 0 if verdict.stable else 1


def _target(options: argparse.Namespace) -> Target:
    name = options.target
    module, _, function = name.partition(":")
    if not module or not function:
        raise RenderError(name, "is no MODULE:FUNCTION.", remedy="Write app.prompts:build_request.")
    if not options.path.is_dir():
        raise RenderError(name, f"{options.path} is no folder.", remedy="Correct --path.")
    args, kwargs = _arguments(name, options.call)
    return Target(name, args, kwargs, options.path.resolve(), options.timeout)


def _arguments(target: str, call: str | None) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A list holds positional arguments, an object named ones, or both under ``args`` and ``kwargs``."""
    if call is None:
        return (), {}
    try:
        value = json.loads(call)
    except (ValueError, RecursionError) as error:
        remedy = 'Write for example --call \'{"question": "Where is my order?"}\'.'
        raise RenderError(target, f"--call is no JSON: {error}.", remedy=remedy) from error
    match value:
        case list():
            return tuple(value), {}
        case {"args": list(args), "kwargs": dict(kwargs)} if len(value) == 2:
            return tuple(args), kwargs
        case {"args": list(args)} if len(value) == 1:
            return tuple(args), {}
        case {"kwargs": dict(kwargs)} if len(value) == 1:
            return (), kwargs
        case dict():
            return (), value
        case _:
            return (value,), {}


def _told(verdict: Verdict, *, colour: bool) -> str:
    costly = [item for item in verdict.shown if not item.difference.tolerated]
    harmless = [item for item in verdict.shown if item.difference.tolerated]
    count = sum(1 for item in costly if item.severity > 0)
    if verdict.stable:
        text, shade = f"{verdict.target} is stable: nothing that should be reused differs.", "green"
    else:
        noun = "difference" if count == 1 else "differences"
        text, shade = f"{verdict.target} is unstable: {count} {noun} in what should be reused.", "red"
    blocks = [paint(text, shade, on=colour), *(_block(item, colour=colour) for item in costly)]
    if harmless:
        blocks.append("\n".join(_harmless(item) for item in harmless))
    return "\n\n".join(blocks)


def _block(item: Shown, *, colour: bool) -> str:
    label = f"{item.severity}[{item.code}] {get_cause(item.code).name}"
    where = f"{item.difference.path}, character {item.difference.offset}"
    cause = f"{item.cause.words}" + (", the same within one process" if item.once else "")
    before, after = item.difference.excerpts()
    return "\n".join(
        [
            f"{paint(label, severity_colour(item.severity), on=colour)}: {where} (shown by {cause})",
            f"  - {json.dumps(before, ensure_ascii=False)}",
            f"  + {json.dumps(after, ensure_ascii=False)}",
            f"  {paint('remedy', 'green', on=colour)}: {get_cause(item.code).remedy}",
        ]
    )


def _harmless(item: Shown) -> str:
    return f"Fine: {item.difference.path} differs ({item.cause.words}); {item.difference.tolerated}."


def _colour() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "promptcache verify",
        description="Render a request in processes with another clock, date, random seed, host, process id, "
        "locale, order of directories and hash seed, and again within one process; say what differs and why. "
        "The code runs, so run only code you trust; it gets no network.",
        epilog="Exit status: 0 stable, 1 unstable, 2 could not run.",
    )
    parser.add_argument(
        "target",
        metavar="MODULE:FUNCTION",
        help="returns the request, its messages or its system prompt, or sends it; FILE.py:FUNCTION too",
    )
    parser.add_argument("--call", metavar="JSON", help="arguments: an object of named ones, or a list")
    parser.add_argument("--path", metavar="FOLDER", type=Path, default=Path(), help="folder to import from")
    parser.add_argument("--timeout", metavar="S", type=float, default=60.0, help="seconds for one process")
    parser.add_argument("--output-format", choices=("text", "json"), default="text")
    return parser
