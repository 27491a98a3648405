"""The front door: finds commands, answers for those that cannot run, and hides no bug."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from promptcache import cli
from promptcache._version import __version__
from promptcache.cli import commands
from promptcache.errors import PromptCacheError

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class FakeEntry:
    name: str
    run: Callable[[list[str]], Any]
    broken: BaseException | None = None

    def load(self) -> Callable[[list[str]], Any]:
        if self.broken:
            raise self.broken
        return self.run


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def install(*entries: FakeEntry) -> None:
        monkeypatch.setattr(commands, "entry_points", lambda group: entries)

    return install


def test_help_lists_the_installed_commands_with_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert ["rule", "explain one cause of a cache miss, or list all"] in [
        line.split(None, 1) for line in lines
    ]
    assert {line.split()[0] for line in lines if line.startswith("  ")} >= {"serve", "lint", "rule", "diff"}


def test_no_command_shows_the_help_as_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 2
    assert "usage: promptcache COMMAND" in capsys.readouterr().err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"promptcache {__version__}\n"


def test_an_unknown_command_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["rul"]) == 2
    assert capsys.readouterr().err == "promptcache: there is no command 'rul'. Did you mean 'rule'?\n"
    assert cli.main(["frobnicate"]) == 2
    assert (
        capsys.readouterr().err
        == "promptcache: there is no command 'frobnicate'. See `promptcache --help`.\n"
    )


def test_arguments_and_status_pass_through(install: Callable[..., None]) -> None:
    seen: list[list[str]] = []

    def run(argv: list[str]) -> int:
        seen.append(argv)
        return 7

    install(FakeEntry("other", run))
    assert cli.main(["other", "--x", "1"]) == 7
    assert seen == [["--x", "1"]]


@pytest.mark.parametrize("when", ["loading", "running"])
def test_a_missing_extra_is_one_sentence(
    when: str, install: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    def run(argv: list[str]) -> int:
        raise ModuleNotFoundError("No module named 'fastapi'", name="fastapi")

    broken = ModuleNotFoundError("No module named 'fastapi'", name="fastapi") if when == "loading" else None
    install(FakeEntry("serve", run, broken))
    assert cli.main(["serve"]) == 2
    captured = capsys.readouterr()
    assert captured.err == "promptcache serve needs the gateway: pip install 'promptcache[gateway]'\n"
    assert captured.out == ""


@pytest.mark.parametrize(
    "bug",
    [
        ModuleNotFoundError("No module named 'promptcache_gateway.app'", name="promptcache_gateway.app"),
        ModuleNotFoundError("No module named 'fastapi.wrong'", name="fastapi.wrong"),
        ImportError("cannot import name 'x' from 'fastapi'", name="fastapi"),
        ModuleNotFoundError("No module named 'something_else'", name="something_else"),
    ],
    ids=["own module", "submodule", "missing name", "unknown package"],
)
def test_a_bug_is_not_taken_for_a_missing_extra(bug: ImportError, install: Callable[..., None]) -> None:
    install(FakeEntry("lint", lambda argv: 0, bug))
    with pytest.raises(ImportError) as caught:
        cli.main(["lint"])
    assert caught.value is bug


@pytest.mark.parametrize(
    ("raised", "status", "text"),
    [
        (PromptCacheError("It broke.", remedy="Mend it."), 2, "promptcache other: It broke. Mend it.\n"),
        (KeyboardInterrupt(), 130, ""),
        (SystemExit(2), 2, ""),
        (SystemExit(), 0, ""),
        (SystemExit("bad"), 1, "bad\n"),
    ],
)
def test_failures_become_statuses(
    raised: BaseException,
    status: int,
    text: str,
    install: Callable[..., None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    def run(argv: list[str]) -> int:
        raise raised

    install(FakeEntry("other", run))
    assert cli.main(["other"]) == status
    assert capsys.readouterr().err == text


def test_python_m_promptcache_is_the_same_door() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "promptcache", "rule", "PC101"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("PC101 clock-in-prefix\n")


def test_a_reader_that_leaves_early_is_no_error() -> None:
    done = subprocess.run(
        f"{sys.executable} -m promptcache rule --output-format json | head -1",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("[\n", "")
