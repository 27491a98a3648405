"""Every command and example of the README is run here, as it stands there."""

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.serving import Served, free_port, wait_until_ready

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = [
    line.partition("#")[0].strip()
    for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    for line in block.splitlines()
    if line.strip()
]
SNIPPETS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
FOUND_SOMETHING = {"promptcache lint examples/prompts", "promptcache diff examples/requests/turn1.json"}


def test_the_readme_has_its_two_commands_and_its_examples() -> None:
    assert COMMANDS[:2] == ["make serve", "make test"]
    assert len(SNIPPETS) == 3


@pytest.mark.parametrize("command", [c for c in COMMANDS if not c.startswith("make ")])
def test_a_command_runs(command: str) -> None:
    words = shlex.split(command)
    assert words[0] == "promptcache"
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    expected = 1 if any(command.startswith(start) for start in FOUND_SOMETHING) else 0
    assert done.returncode == expected, done.stderr
    assert done.stdout.strip()


def run_python(snippet: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", snippet]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize("snippet", [s for s in SNIPPETS if "OpenAI(" not in s])
def test_an_example_runs(snippet: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", snippet], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for claim in re.findall(r"print\(.*\)  # (\w+)", snippet):
        assert done.stdout.strip() == claim


@pytest.mark.model
def test_the_client_s_example_runs_against_the_gateway(served: Served) -> None:
    snippet = next(s for s in SNIPPETS if "OpenAI(" in s).replace("http://127.0.0.1:8400", served.url)
    done = subprocess.run(
        [sys.executable, "-c", snippet], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().isdigit()


@pytest.mark.model
@pytest.mark.slow
def test_make_serve_prints_all_a_user_needs(tmp_path: Path) -> None:
    port = free_port()
    log = tmp_path / "log"
    arguments = f"ARGS=--port {port} --data-dir {tmp_path}"
    venv = f"VENV={Path(sys.prefix)}"
    with log.open("wb") as sink:
        process = subprocess.Popen(
            ["make", "serve", arguments, venv, f"PYTHON={sys.executable}"],
            cwd=ROOT,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        wait_until_ready(f"http://127.0.0.1:{port}", process, log)
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(30)
    printed = log.read_text(encoding="utf-8")
    for needed in (f"http://127.0.0.1:{port}/v1", f"http://127.0.0.1:{port}/dashboard", "OpenAI(base_url="):
        assert needed in printed
