"""Requests come out in the order in which they were sent, whatever the order of the log."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptcache_gateway.diagnose import main
from promptcache_gateway.diagnose.exchange import LoggedExchange
from promptcache_gateway.diagnose.ordering import Placed, TimeOrder
from tests.gateway.observe.scenes import Provider, chat, rules_text

if TYPE_CHECKING:
    from pathlib import Path

RULES = rules_text()
TIMES = st.lists(st.none() | st.integers(1, 50), max_size=60)


def placed(times: list[float | None], most: int) -> list[tuple[int, float | None, str]]:
    order = TimeOrder(most=most)
    found: list[Placed] = []
    for number, time in enumerate(times):
        found += order.add(number, LoggedExchange({}, time=time), 10)
    found += order.rest()
    return [(one.line, one.exchange.time, one.place) for one in found]


@given(TIMES, st.integers(1, 70))
def test_every_request_comes_out_once_and_none_before_an_earlier_one_unmarked(
    times: list[int | None], most: int
) -> None:
    found = placed(list(times), most)
    assert sorted(line for line, _, _ in found) == list(range(len(times)))
    latest = float("-inf")
    for _, time, place in found:
        if place == "anew":
            latest = float("-inf")
        if time is not None:
            assert place == "late" or time >= latest
            latest = max(latest, time)


def test_a_log_without_times_stays_as_it_is() -> None:
    assert placed([None] * 9, 4) == [(number, None, "next") for number in range(9)]


def test_what_stands_behind_a_request_without_a_time_stays_behind_it() -> None:
    assert [line for line, _, _ in placed([5, None, 3, None, 4], 100)] == [2, 3, 4, 0, 1]


def test_a_straggler_is_late() -> None:
    found = placed([10, 11, 12, 13, 14, 15, 16, 1], 4)
    assert [line for line, _, place in found if place == "late"] == [7]


def test_newest_first_comes_in_stretches_each_in_order() -> None:
    found = placed([*range(20, 0, -1)], 8)
    assert [time for _, time, _ in found] == [*range(13, 21), *range(5, 13), *range(1, 5)]
    assert [time for _, time, place in found if place == "anew"] == [13, 5, 1]


def test_bytes_bound_what_is_gathered() -> None:
    order = TimeOrder(most=100, most_bytes=1000)
    taken = [len(list(order.add(0, LoggedExchange({}, time=n), 300))) for n in range(8)]
    assert sum(taken[:3]) == 0
    assert 0 < sum(taken) < 8


def log(path: Path, order: str) -> str:
    """Six turns of a chat in which nothing is wrong, and its provider's counts."""
    provider, turns, lines = Provider(), [], []
    for number in range(6):
        turns.append(f"Question {number}: where is parcel {number * 7919}, and what of the one before it?")
        body, now = chat(RULES, *turns, model="gpt-4o"), 1_795_953_600.0 + 20 * number
        counted = provider.serve(body, now)
        usage = {
            "prompt_tokens": counted.total_input,
            "prompt_tokens_details": {"cached_tokens": counted.cache_read},
        }
        lines.append({"time": now, "request": body, "usage": usage})
        turns.append(f"It is on its way, and will be there within {number + 2} days.")
    if order == "newest first":
        lines.reverse()
    elif order == "as answers ended":
        random.Random(5).shuffle(lines)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


@pytest.mark.parametrize("order", ["as sent", "newest first", "as answers ended"])
def test_the_order_of_the_log_is_no_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], order: str
) -> None:
    status = main([log(tmp_path / "log.jsonl", order), "--output-format", "json"])
    shown = json.loads(capsys.readouterr().out)
    assert status == 0, shown
    causes = [cause["code"] for template in shown["templates"] for cause in template["causes"]]
    assert causes == ["PC801"]
