"""Logs that hold counters and no prompt: what they prove is named, what they only show blames nobody."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from promptcache.counters import CounterRecord
from promptcache_gateway.diagnose import main
from promptcache_gateway.diagnose.formats import LogReader
from promptcache_gateway.diagnose.patterns import pattern_of
from promptcache_gateway.diagnose.rows import judge_row
from tests.gateway.observe.counted_traffic import COUNTED
from tests.gateway.observe.traffic import Author

Entry = dict[str, Any]
CASES = Path(__file__).parents[2] / "cases"
START = 1_795_953_600.0


@pytest.fixture(autouse=True)
def nobodys_prices(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PROMPTCACHE_PRICES", str(tmp_path / "none.json"))


def openai(size: int, read: int, number: int = 0, **labels: Any) -> Entry:
    usage = {"prompt_tokens": size, "prompt_tokens_details": {"cached_tokens": read}}
    return {"model": "gpt-4o", "time": START + 20 * number, "usage": usage, **labels}


def anthropic(uncached: int, read: int, write: int, number: int = 0, **labels: Any) -> Entry:
    usage = {
        "input_tokens": uncached,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": write,
    }
    return {"model": "claude-sonnet-4-5", "time": START + 20 * number, "usage": usage, **labels}


def diagnose(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], entries: list[Entry]
) -> tuple[int, dict[str, Any]]:
    log = tmp_path / "log.jsonl"
    log.write_text("\n".join(map(json.dumps, entries)))
    status = main([str(log), "--output-format", "json"])
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return status, told


def causes(told: dict[str, Any]) -> dict[str, int]:
    return {cause["code"]: cause["requests"] for cause in told["total"]["causes"]}


@pytest.mark.parametrize(
    ("log", "status", "wanted"),
    [
        ("B055/usage.jsonl", 1, {"PC502": 7}),
        ("B062/requests.jsonl", 1, {"PC610": 5}),
        ("B069/requests.jsonl", 0, {"PC804": 2, "PC801": 1}),
        ("B077/events.jsonl", 0, {"PC801": 1, "PC802": 1}),
        ("B098/records.jsonl", 0, {"PC810": 2}),
        ("B138/events.jsonl", 0, {"PC801": 1, "PC809": 1}),
    ],
)
def test_logs_of_the_cases(
    capsys: pytest.CaptureFixture[str], log: str, status: int, wanted: dict[str, int]
) -> None:
    assert main([str(CASES / log), "--output-format", "json"]) == status
    assert causes(json.loads(capsys.readouterr().out)) == wanted


def test_a_plateau_is_named_with_what_it_cost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entries = [openai(3_000 + 500 * number, 2_048, number, session_id="s") for number in range(8)]

    status, told = diagnose(tmp_path, capsys, entries)

    assert status == 1
    assert causes(told) == {"PC502": 7}
    assert told["formats"] == {"counters": 8}
    lost = sum((3_000 + 500 * number) // 128 * 128 - 2_048 for number in range(7))
    assert told["total"]["lost_tokens"] == lost
    assert told["total"]["lost_usd"] == pytest.approx(lost * 1.25 / 1e6)
    assert told["total"]["achievable_hit_rate"] is None
    assert "2048 tokens" in told["total"]["causes"][0]["example"]["summary"]


def test_questions_of_any_length_behind_one_head_are_no_plateau(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Some runs of them grow by chance; no message of theirs was changed."""
    dice = random.Random(7)
    for session in (None, "day"):
        entries = [
            openai(2_100 + dice.randrange(3_000), 2_048, number, session_id=session) for number in range(400)
        ]
        status, told = diagnose(tmp_path, capsys, entries)

        assert status == 0
        assert causes(told) == {}
        (pattern,) = told["patterns"]
        assert (pattern["pattern"], pattern["requests"]) == ("pinned", 400)


def test_a_breakpoint_that_stands_still_changed_no_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entries = [anthropic(500 + 800 * number, 4_000, 0, number, session_id="s") for number in range(9)]

    status, told = diagnose(tmp_path, capsys, entries)

    assert (status, causes(told)) == (0, {})
    (pattern,) = told["patterns"]
    assert {"PC602", "PC610"} <= set(pattern["possible"])


def test_written_each_time_and_never_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of what is new each time a hash tells; without one it may be as many accounts."""
    entries = [anthropic(20, 0, 5_000, number) for number in range(30)]
    status, told = diagnose(tmp_path, capsys, entries)
    assert (status, causes(told)) == (0, {"PC801": 1})
    (pattern,) = told["patterns"]
    assert (pattern["pattern"], pattern["requests"], pattern["tokens"]) == ("written_never_read", 30, 145_000)
    assert pattern["possible"] == ["PC601", "PC804"]

    hashed = [{**entry, "prefix_sha": f"{number:x}"} for number, entry in enumerate(entries)]
    status, told = diagnose(tmp_path, capsys, hashed)
    assert (status, causes(told)) == (1, {"PC601": 29, "PC801": 1})

    keys = [{**entry, "prefix_sha": "one", "cache_key": f"u{n}"} for n, entry in enumerate(entries)]
    assert causes(diagnose(tmp_path, capsys, keys)[1]) == {"PC607": 29, "PC801": 1}


def test_never_read_and_never_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entries = [{"request": {"model": "gpt-4o"}, **openai(5_000, 0, number)} for number in range(12)]
    _, told = diagnose(tmp_path, capsys, entries)
    assert [one["pattern"] for one in told["patterns"]] == ["never_read"]
    assert "PC602" not in told["patterns"][0]["possible"]

    short = [openai(400, 0, number) for number in range(12)]
    status, told = diagnose(tmp_path, capsys, short)
    assert (status, told["patterns"]) == (0, [])
    assert set(causes(told)) <= {"PC604", "PC801"}


def test_a_session_that_paused_or_changed_its_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entries = [
        openai(4_000, 0, 0, session_id="s"),
        openai(4_500, 3_968, 1, session_id="s"),
        {**openai(5_000, 0, 2, session_id="s"), "model": "gpt-4.1"},
        {**openai(5_500, 4_992, 3, session_id="s"), "model": "gpt-4.1"},
        {**openai(6_000, 0, 900, session_id="s"), "model": "gpt-4.1"},
    ]
    status, told = diagnose(tmp_path, capsys, entries)
    assert status == 1
    assert causes(told) == {"PC801": 1, "PC503": 1, "PC802": 1}

    apart = [{key: one for key, one in entry.items() if key != "session_id"} for entry in entries]
    assert set(causes(diagnose(tmp_path, capsys, apart)[1])) <= {"PC801"}


def test_rows_of_spending_without_messages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What LiteLLM keeps by default."""
    row = {"call_type": "acompletion", "model": "gpt-4o", "messages": {}, "response": {}}
    counted = [
        {**row, "startTime": f"2026-11-29 21:{number:02}:00", "metadata": {"usage_object": usage["usage"]}}
        for number, usage in enumerate(openai(5_000, 1_920 if number else 0) for number in range(30))
    ]
    status, told = diagnose(tmp_path, capsys, counted)
    assert (status, told["bad_lines"], told["formats"]) == (0, 0, {"litellm": 30})
    assert told["total"]["hit_rate"] == pytest.approx(29 * 1_920 / 150_000)
    assert told["patterns"][0]["pattern"] == "pinned"


def test_a_generation_without_its_input() -> None:
    entry = {
        "traceId": "t",
        "type": "GENERATION",
        "input": None,
        "sessionId": "s",
        "model": "gpt-4o",
        "usageDetails": {"input": 1_000, "input_cached_tokens": 3_000},
    }
    (found,) = LogReader().read(entry)
    assert found.counts is not None
    assert (found.counts.total_input, found.counts.read, found.session) == (4_000, 3_000, "s")


def test_counters_beside_prompts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello?"}]}
    entries: list[Entry] = [{**openai(1_500, 0), "request": body}, openai(1_500, 0, 1)]
    _, told = diagnose(tmp_path, capsys, entries)
    assert told["formats"] == {"plain": 1, "counters": 1}
    assert told["total"]["requests"] == 2


def test_long_logs_are_judged_in_stretches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entries = [openai(3_000 + 200 * number, 2_048, number, session_id="s") for number in range(1_300)]
    status, told = diagnose(tmp_path, capsys, entries)
    assert (status, told["total"]["requests"]) == (1, 1_300)
    assert causes(told) == {"PC502": 1_299}


def test_sessions_that_were_judged_before_their_end_do_not_begin_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("promptcache_gateway.diagnose.counted._MOST_LINES", 50)
    entries = [openai(2_000, 0, number, session_id=f"s{number % 40}") for number in range(200)]
    _, told = diagnose(tmp_path, capsys, entries)
    assert told["total"]["requests"] == 200
    assert causes(told)["PC801"] == 40


def test_the_report_says_what_may_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, page = tmp_path / "log.jsonl", tmp_path / "report.html"
    log.write_text("\n".join(json.dumps(openai(5_000, 0, number)) for number in range(12)))
    assert main([str(log), "--html", str(page)]) == 0
    shown = capsys.readouterr().out
    assert "No cause is proved" in shown
    assert "could have been" not in shown
    assert "No cause is proved" in page.read_text()


@pytest.mark.parametrize("make", COUNTED, ids=lambda make: make.__name__)
def test_what_traffic_shows_is_named_or_nothing_is(make: Any) -> None:
    for seed in range(20):
        counted = make(Author(seed))
        named = {one.cause for one in judge_row(counted.records)} - {None, "PC801"}
        assert named <= {counted.cause}
        assert named or counted.cause in {None, "PC502"}


def test_patterns_need_requests() -> None:
    few = [CounterRecord(total_input=9_000, read=0, write=9_000) for _ in range(4)]
    assert pattern_of(few, "m") is None
    shown = pattern_of(few * 2, "m")
    assert shown is not None
    assert (shown.kind, shown.template) == ("written_never_read", "m")


def test_sessions_of_one_request_each_are_no_conversations(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entries = [openai(8_000 + number, 0, number, session_id=f"s{number}") for number in range(20)]
    _, told = diagnose(tmp_path, capsys, entries)
    assert causes(told) == {"PC801": 1}
    assert [pattern["pattern"] for pattern in told["patterns"]] == ["never_read"]
