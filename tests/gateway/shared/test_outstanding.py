"""What workers were charged in advance is settled or given back, and no more than it, whoever dies."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptcache_gateway.errors import ApiError
from promptcache_gateway.shared import through_parent
from promptcache_gateway.shared.base import Take
from promptcache_gateway.shared.buckets import Buckets
from promptcache_gateway.shared.link import Link
from promptcache_gateway.shared.observer import PeerObserver
from promptcache_gateway.shared.outstanding import Outstanding
from promptcache_gateway.shared.through_parent import ThroughParent
from promptcache_gateway.tenancy import Limits, TenantLimits
from tests.gateway.shared.test_peers import Household, until

if TYPE_CHECKING:
    from pathlib import Path

    from promptcache_gateway.shared.frames import Channel

SIZE = 1_000
LIMITS = {"t": TenantLimits(tokens_per_minute=SIZE)}


def take(amount: float, advanced: float = 0.0) -> Take:
    return Take("tokens", SIZE, 0.0, amount, advanced)


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("advance"), st.integers(0, 2), st.integers(0, 2_000)),
            st.tuples(st.just("settle"), st.integers(0, 2), st.integers(0, 2_000)),
            st.tuples(st.just("leave"), st.integers(0, 2), st.just(0)),
        )
    )
)
def test_what_is_left_is_what_was_not_used(steps: list[tuple[str, int, int]]) -> None:
    outstanding = Outstanding(Buckets(lambda: 0.0))
    advances: dict[int, list[int]] = {0: [], 1: [], 2: []}
    used = 0
    for step, worker, tokens in steps:
        if step == "advance":
            advances[worker].append(tokens)
            outstanding.take(worker, [take(tokens, tokens)])
        elif step == "leave":
            advances[worker].clear()
            outstanding.leave(worker)
        else:  # what was never charged in advance is none of the parent's
            advanced = advances[worker].pop() if advances[worker] else 700
            used += tokens
            outstanding.take(worker, [take(tokens - advanced, -advanced)])
        charged = sum(map(sum, advances.values()))
        taken = outstanding.take("asks", [take(0)])
        assert taken.advanced == (charged,)
        assert taken.left == (SIZE - used - charged,)


def test_what_is_refused_is_no_advance() -> None:
    outstanding = Outstanding(Buckets(lambda: 0.0))
    outstanding.take("one", [take(SIZE + 1)])
    refused = outstanding.take("one", [Take("tokens", SIZE, 1.0, 50, 50)])
    assert (refused.granted, refused.left, refused.advanced) == (False, (-1.0,), (0.0,))
    outstanding.leave("one")
    assert outstanding.take("other", [take(0)]).left == (-1.0,)


class Worker:
    """A worker's limits, which its parent keeps."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        link = Link(channel, PeerObserver(tell=channel.send))
        self.limits = Limits(LIMITS)
        self.limits.common = self.common = ThroughParent(channel, link)
        self.listening = asyncio.create_task(link.listen())

    async def refusal(self) -> ApiError:
        with pytest.raises(ApiError) as caught:
            await self.limits.advance("t", 1)
        return caught.value


async def test_a_worker_that_is_gone_gives_back_and_others_know_of_its_advances(tmp_path: Path) -> None:
    household = Household(tmp_path)
    await household.start()
    one, other = (Worker(peer.channel) for peer in household.peers)
    await one.limits.advance("t", 50_000)
    assert (await other.refusal()).retry_after == 1, "all of it is in advance"
    one.limits.charge("t", 2_000)
    await one.channel.close()
    one.listening.cancel()
    await until(lambda: len(household.home._stands) == 1)
    refused = await other.refusal()
    assert refused.retry_after is not None
    assert 55 < refused.retry_after <= 61, "what was used stays used"
    left = household.home._buckets.take("asks", [ask()]).left[0]
    assert left == pytest.approx(SIZE - 2_000, abs=100), "and nothing else is"
    other.listening.cancel()
    await household.stop()


async def test_what_is_granted_too_late_is_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(through_parent, "_PATIENCE_S", 0.0)
    household = Household(tmp_path)
    await household.start()
    one, other = (Worker(peer.channel) for peer in household.peers)
    advanced = await one.limits.advance("t", 50_000)
    assert advanced == 50_000, "it goes by its own knowledge"
    buckets = household.home._buckets
    await until(lambda: not one.common._asked and buckets.take("asks", [ask()]).advanced == (0,))
    monkeypatch.undo()
    assert await other.limits.advance("t", 100) == 100
    one.limits.charge("t", 3_000, advanced=advanced)
    await until(lambda: buckets.take("asks", [ask()]).left[0] < 0)
    left = buckets.take("asks", [ask()]).left[0]
    assert left == pytest.approx(SIZE - 100 - 3_000, abs=200), "what it used is charged, all of it"
    for worker in (one, other):
        worker.listening.cancel()
    await household.stop()


def ask() -> Take:
    return Take(f"tokens:{SIZE}:t", SIZE, 0.0, 0.0)
