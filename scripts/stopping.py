"""A script that a signal stops: what it started ends first, and what it made is removed by its own code.

A signal becomes an exception, so that every ``with`` and ``finally`` on the way out is run. Programs run in
sessions of their own: a terminal's Ctrl-C reaches them only through here.
"""

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PATIENCE = 10.0
"""Seconds that a program is given to end by itself."""


class Stopped(BaseException):
    """A signal came. Nothing but the outermost function should catch it.

    Args:
        number: the signal's.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.name = signal.Signals(number).name
        self.status = 128 + number


def raise_when_stopped() -> None:
    """Let the first of the signals raise ``Stopped``; later ones, and those ignored already, do nothing."""

    def stop(number: int, _: object) -> None:
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        raise Stopped(number)

    for each in _SIGNALS:
        if signal.getsignal(each) != signal.SIG_IGN:
            signal.signal(each, stop)


def run(
    command: Sequence[str], *, folder: Path, env: Mapping[str, str] | None = None, out: int | IO[str] | None
) -> tuple[int, str]:
    """Run a program to its end and return its exit status and, where ``out`` is a pipe, what it printed.

    Raises:
        Stopped: a signal came; the program and those it started have been ended.
    """
    with subprocess.Popen(
        command, cwd=folder, env=env, stdout=out, text=True, start_new_session=True
    ) as program:
        try:
            text = program.communicate()[0]
        except BaseException:
            _end(program)
            raise
    return program.returncode, text or ""


def _end(program: subprocess.Popen[str]) -> None:
    """Interrupt it, so that it clears up; then end all that is left of its session's group."""
    _signal(program, signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        program.wait(_PATIENCE)
    _signal(program, signal.SIGKILL)


def _signal(program: subprocess.Popen[str], number: int) -> None:
    with contextlib.suppress(ProcessLookupError):  # all have ended
        os.killpg(program.pid, number)
