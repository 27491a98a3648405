"""Followers start at the leader's first byte: not before, and not when its answer is whole."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from promptcache import Usage, awarm_then_fan_out, cost_usd, warm_then_fan_out

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

CASE = Path(__file__).parents[1] / "cases" / "B079"


def test_followers_start_at_the_first_byte() -> None:
    first, all_started = threading.Event(), threading.Event()
    started: list[int] = []

    def leader() -> Iterator[str]:
        assert not started
        first.set()
        yield "first"
        assert all_started.wait(5), "the followers waited for the whole answer"
        yield "last"

    def follower(number: int) -> Any:
        assert first.is_set()
        started.append(number)
        if len(started) == 3:
            all_started.set()
        return number

    calls = [lambda number=number: follower(number) for number in range(3)]
    assert warm_then_fan_out(leader, calls) == [["first", "last"], 0, 1, 2]


async def test_the_same_with_asynchronous_calls() -> None:
    all_started = asyncio.Event()
    started: list[int] = []

    async def leader() -> AsyncIterator[str]:
        async def events() -> AsyncIterator[str]:
            assert not started
            yield "first"
            await asyncio.wait_for(all_started.wait(), 5)
            yield "last"

        return events()

    async def follower(number: int) -> int:
        started.append(number)
        if len(started) == 3:
            all_started.set()
        return number

    calls = [lambda number=number: follower(number) for number in range(3)]
    assert await awarm_then_fan_out(leader, calls) == [["first", "last"], 0, 1, 2]


def test_a_whole_response_releases_when_it_comes() -> None:
    order: list[str] = []
    calls = [lambda: order.append("follower")]
    assert warm_then_fan_out(lambda: order.append("leader"), calls) == [None, None]
    assert order == ["leader", "follower"]
    assert warm_then_fan_out(lambda: iter(()), [lambda: 1]) == [[], 1]
    assert warm_then_fan_out(lambda: 5, []) == [5]


def fails(text: str = "no") -> Any:
    raise ValueError(text)


def breaks() -> Iterator[int]:
    yield 1
    raise ValueError("broke")


def test_when_the_leader_fails_the_next_one_leads() -> None:
    ran: list[int] = []
    calls = [fails, lambda: ran.append(2) or 2, lambda: ran.append(3) or 3]
    results = warm_then_fan_out(fails, calls, return_exceptions=True)
    assert [type(result) for result in results[:2]] == [ValueError, ValueError]
    assert results[2:] == [2, 3]
    assert ran == [2, 3]
    with pytest.raises(ValueError, match="no"):
        warm_then_fan_out(fails, [lambda: 1])
    broken = warm_then_fan_out(breaks, [lambda: 1, breaks], return_exceptions=True)
    assert [str(result) for result in broken] == ["broke", "1", "broke"]


async def test_when_an_asynchronous_leader_fails_the_next_one_leads() -> None:
    async def one() -> int:
        return 1

    async def no() -> int:
        raise ValueError("no")

    results = await awarm_then_fan_out(no, [no, one, one], return_exceptions=True)
    assert [str(result) for result in results] == ["no", "no", "1", "1"]
    with pytest.raises(ValueError, match="no"):
        await awarm_then_fan_out(no, [one])


class Provider:
    """A cache whose entry can be read from the first byte of the answer that wrote it."""

    def __init__(self, scenario: dict[str, Any], seconds: float) -> None:
        self.scenario = scenario
        self.seconds = seconds
        self.began = time.monotonic()
        self.written_at: float | None = None
        self.starts: list[float] = []

    async def answer(self) -> AsyncIterator[dict[str, Any]]:
        self.starts.append((time.monotonic() - self.began) / self.seconds)
        tokens, warm = self.scenario["prefix_tokens"], self.written_at is not None
        await asyncio.sleep(self.scenario["first_byte_after_s"] * self.seconds)
        self.written_at = time.monotonic()
        cached = {"cache_read_input_tokens": tokens if warm else 0}
        counts = {"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0 if warm else tokens}
        yield {"usage": counts | cached}
        rest = self.scenario["full_answer_after_s"] - self.scenario["first_byte_after_s"]
        await asyncio.sleep(rest * self.seconds)


async def test_b079_one_write_and_seven_reads() -> None:
    scenario = json.loads((CASE / "scenario.json").read_text(encoding="utf-8"))
    expected = json.loads((CASE / "expected.json").read_text(encoding="utf-8"))["expected"]
    provider = Provider(scenario, seconds=0.05)
    results = await awarm_then_fan_out(provider.answer, [provider.answer] * (scenario["requests"] - 1))
    usages = [Usage.from_stream(events) for events in results]
    assert sum(1 for usage in usages if usage.cache_write) == expected["writes"]
    assert sum(1 for usage in usages if usage.cache_read) == expected["reads"]
    costs = [cost_usd(usage, scenario["prices"]) for usage in usages]
    assert None not in costs
    assert sum(cost or 0 for cost in costs) == pytest.approx(expected["prefix_cost_usd"])
    assert None not in costs
    released = min(provider.starts[1:])
    assert expected["follower_release_at_s"] <= released < expected["not_at_s"] / 2
