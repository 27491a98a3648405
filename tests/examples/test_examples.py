"""Every numbered example runs as it stands, in a process of its own, offline."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("[0-9]*.py"))


def test_there_are_examples() -> None:
    assert EXAMPLES


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_runs(example: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(example)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
        check=False,
        env={**os.environ, "NO_PROXY": "*"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_is_short_and_uses_public_names_only(example: Path) -> None:
    text = example.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 60
    tree = ast.parse(text)
    assert ast.get_docstring(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("promptcache"):
            names = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
            assert not any(name.startswith("_") for name in names)


def test_the_conversation_reuses_all_of_each_request() -> None:
    example = next(path for path in EXAMPLES if path.stem == "01_conversation")
    done = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, check=True)
    assert done.stdout.count("begins with all") == 2
