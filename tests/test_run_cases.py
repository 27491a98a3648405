"""The case runner: the copied cases pass, and the judge fails what it must fail."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.run_cases.__main__ import main
from tests.run_cases.case import find_cases
from tests.run_cases.judge import judge
from tests.run_cases.kinds import code_of
from tests.run_cases.runner import run

CASES = Path(__file__).parent / "cases"


@pytest.mark.parametrize("judged", find_cases([CASES]), ids=lambda judged: judged.id)
def test_the_reported_cases_have_the_right_answer(judged: Any) -> None:
    result = run(judged)
    assert result.error is None
    assert [mismatch.to_dict() for mismatch in result.mismatches] == []


def written(folder: Path, check: str, expected: dict[str, Any], **inputs: Any) -> Path:
    """A case folder made on the spot."""
    case = folder / "X001"
    case.mkdir()
    for name, value in inputs.items():
        (case / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")
    record = {"id": "X001", "layer": "sdk", "check": check, "inputs": [f"{n}.json" for n in inputs]}
    (case / "expected.json").write_text(json.dumps({**record, "expected": expected}), encoding="utf-8")
    return case


USAGE = {"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 40}}


def test_json_is_one_object_with_every_mismatch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path, "accounting", {"total_input": 100, "uncached": 61, "note": "not judged"}, usage=USAGE)
    assert main([str(tmp_path), "--json"]) == 1
    summary = json.loads(capsys.readouterr().out)
    assert (summary["passed"], summary["failed"], summary["skipped"]) == (0, 1, 0)
    (case,) = summary["cases"]
    assert case["mismatches"] == [{"key": "uncached", "expected": 61, "actual": 60}]
    assert (case["id"], case["check"], case["layer"], case["passed"]) == ("X001", "accounting", "sdk", False)
    assert (case["error"], case["actual"]["total_input"]) == (None, 100)


def test_text_is_a_line_a_case_and_a_sum(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(written(tmp_path, "accounting", {"uncached": 60}, usage=USAGE))]) == 0
    assert capsys.readouterr().out.splitlines() == ["pass  X001  accounting", "1 passed, 0 failed"]


def test_a_check_without_an_adapter_fails_and_an_exempt_one_is_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, (check, code) in enumerate((("no_such_check", 1), ("routing", 0))):
        folder = tmp_path / str(number)
        folder.mkdir()
        written(folder, check, {"x": 1}, scenario={})
        assert main([str(folder)]) == code
    out = capsys.readouterr().out
    assert "FAIL  X001  no_such_check: no adapter" in out
    assert "skip  X001  routing" in out


def test_a_crash_in_the_product_is_the_cases_error(tmp_path: Path) -> None:
    (judged,) = find_cases([written(tmp_path, "request_check", {"valid": True}, request={"messages": 5})])
    result = run(judged)
    assert not result.passed
    assert result.error is not None
    assert "MalformedRequestError" in result.error


@pytest.mark.parametrize("folder", ["missing", ""])
def test_bad_folders_exit_two(tmp_path: Path, folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / folder)]) == 2
    assert capsys.readouterr().err.startswith("run_cases: ")


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("dyn.time", "PC101"),
        ("cache_key.broad", "PC607"),
        ("route.replica", "PC804"),
        ("engine.identity_mm", "PC808"),
        ("template.position", "PC508"),
        ("acct.double", None),
        ("engine.leak", None),
    ],
)
def test_kinds_become_codes(kind: str, code: str | None) -> None:
    assert code_of(kind) == code


# --- the judge fails what it must ---------------------------------------------------------------------------


def keys(check: str, expected: dict[str, Any], actual: dict[str, Any]) -> list[str]:
    return [mismatch.key for mismatch in judge(check, expected, actual)]


def test_one_expected_cause_must_come_first() -> None:
    expected = {"cause": "dyn.time"}
    assert keys("request_diff", expected, {"cause": "PC101", "causes": ["PC101", "PC601"]}) == []
    assert keys("request_diff", expected, {"cause": "PC601", "causes": ["PC601", "PC101"]}) == ["cause"]
    assert keys("request_diff", expected, {"cause": None, "causes": []}) == ["cause"]
    assert keys("request_diff", {"cause": ["dyn.time", "dyn.id"]}, {"causes": ["PC102", "PC101"]}) == []
    assert keys("request_diff", {"cause": ["dyn.time", "dyn.id"]}, {"causes": ["PC101"]}) == ["cause"]
    assert keys("usage_check", {"cause": None}, {"cause": "PC604"}) == ["cause"]
    assert keys("usage_check", {"cause": None}, {"cause": None}) == []


def test_null_zero_false_and_absent_all_differ() -> None:
    for expected, actual in ((0, None), (None, 0), (False, 0), (0, False), (True, 1), (0, "0")):
        assert keys("accounting", {"cache_read": expected}, {"cache_read": actual}) == ["cache_read"]
    assert keys("accounting", {"cache_read": 0}, {}) == ["cache_read"]
    assert keys("accounting", {"hit_rate": 0.5}, {"hit_rate": 0.5000005}) == []
    assert keys("accounting", {"hit_rate": 0.5}, {"hit_rate": 0.50001}) == ["hit_rate"]


def test_parts_of_a_divergence_are_judged_one_by_one() -> None:
    expected = {"divergence": {"path": "a", "char_offset": 1, "reason": "prose"}}
    assert keys("request_diff", expected, {"divergence": {"path": "a", "char_offset": 2}}) == [
        "divergence.char_offset"
    ]


def test_lists_must_have_the_same_length() -> None:
    assert keys("miss_reason", {"reasons": ["hit"]}, {"reasons": ["hit", "hit"]}) == ["reasons"]


def test_engine_keys_are_judged_by_their_beginning() -> None:
    expected = {"cached_tokens_if_spliced": 16, "note": "x"}
    assert keys("engine", expected, {"cached_tokens_if_spliced": 12}) == ["cached_tokens_if_spliced"]
    assert keys("engine", {"cached_tokens": {"r1": 0, "r2": 4}}, {"cached_tokens": {"r1": 0}}) == [
        "cached_tokens"
    ]


FAULT = {"file": "a.py", "line": 7, "cause": "dyn.time", "fragment": "now()"}


def found(line: int, **fields: Any) -> dict[str, Any]:
    base = {"file": "a.py", "line": line, "source_line": None, "flow_lines": [], "cause": "PC101"}
    return {**base, "severity": "error", **fields}


@pytest.mark.parametrize(
    ("findings", "passes"),
    [
        ([found(7)], True),
        ([found(9, source_line=7)], True),
        ([found(9, flow_lines=[8, 7])], True),
        ([found(8)], False),
        ([found(7, cause="PC102")], False),
        ([found(7, file="b.py")], False),
        ([found(7), found(8, source_line=7)], False),  # one fault, one finding
        ([found(7, severity="info")], False),
        ([], False),
    ],
)
def test_a_lint_fault_is_reported_once(findings: list[dict[str, Any]], passes: bool) -> None:
    assert (keys("lint", {"findings": [FAULT]}, {"findings": findings}) == []) is passes


def test_quiet_files_have_neither_errors_nor_warnings() -> None:
    expected = {"findings": [], "no_findings_in": ["a.py"]}
    assert keys("lint", expected, {"findings": [found(1, severity="warning")]}) == ["no_findings_in[a.py]"]
    assert keys("lint", expected, {"findings": [found(1, severity="info"), found(1, file="b.py")]}) == []
