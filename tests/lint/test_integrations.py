"""What other tools read of us: pre-commit hooks, the GitHub Action, the documented examples."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from promptcache_lint import Settings
from promptcache_lint.cli import main
from promptcache_lint.cli_options import parser
from promptcache_lint.configuration import SettingsTree

ROOT = Path(__file__).parents[2]
RULES = "You are a clerk of our company. Be brief and polite, and never promise anything."
DOCUMENT = (ROOT / "docs" / "lint.md").read_text(encoding="utf-8")


def test_hooks_call_the_command_with_options_it_knows(tmp_path):
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert [hook["id"] for hook in hooks] == ["promptcache-lint", "promptcache-lint-fix"]
    for hook in hooks:
        program, command, *arguments = shlex.split(hook["entry"])
        assert (program, command) == ("promptcache", "lint")
        options = parser().parse_args([*arguments, str(tmp_path)])
        assert options.force_exclude


def test_the_action_calls_the_command_with_options_it_knows():
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    inputs = set(action["inputs"])
    scripts = [step["run"] for step in action["runs"]["steps"] if "promptcache lint" in step.get("run", "")]
    assert len(scripts) == 2
    for script in scripts:
        words = shlex.split(script.replace("$PATHS", ".").replace("$ARGUMENTS", ""))
        parser().parse_args(words[2:])
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    assert set(re.findall(r"inputs\.([\w-]+)", text)) <= inputs
    assert not [script for script in scripts if "${{" in script], "inputs must not become code of the shell"


@pytest.mark.parametrize(("version", "installed"), [("", "/action here[ts]"), ("==9", "promptcache[ts]==9")])
def test_the_action_installs_what_it_comes_with(tmp_path, version, installed):
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    (step,) = (step for step in action["runs"]["steps"] if step.get("name") == "Install promptcache")
    assert step["env"] == {"HERE": "${{ github.action_path }}", "VERSION": "${{ inputs.version }}"}
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\nfor word in "$@"; do echo "$word"; done\n')
    python.chmod(0o755)
    variables = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "HERE": "/action here", "VERSION": version}
    done = subprocess.run(
        ["bash", "-e", "-c", step["run"]], env=variables, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["-m", "pip", "install", "--quiet", installed]


def test_no_repository_is_guessed():
    for name in ("action.yml", ".pre-commit-hooks.yaml", "docs/lint.md"):
        assert "promptcache/promptcache" not in (ROOT / name).read_text(encoding="utf-8")


def test_the_documented_configuration_is_one(tmp_path):
    example = re.search(r"```toml\n(.*?)```", DOCUMENT, re.DOTALL)
    assert example is not None
    (tmp_path / "pyproject.toml").write_text(example[1], encoding="utf-8")
    settings = SettingsTree().folder(tmp_path)
    unset = Settings()
    named = ("ignore", "exclude", "per_file_ignores", "sources", "sinks", "volatile_names", "static_names")
    assert all(getattr(settings, name) != getattr(unset, name) for name in named)
    assert settings.baseline == tmp_path / "prompts.baseline.json"


def test_every_option_is_documented_or_explained_by_help():
    spoken = set(re.findall(r"--[a-z][a-z-]+", DOCUMENT))
    known = {option for action in parser()._actions for option in action.option_strings}
    assert spoken - known <= {"--call"}


@pytest.fixture
def tree(tmp_path, monkeypatch):
    (tmp_path / "prompt.txt").write_text(f"It is {{now}}.\n{RULES}\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_output_file_and_exit_zero(tree, capsys):
    assert main([".", "--output-format", "concise", "--output-file", "out.txt", "--exit-zero"]) == 0
    assert capsys.readouterr().out == ""
    assert "error[PC101]" in (tree / "out.txt").read_text()
    assert main([".", "--output-file", "nowhere/out.txt"]) == 2
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("terminal", "variables", "options", "coloured"),
    [
        (True, {}, [], True),
        (False, {}, [], False),
        (True, {"NO_COLOR": "1"}, [], False),
        (True, {"TERM": "dumb"}, [], False),
        (False, {}, ["--color", "always"], True),
        (True, {}, ["--color", "never"], False),
    ],
)
def test_colours_only_on_a_terminal(tree, capsys, monkeypatch, terminal, variables, options, coloured):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    main([".", *options])
    assert ("\033[" in capsys.readouterr().out) is coloured
