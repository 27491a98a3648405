"""What the linter's tests share: lint a snippet, name what was found by code and row."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from promptcache_lint import Settings, Severity, lint_paths, lint_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def _codes(
    text: str, name: str = "prompt.py", severity: Severity = Severity.WARNING
) -> list[tuple[str, int]]:
    report = lint_text(dedent(text).lstrip("\n"), name, Settings(severity=severity))
    return [(finding.code, finding.place.row) for finding in report.findings]


@pytest.fixture
def codes() -> Callable[..., list[tuple[str, int]]]:
    """``codes(text, name)``: (code, row) of the findings in a text."""
    return _codes


@pytest.fixture
def tree_codes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[tuple[str, str, int]]]:
    """``tree_codes(files)``: (path, code, row) of the findings in a folder of files."""

    def lint(files: dict[str, str], severity: Severity = Severity.WARNING) -> list[tuple[str, str, int]]:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text).lstrip("\n"), encoding="utf-8")
        monkeypatch.chdir(tmp_path)
        report = lint_paths(["."], Settings(severity=severity))
        return [(finding.place.path, finding.code, finding.place.row) for finding in report.findings]

    return lint
