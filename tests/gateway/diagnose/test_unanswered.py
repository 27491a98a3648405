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


@pytest.mark.parametrize("ttft", [{}, {"ttft_ms": 1800.0}])
@pytest.mark.parametrize("untimed", [{0, 1, 2}, {1, 2}, {0, 2}, {1}])
def test_without_times_an_entry_may_have_expired(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], ttft: dict[str, float], untimed: set[int]
) -> None:
    """Of the request itself or of the one before it: neither the upstream is blamed nor a fan-out."""
    lines = [line(number, 60.0 * number, 0, **ttft) for number in range(3)]
    for number in untimed:
        del lines[number]["time"]
    total = found(tmp_path, capsys, *lines)
    assert codes(total) == {"PC801": 1}
    assert (total["lost_tokens"], total["achievable_hit_rate"]) == (0, 0.0)


def test_without_times_a_clock_in_the_prompt_is_still_the_callers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [line(number, 0.0, 0) for number in range(3)]
    for number, each in enumerate(lines):
        del each["time"]
        each["request"]["messages"][0]["content"] = f"It is 12:0{number}:17. " + RULES
    assert codes(found(tmp_path, capsys, *lines))["PC101"] == 2


def test_what_missed_is_called_the_upstream(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    total = found(tmp_path, capsys, line(0, 0, 0, ttft_ms=1.0), line(1, 60, 0, ttft_ms=1.0))
    missed = next(cause for cause in total["causes"] if cause["code"] == "PC809")
    assert (
        "60 s ago and should have been cached; the upstream did not read it" in missed["example"]["summary"]
    )


@pytest.mark.parametrize("read", [0, 6_000])
def test_what_a_transcript_does_not_explain_is_told_as_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], read: int
) -> None:
    """It leaves out the instructions and tools, which may have changed: nobody is blamed, and it is said."""
    log, page = tmp_path / "log.jsonl", tmp_path / "page.html"
    lines: list[dict[str, Any]] = []
    for number in range(5):
        cached = read if number == 3 else 9_000 + 900 * number
        usage = {"input_tokens": 4, "cache_read_input_tokens": cached}
        usage["cache_creation_input_tokens"] = 9_900 + 900 * number - cached
        answer = {"id": f"m{number}", "model": "claude-sonnet-4-5", "usage": usage}
        at = {"sessionId": "s", "timestamp": f"2026-11-29T12:0{number}:00Z"}
        lines += [
            {**at, "type": "user", "message": {"role": "user", "content": f"{number}: {RULES[:3_000]}"}},
            {
                **at,
                "type": "assistant",
                "message": {**answer, "content": [{"type": "text", "text": "Done."}]},
            },
        ]
    log.write_text("".join(json.dumps(each) + "\n" for each in lines))

    main([str(log), "--output-format", "json", "--html", str(page)])
    total = json.loads(capsys.readouterr().out)["total"]
    main([str(log)])
    said = capsys.readouterr().out

    assert total["causes"] == []
    assert total["unexplained"]["requests"] == 1
    assert total["unexplained"]["tokens"] > 4_000
    assert (total["unexplained"]["example"]["line"], total["lost_tokens"]) == (8, 0)
    assert total["hit_rate"] == total["achievable_hit_rate"]
    assert "The cause is unknown: 1 request, ~" in said
    assert "Nothing breaks its prefix" not in said
    assert "The cause is unknown" in page.read_text()
