"""`promptcache rule` explains causes to people and to programs."""

from __future__ import annotations

import json
import sys

import pytest

from promptcache.causes import CAUSES, FAMILIES
from promptcache.cli.rule import explain, main
from promptcache.cli.style import Style


def test_lists_every_cause_under_its_family(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    out = capsys.readouterr().out
    assert all(f"  {code}  {cause.title}" in out for code, cause in CAUSES.items())
    assert all(f"{prefix}  {title}" in out for prefix, title in FAMILIES.items())
    assert "\x1b" not in out


def test_lists_one_family(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pc7"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["PC7", "PC701", "PC702"]


@pytest.mark.parametrize("code", CAUSES)
def test_explains_each(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([code]) == 0
    words = capsys.readouterr().out.split()
    cause = CAUSES[code]
    assert words[:2] == [code, cause.name]
    assert " ".join(cause.remedy.split()) in " ".join(words)


def test_what_the_linter_knows_follows_with_a_bad_and_a_good_example(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["PC101"]) == 0
    lines = capsys.readouterr().out.splitlines()
    places = [lines.index(heading) for heading in ("Instead", "What it does", "Example", "Use instead")]
    assert places == sorted(places)
    assert any("datetime.now()" in line for line in lines[places[2] : places[3]])


def test_a_cause_seen_only_in_traffic_has_no_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["PC801"]) == 0
    assert "Example" not in capsys.readouterr().out


def test_an_unknown_code_is_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["PC999"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("promptcache rule: There is no cause 'PC999'.")


def test_json_holds_every_field(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["PC101", "--output-format", "json"]) == 0
    (cause,) = json.loads(capsys.readouterr().out)
    assert set(cause) == {"code", "name", "title", "explanation", "remedy"}
    assert cause["code"] == "PC101"


class Terminal:
    def isatty(self) -> bool:
        return True


def test_colour_only_on_a_terminal_that_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert Style.for_stream(Terminal()).enabled  # type: ignore[arg-type]
    assert "\x1b[" in explain(CAUSES["PC101"], Style(enabled=True))
    monkeypatch.setenv("NO_COLOR", "1")
    assert not Style.for_stream(Terminal()).enabled  # type: ignore[arg-type]
    assert not Style.for_stream(sys.__stdout__).enabled  # type: ignore[arg-type]
