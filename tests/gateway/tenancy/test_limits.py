"""Requests and tokens a minute."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptcache_gateway.errors import ApiError, SettingsError
from promptcache_gateway.tenancy import Limits, TenantLimits


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_requests_a_minute() -> None:
    clock = Clock()
    limits = Limits({"t": TenantLimits(requests_per_minute=2)}, clock=clock)
    limits.admit("t")
    limits.admit("t")
    with pytest.raises(ApiError, match="requests a minute") as caught:
        limits.admit("t")
    assert (caught.value.status, caught.value.retry_after) == (429, 30)
    for _ in range(5):
        limits.admit("another")
    clock.now += 30
    limits.admit("t")


def test_tokens_are_charged_afterwards_and_debt_is_waited_for() -> None:
    clock = Clock()
    limits = Limits({"t": TenantLimits(tokens_per_minute=600)}, clock=clock)
    limits.admit("t")
    limits.charge("t", 900)
    with pytest.raises(ApiError, match="tokens a minute") as caught:
        limits.admit("t")
    assert caught.value.retry_after == 31
    clock.now += 31
    limits.admit("t")


@pytest.mark.parametrize("field", ["requests_per_minute", "tokens_per_minute"])
def test_a_limit_is_at_least_one(field: str) -> None:
    with pytest.raises(SettingsError, match=field):
        TenantLimits(**{field: 0})


@given(st.lists(st.floats(0, 20), max_size=60), st.integers(1, 20))
def test_no_more_than_a_burst_and_the_rate(pauses: list[float], limit: int) -> None:
    clock = Clock()
    limits = Limits({"t": TenantLimits(requests_per_minute=limit)}, clock=clock)
    admitted = 0
    for pause in pauses:
        clock.now += pause
        try:
            limits.admit("t")
        except ApiError:
            continue
        admitted += 1
        assert admitted <= limit + clock.now * limit / 60 + 1e-6


async def test_where_only_requests_under_way_use_it_up_one_tries_again_soon() -> None:
    limits = Limits({"t": TenantLimits(tokens_per_minute=600)}, clock=lambda: 0.0)
    large = await limits.advance("t", 9_000)
    with pytest.raises(ApiError, match="when they have ended") as caught:
        limits.admit("t")
    assert (caught.value.retry_after, caught.value.code) == (1, "rate_limit_exceeded")
    with pytest.raises(ApiError, match="when they have ended"):
        await limits.advance("t", 1)
    limits.charge("t", 900, advanced=large)
    with pytest.raises(ApiError, match="Try again in 31 s") as caught:
        limits.admit("t")
    assert caught.value.retry_after == 31


async def test_what_has_been_used_is_waited_for_beside_requests_under_way() -> None:
    limits = Limits({"t": TenantLimits(tokens_per_minute=600)}, clock=lambda: 0.0)
    await limits.advance("t", 300)
    limits.charge("t", 900)
    with pytest.raises(ApiError, match="Try again in 31 s"):
        limits.admit("t")


async def test_a_limit_that_came_while_a_request_was_under_way_gives_nothing_back() -> None:
    limits = Limits({"t": TenantLimits(budget_usd=1.0)}, clock=lambda: 0.0)
    advanced = await limits.advance("t", 9_000)
    limits.renew({"t": TenantLimits(tokens_per_minute=600)})
    limits.charge("t", 900, advanced=advanced)
    with pytest.raises(ApiError, match="Try again in 31 s"):
        limits.admit("t")
