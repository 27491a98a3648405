"""Small files as people write them, faulty and clean, in Markdown under ``cases``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from promptcache_lint import Settings, lint_text

_CASE = re.compile(
    r"^## ([^\n]+)\n\n`([^`\n]+)` → ([^\n]+)\n\n````\w+\n(.*?)^````$", re.MULTILINE | re.DOTALL
)

CASES = [
    pytest.param(match[2], match[4], match[3], id=f"{path.stem}: {match[1]}")
    for path in sorted((Path(__file__).parent / "cases").glob("*.md"))
    for match in _CASE.finditer(path.read_text(encoding="utf-8"))
]


def test_all_cases_are_read():
    written = sum(
        path.read_text(encoding="utf-8").count("\n## ")
        for path in (Path(__file__).parent / "cases").glob("*.md")
    )
    assert len(CASES) == written >= 60


@pytest.mark.parametrize(("name", "text", "expected"), CASES)
def test_found_once_and_nothing_else(name, text, expected):
    wanted = set() if expected == "nothing" else set(expected.split(", "))
    report = lint_text(text, name, Settings())
    found = [
        (finding.code, {finding.place.row, *(step.row for step in finding.flow)})
        for finding in report.findings
    ]
    for entry in wanted:
        code, row = entry.split(":")
        matching = [rows for other, rows in found if other == code and int(row) in rows]
        assert len(matching) == 1, found
    assert {code for code, _ in found} == {entry.split(":")[0] for entry in wanted}
