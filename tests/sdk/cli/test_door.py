"""A command that runs until it is told to stop can be stopped while it is loaded, wherever that meets it."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from promptcache import cli
from promptcache.cli.stopping import AtOnce

INTERRUPTED_AT = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
name, number, *argv = sys.argv[1:]

class Interrupts:
    def find_spec(self, module, *_):
        if module == name:
            os.kill(os.getpid(), int(number))

sys.meta_path.insert(0, Interrupts())
from promptcache.cli import main
sys.exit(main(argv))
"""


def ended(at: str, number: signal.Signals, *argv: str) -> tuple[int, str, str]:
    """How the command ends that is told so while it imports a module; status, output, errors."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_AT, at, str(int(number)), *argv],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("at", ["promptcache.cli.front", "importlib.metadata", "promptcache_gateway.cli"])
def test_a_server_that_is_told_to_stop_while_it_is_loaded_ends_well(at: str, number: signal.Signals) -> None:
    assert ended(at, number, "serve", "--help") == (0, "", "")


def test_another_command_that_is_interrupted_says_nothing_more() -> None:
    assert ended("promptcache.cli.front", signal.SIGINT, "rule") == (130, "", "")
    assert ended("promptcache.cli.rule", signal.SIGINT, "rule") == (130, "", "")
    assert ended("promptcache.cli.rule", signal.SIGTERM, "rule") == (-signal.SIGTERM, "", "")


def test_the_door_loads_nothing_before_it_can_be_stopped() -> None:
    code = "import sys; before = {*sys.modules}; import promptcache.cli; print(*{*sys.modules} - before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {*done.stdout.split()} & {"typing", "re", "argparse", "importlib.metadata", "threading"}


def test_a_program_that_calls_it_has_its_signals_again() -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    assert cli.main(["serve", "--page-size", "none"]) == 2
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


@pytest.mark.parametrize(("handler", "status"), [("signal.default_int_handler", 0), ("signal.SIG_IGN", 7)])
def test_what_is_ignored_stays_ignored(handler: str, status: int) -> None:
    code = (
        "import os, signal, sys; from promptcache.cli.stopping import AtOnce\n"
        f"signal.signal(signal.SIGINT, {handler})\n"
        "with AtOnce(): os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.exit(7)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == status


def test_signals_are_passed_over_where_something_is_still_to_be_written() -> None:
    with AtOnce() as at_once:
        at_once.nothing_to_lose = False
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
