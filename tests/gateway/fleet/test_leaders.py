"""Cold prefixes that come together: one goes ahead, the others wait for its first output, not for ever."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from promptcache_gateway.fleet.leaders import Leaders
from promptcache_gateway.fleet.prefix import Prefix
from tests.gateway.fleet.servers import fleet_of, replicas, request, served_fleet, view
from tests.gateway.mock_upstream import wait_until

if TYPE_CHECKING:
    from promptcache_gateway.fleet.leaders import Lead

CASE = Path(__file__).parents[2] / "cases" / "B079"
COLD = "Answer from the handbook, chapter by chapter. " * 400


def prompt(*own: int, cold: int = 20) -> Prefix:
    """Prompts that begin with the same 128 tokens ``cold`` times, and go on differently."""
    keys = (*range(cold), *(1000 + one for one in own))
    return Prefix(keys=keys, key_tokens=128.0, tokens=len(keys) * 128.0)


async def follow(leaders: Leaders, prefix: Prefix, longest_s: float = 5.0) -> Lead:
    await leaders.wait(prefix, longest_s)
    return leaders.lead(prefix, warm=0)


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_followers_go_at_the_first_output_all_together() -> None:
    leaders = Leaders(1024)
    lead = await follow(leaders, prompt(1))
    tasks = [asyncio.create_task(leaders.wait(prompt(number), 5.0)) for number in range(2, 9)]
    await settled()
    assert not any(task.done() for task in tasks)
    lead.done()
    await settled()
    assert all(task.done() for task in tasks)
    assert (leaders.held, leaders.lost_patience) == (7, 0)


async def test_where_the_leader_fails_one_follower_takes_its_place() -> None:
    leaders = Leaders(1024)
    first = await follow(leaders, prompt(1))
    tasks = [asyncio.create_task(follow(leaders, prompt(number))) for number in (2, 3)]
    await settled()
    first.done()  # it failed: what it had is nowhere, so that the next one leads anew
    await settled()
    assert [task.done() for task in tasks] == [True, False]
    tasks[0].result().done()
    await settled()
    assert tasks[1].done()


async def test_patience_has_an_end() -> None:
    leaders = Leaders(1024)
    await follow(leaders, prompt(1))
    await leaders.wait(prompt(2), 0.01)
    assert (leaders.held, leaders.lost_patience) == (1, 1)


@pytest.mark.parametrize(
    ("other", "longest_s"),
    [
        (prompt(2, cold=7), 5.0),  # shares 896 tokens, fewer than are worth waiting for
        (Prefix(keys=(77, 78), key_tokens=4096.0, tokens=8192.0), 5.0),  # shares nothing
        (Prefix(), 5.0),
        (prompt(2), 0.0),  # waiting is switched off
    ],
)
async def test_who_shares_too_little_does_not_wait(other: Prefix, longest_s: float) -> None:
    leaders = Leaders(1024)
    await follow(leaders, prompt(1))
    await leaders.wait(other, longest_s)
    assert leaders.held == 0


async def test_what_is_warm_is_nobody_s_to_lead() -> None:
    leaders = Leaders(1024)
    leaders.lead(prompt(1), warm=20 * 128.0)
    await leaders.wait(prompt(2), 5.0)
    assert leaders.held == 0


async def test_nothing_is_left_of_leaders_that_are_done() -> None:
    leaders = Leaders(1024)
    for number in range(50):
        lead = await follow(leaders, prompt(number))
        lead.done()
        lead.done()
    assert leaders._led == {}


def test_eight_requests_with_a_cold_prefix_write_it_once(tmp_path: Path) -> None:
    """Case B079: one write and seven reads, released by the first byte and not by the whole answer."""
    scenario = json.loads((CASE / "scenario.json").read_text())
    expected = json.loads((CASE / "expected.json").read_text())["expected"]
    with replicas(1) as (server,):
        server.hold()
        with (
            served_fleet(fleet_of([server], hold_s=30.0), tmp_path) as gateway,
            ThreadPoolExecutor(scenario["requests"]) as pool,
        ):
            sent = [
                pool.submit(gateway.post, request(f"part {number}", system=COLD, stream=True))
                for number in range(scenario["requests"])
            ]
            wait_until(lambda: view(gateway)["held"] == expected["reads"], 20)
            assert len(server.prompts) == expected["writes"]
            server.release()
            assert {one.result(20).status_code for one in sent} == {200}
    assert sum(tokens == 0 for tokens in server.cached) == expected["writes"]
    assert sum(tokens >= scenario["prefix_tokens"] for tokens in server.cached) == expected["reads"]


def test_behind_an_answer_that_is_not_streamed_nobody_waits_for_its_end(tmp_path: Path) -> None:
    """Its first output cannot be seen; the others go when it must have come."""
    with replicas(3) as servers:
        for one in servers:
            one.hold()
        with (
            served_fleet(fleet_of(servers, hold_s=30.0), tmp_path) as gateway,
            ThreadPoolExecutor(4) as pool,
        ):
            sent = [pool.submit(gateway.post, request(f"part {number}", system=COLD)) for number in range(4)]
            wait_until(lambda: sum(len(one.prompts) for one in servers) == 4, 20)
            assert view(gateway)["hold_timeouts"] == 0
            for one in servers:
                one.release()
            assert {one.result(20).status_code for one in sent} == {200}


def test_a_leader_that_is_slow_holds_nobody_longer_than_is_allowed(tmp_path: Path) -> None:
    with replicas(1) as (server,):
        server.hold()
        with (
            served_fleet(fleet_of([server], hold_s=0.2), tmp_path) as gateway,
            ThreadPoolExecutor(3) as pool,
        ):
            sent = [
                pool.submit(gateway.post, request(f"part {number}", system=COLD, stream=True))
                for number in range(3)
            ]
            wait_until(lambda: len(server.prompts) == 3, 20)
            assert view(gateway)["hold_timeouts"] == 2
            server.release()
            assert {one.result(20).status_code for one in sent} == {200}
