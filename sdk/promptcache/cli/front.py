"""The front door: ``promptcache COMMAND …`` finds the command, runs it, and turns failures into one sentence.

Exit statuses are the commands' own; the front door adds 2 for what could not run. An interrupt is left to
whoever opened it (`door`).
"""

from __future__ import annotations

import difflib
import os
import sys
from typing import TYPE_CHECKING, Final

from promptcache._version import __version__
from promptcache.cli.commands import Command, find_commands, missing_extra
from promptcache.errors import MissingExtraError, PromptCacheError

if TYPE_CHECKING:
    from collections.abc import Sequence

COULD_NOT_RUN: Final = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line ``argv`` (without the program's name) and return the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    commands = find_commands()
    if not arguments:
        print(_help(commands), file=sys.stderr)
        return COULD_NOT_RUN
    name, rest = arguments[0], arguments[1:]
    if name in {"-h", "--help", "help"}:
        print(_help(commands))
        return 0
    if name in {"-V", "--version"}:
        print(f"promptcache {__version__}")
        return 0
    if name not in commands:
        print(_unknown(name, commands), file=sys.stderr)
        return COULD_NOT_RUN
    return _run(commands[name], rest)


def _run(command: Command, argv: list[str]) -> int:
    try:
        return int(command.entry.load()(argv) or 0)
    except SystemExit as leaving:
        return _status(leaving)
    except ImportError as error:
        extra = missing_extra(command.name, error)
        if extra is None:
            raise
        print(MissingExtraError(f"promptcache {command.name}", extra), file=sys.stderr)
        return COULD_NOT_RUN
    except PromptCacheError as error:
        print(f"promptcache {command.name}: {error}", file=sys.stderr)
        return COULD_NOT_RUN
    except BrokenPipeError:
        # The reader (head, less) has what it wanted; keep Python from complaining again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _status(leaving: SystemExit) -> int:
    if leaving.code is None:
        return 0
    if isinstance(leaving.code, int):
        return leaving.code
    print(leaving.code, file=sys.stderr)
    return 1


def _help(commands: dict[str, Command]) -> str:
    width = max(map(len, commands), default=0)
    lines = [f"  {command.name:<{width}}  {command.summary}".rstrip() for command in commands.values()]
    return "\n".join(
        [
            "usage: promptcache COMMAND …",
            "",
            "Makes prompt prefixes stable, finds what breaks them, and says why a hit was missed.",
            "",
            "commands:",
            *lines,
            "",
            "  -h, --help     show this, or with a command its options",
            "  -V, --version  show the version",
        ]
    )


def _unknown(name: str, commands: dict[str, Command]) -> str:
    near = difflib.get_close_matches(name, commands, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else " See `promptcache --help`."
    return f"promptcache: there is no command {name!r}.{hint}"
