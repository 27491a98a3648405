"""``promptcache check``: words and JSON, exit codes, and one clear line on bad input."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from promptcache.cli.check import main

if TYPE_CHECKING:
    from pathlib import Path

CLEAN = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
MARKED = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}


def written(folder: Path, body: Any) -> str:
    path = folder / "request.json"
    path.write_text(body if isinstance(body, str) else json.dumps(body), encoding="utf-8")
    return str(path)


def test_a_clean_request_exits_zero(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([written(tmp_path, CLEAN)]) == 0
    assert "will accept" in capsys.readouterr().out


def test_findings_exit_one_and_name_the_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([written(tmp_path, {**CLEAN, "system": [MARKED] * 5})]) == 1
    out = capsys.readouterr().out
    assert "will refuse" in out
    assert "PC603 error at system[4]" in out


def test_json_is_one_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([written(tmp_path, {**CLEAN, "system": [MARKED] * 5}), "--output-format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["cause"] == "PC603"


def test_another_model_can_be_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, {**CLEAN, "system": [MARKED]})
    assert main([path, "--model", "claude-opus-5"]) == 0  # below the minimum is for information
    assert "PC604" in capsys.readouterr().out


@pytest.mark.parametrize("body", ["{", "[]", {"messages": 5}, "\ud800".encode("utf-8", "replace").decode()])
def test_bad_input_is_one_line_and_exits_two(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], body: Any
) -> None:
    assert main([written(tmp_path, body)]) == 2
    err = capsys.readouterr().err
    assert err.startswith("promptcache check: ")
    assert err.count("\n") == 1


def test_a_missing_file_exits_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "none.json")]) == 2
    assert "none.json" in capsys.readouterr().err


def test_a_malformed_request_names_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "r.json"
    path.write_text('{"messages": 5}')
    assert main([str(path)]) == 2
    assert f"{path}: not a request (messages" in capsys.readouterr().err


def test_a_lone_surrogate_is_shown_as_its_escape(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "r.json"
    mark = {"type": "ephemeral", "ttl": "\ud800"}
    system = [{"type": "text", "text": "x", "cache_control": mark}]
    path.write_text(json.dumps({"model": "m", "system": system, "messages": []}))
    for output_format in ("text", "json"):
        assert main([str(path), "--output-format", output_format]) == 1
        assert "\\ud800" in capsys.readouterr().out
