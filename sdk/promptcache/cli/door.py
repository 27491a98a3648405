"""The step before the front door: a command that runs until it is stopped can be stopped from here on.

It loads nothing before that; `front` finds the command and runs it. An interrupt, whenever it comes, is exit
status 130.
"""

from __future__ import annotations

import atexit
import sys

from promptcache.cli.stopping import AtOnce

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final

_INTERRUPTED: Final = 130
_UNTIL_STOPPED: Final = "serve"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line ``argv`` (without the program's name) and return the exit status.

    Without ``argv`` the process is the command: it can be stopped up to its very end.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] != [_UNTIL_STOPPED]:
        return _enter(arguments)
    at_once = AtOnce()
    if argv is not None:
        with at_once:
            return _enter(arguments)
    at_once.take()
    atexit.register(at_once.leave)
    return _enter(arguments)


def _enter(arguments: list[str]) -> int:
    try:
        from promptcache.cli import front  # noqa: PLC0415 - it takes a while

        return front.main(arguments)
    except KeyboardInterrupt:
        return _INTERRUPTED
