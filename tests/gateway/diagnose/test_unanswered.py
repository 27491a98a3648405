"""Requests that were sent before an earlier one was answered, and requests that were not answered at all."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from promptcache_gateway.diagnose import main
from tests.gateway.observe.scenes import chat, rules_text

if TYPE_CHECKING:
    from pathlib import Path

RULES = rules_text()
START = 1_795_953_600.0
TOKENS = 2_400


def line(number: int, after_s: float, cached: int, **more: object) -> dict[str, Any]:
    usage = {"prompt_tokens": TOKENS, "prompt_tokens_details": {"cached_tokens": cached}}
    body = chat(RULES, f"Question {number}?", model="gpt-4o")
    return {"time": START + after_s, "request": body, "usage": usage, **more}


def found(tmp_path: Path, capsys: pytest.CaptureFixture[str], *lines: dict[str, Any]) -> dict[str, Any]:
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(each) + "\n" for each in lines))
    main([str(log), "--output-format", "json"])
    told: dict[str, Any] = json.loads(capsys.readouterr().out)["total"]
    return told


def codes(total: dict[str, Any]) -> dict[str, int]:
    return {cause["code"]: cause["requests"] for cause in total["causes"]}


@pytest.fixture(autouse=True)
def nobodys_prices(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PROMPTCACHE_PRICES", str(tmp_path / "none.json"))


@pytest.mark.parametrize(
    ("gap_s", "ttft", "expected"),
    [
        (0.05, {"ttft_ms": 1800.0}, {"PC801": 1, "PC608": 4}),
        (0.05, {}, {"PC801": 1}),  # not known: nobody is blamed
        (30.0, {"ttft_ms": 1800.0}, {"PC801": 1, "PC809": 4}),
        (30.0, {}, {"PC801": 1, "PC809": 4}),
    ],
)
def test_a_fan_out_is_no_fault_of_the_upstream(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    gap_s: float,
    ttft: dict[str, float],
    expected: dict[str, int],
) -> None:
    lines = [line(number, gap_s * number, 0, **ttft) for number in range(5)]
    assert codes(found(tmp_path, capsys, *lines)) == expected


def test_a_failed_request_left_nothing_to_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused = line(1, 0, 0, status=429)
    del refused["usage"]
    total = found(tmp_path, capsys, refused, line(1, 20, 0), line(2, 40, 2_304))
    assert codes(total) == {"PC801": 1}
    assert total["prompt_tokens"] == 2 * TOKENS
