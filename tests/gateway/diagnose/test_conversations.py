"""Side calls, lifetimes and sorted logs of counters: what belongs together is told, or nobody is blamed."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from promptcache.counters import CounterRecord
from promptcache_gateway.diagnose.conversations import explain_pairs, is_one_conversation
from tests.gateway.diagnose.test_counters import START, anthropic, causes, diagnose, openai

if TYPE_CHECKING:
    from pathlib import Path

Row = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def nobodys_prices(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PROMPTCACHE_PRICES", str(tmp_path / "none.json"))


def session(*turns: tuple[str, int, int]) -> Row:
    return [
        {**openai(size, read, number, session_id="s"), "model": model}
        for number, (model, size, read) in enumerate(turns)
    ]


SIDE_CALLS: list[Row] = [
    session(
        ("gpt-4o", 3000, 0),
        ("gpt-4o", 4000, 2944),
        ("gpt-4o-mini", 1100, 0),
        ("gpt-4o", 5000, 3968),
        ("gpt-4o", 6000, 4992),
        ("gpt-4o-mini", 1900, 0),
        ("gpt-4o", 7000, 5888),
    ),
    session(
        ("gpt-4o", 3000, 0),
        ("gpt-4o", 4000, 2944),
        ("gpt-4o-mini", 800, 0),
        ("gpt-4o", 5000, 3968),
        ("gpt-4o-mini", 1900, 0),
    ),
    session(("gpt-4o", 3000, 0), ("gpt-4o", 4000, 2944), ("gpt-4o-mini", 9000, 0), ("gpt-4o", 5000, 3968)),
    session(("gpt-4o", 3000, 0), ("gpt-4o", 4000, 2944), ("gpt-4o-mini", 5000, 0)),
    session(("gpt-4o-mini", 1500, 0), ("gpt-4o", 5000, 0), ("gpt-4o", 6000, 4992)),
    [
        {**anthropic(300, 0, 0, session_id="s"), "model": "claude-haiku-4-5"},
        *(anthropic(4, 14_000 if k else 0, 1_500 if k else 15_500, 1 + k, session_id="s") for k in range(4)),
    ],
]


@pytest.mark.parametrize("entries", SIDE_CALLS)
def test_side_calls_of_another_model_changed_no_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], entries: Row
) -> None:
    status, told = diagnose(tmp_path, capsys, entries)
    assert status == 0
    assert set(causes(told)) <= {"PC801", "PC604"}


def test_a_model_that_took_over_is_named_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entries = session(
        ("gpt-4o", 3000, 0),
        ("gpt-4o", 4000, 2944),
        ("gpt-4.1", 5000, 0),
        ("gpt-4.1", 6000, 4992),
    )
    status, told = diagnose(tmp_path, capsys, entries)
    assert (status, causes(told)) == (1, {"PC801": 1, "PC503": 1})


def test_a_pause_runs_from_the_last_request_of_the_same_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entries = [
        openai(3000, 0, 0, session_id="s"),
        {**openai(1200, 0, 200, session_id="s"), "model": "gpt-4o-mini"},
        openai(4000, 0, 201, session_id="s"),
    ]
    assert causes(diagnose(tmp_path, capsys, entries)[1]) == {"PC801": 1, "PC802": 1}


@pytest.mark.parametrize(("lives", "expired"), [("1h", 0), ("5m", 4)])
def test_the_lifetime_is_the_one_that_the_usage_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], lives: str, expired: int
) -> None:
    entries = []
    for number in range(5):
        entry = anthropic(4, 0, 20_000 + 300 * number, 30 * number, session_id="s")
        entry["usage"]["cache_creation"] = {
            f"ephemeral_{kept}_input_tokens": 20_000 + 300 * number if kept == lives else 0
            for kept in ("5m", "1h")
        }
        entries.append(entry)
    assert causes(diagnose(tmp_path, capsys, entries)[1]).get("PC802", 0) == expired


def test_an_entry_of_either_lifetime_blames_nobody() -> None:
    rows = [
        CounterRecord(start_s=0.0, ttl_s=first, identity="x", total_input=9_000, read=0, write=9_000)
        for first in (3_600.0, 300.0)
    ]
    for before in rows:
        for after in rows:
            again = CounterRecord(
                start_s=600.0, ttl_s=after.ttl_s, identity="x", total_input=9_000, read=0, write=9_000
            )
            (_, code) = explain_pairs([before, again], named=False)[1]
            wanted = {(3_600.0, 3_600.0): "PC809", (300.0, 300.0): "PC802"}
            assert code == wanted.get((before.ttl_s or 0, after.ttl_s or 0))


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_requests_sorted_by_their_length_are_no_conversation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], seed: int | None
) -> None:
    dice = random.Random(seed)
    sizes = [2_300 + 37 * number for number in range(40)]
    if seed is not None:
        sizes = sorted(dice.randrange(2_300, 6_000) for _ in range(40))
    entries = [openai(size, 2_176 if number else 0, number) for number, size in enumerate(sizes)]
    status, told = diagnose(tmp_path, capsys, entries)
    assert (status, causes(told)) == (0, {"PC801": 1})
    assert [one["pattern"] for one in told["patterns"]] == ["pinned"]


def test_one_that_read_all_of_the_one_before_shows_a_conversation() -> None:
    pinned = [CounterRecord(total_input=3_000 + 400 * n, read=2_048, step=128) for n in range(8)]
    whole = CounterRecord(total_input=6_400, read=5_760, step=128)
    assert not is_one_conversation(pinned, 8, 2_048, named=False)
    assert is_one_conversation(pinned, 8, 2_048, named=True)
    head = CounterRecord(total_input=2_100, read=0, step=128)
    assert not is_one_conversation([head, *pinned], 8, 2_048, named=False)
    assert is_one_conversation([*pinned, whole], 8, 2_048, named=False)


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": -500, "cached_tokens": 0},
        {"usage": {"prompt_tokens": -500, "prompt_tokens_details": {"cached_tokens": 0}}},
        {"usage": {"input_tokens": 5, "cache_read_input_tokens": -9, "cache_creation_input_tokens": 0}},
        {"usage": {"input_tokens": -5, "cache_read_input_tokens": 9, "cache_creation_input_tokens": 0}},
    ],
)
def test_negative_counts_are_told_and_not_added(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], usage: dict[str, Any]
) -> None:
    entries = [{"model": "gpt-4o", "time": START, **usage}, openai(3_000, 2_048, 1)]
    _, told = diagnose(tmp_path, capsys, entries)
    assert (told["total"]["requests"], told["total"]["prompt_tokens"]) == (1, 3_000)
    assert told["bad"] == [{"line": 1, "problem": "a count of tokens is negative; its usage is not believed"}]


@pytest.mark.parametrize("tokens", [2_000, 2_000.0])
def test_whole_numbers_are_counts_however_a_table_writes_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], tokens: float
) -> None:
    usage = {"prompt_tokens": tokens, "prompt_tokens_details": {"cached_tokens": tokens / 2}}
    flat = {"prompt_tokens": tokens, "cached_tokens": tokens / 2}
    entries = [{"model": "gpt-4o", "time": START, **one} for one in ({"usage": usage}, flat)]
    _, told = diagnose(tmp_path, capsys, entries)
    assert (told["total"]["prompt_tokens"], told["total"]["cached_tokens"]) == (4_000, 2_000)


def test_absurd_counts_are_not_added(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    usage = {"prompt_tokens": 9 * 10**18, "prompt_tokens_details": {"cached_tokens": 9 * 10**18}}
    _, told = diagnose(tmp_path, capsys, [{"model": "gpt-4o", "usage": usage}, openai(3_000, 2_048, 1)])
    assert told["total"]["prompt_tokens"] == 3_000
    assert "beyond any prompt's" in told["bad"][0]["problem"]


TITLES = (("gpt-4o-mini", 300, 0), ("gpt-4o-mini", 5_000, 0), ("gpt-4o", 900, 0), ("gpt-4o", 1_024, 1_024))


@pytest.mark.parametrize("title", TITLES)
def test_side_calls_hide_no_history_that_is_rewritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], title: tuple[str, int, int]
) -> None:
    turns = [("gpt-4o", 2_000 + 700 * number, 1_024) for number in range(8)]
    row = session(*(call for turn in turns for call in (turn, title)))

    _, told = diagnose(tmp_path, capsys, row)

    assert causes(told)["PC502"] == 7
    # All but the last tokens of each turn before, to the step, less what was read.
    assert told["total"]["lost_tokens"] == sum(size // 128 * 128 - 1_024 for _, size, _ in turns[:-1])


@pytest.mark.parametrize("title", TITLES)
def test_side_calls_between_turns_that_read_what_came_before_prove_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], title: tuple[str, int, int]
) -> None:
    turns = [("gpt-4o", 2_000 + 700 * number, (1_300 + 700 * number) // 128 * 128) for number in range(8)]
    row = session(*(call for turn in turns for call in (turn, title)))

    _, told = diagnose(tmp_path, capsys, row)

    assert "PC502" not in causes(told)


def test_requests_without_a_session_may_be_several_conversations(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = session(*(("gpt-4o", 2_000 + 700 * number, 1_024) for number in range(8)), ("gpt-4o", 900, 0))
    unnamed = [{key: value for key, value in line.items() if key != "session_id"} for line in row]

    assert "PC502" not in causes(diagnose(tmp_path, capsys, unnamed)[1])
