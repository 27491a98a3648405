"""The parser of every command of the gateway: a wrong command line is one clear sentence and status 2."""

from __future__ import annotations

import argparse
from typing import NoReturn

CANNOT = 2
"""The exit status of a command that cannot do what it is asked."""


class CommandParser(argparse.ArgumentParser):
    """An `argparse.ArgumentParser` without the usage's many lines."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line and exit with `CANNOT`."""
        self.exit(CANNOT, f"{self.prog}: {message}. See {self.prog} --help.\n")

    def spellings(self) -> dict[str, str]:
        """The first spelling of every option, by the name that its value gets."""
        found: dict[str, str] = {}
        for action in self._actions:
            if action.option_strings:
                found.setdefault(action.dest, action.option_strings[0])
        return found
