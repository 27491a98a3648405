"""Prices: cost is a pure function of counts and prices, and unknown is not zero."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptcache.errors import PriceListError
from promptcache.prices import Cost, cost_usd, effective_prices, price_usage, unread_usd
from promptcache.providers import find_model
from promptcache.usage import Usage
from tests.sdk.bodies import sampled

PRICES = {"input": 3.0, "output": 15.0, "cache_read": 0.3, "cache_write_5m": 3.75, "cache_write_1h": 6.0}
USAGE = Usage(
    total_input=1000,
    uncached=100,
    cache_read=600,
    cache_write=300,
    cache_write_5m=100,
    cache_write_1h=200,
    output=10,
    reported=True,
)


def test_each_count_is_paid_at_its_own_price() -> None:
    expected = (100 * 3.0 + 600 * 0.3 + 100 * 3.75 + 200 * 6.0 + 10 * 15.0) / 1e6
    assert cost_usd(USAGE, PRICES) == pytest.approx(expected)


def test_writes_that_are_not_split_have_the_default_lifetime() -> None:
    usage = Usage(total_input=400, uncached=100, cache_read=0, cache_write=300, output=0, reported=True)
    assert cost_usd(usage, PRICES) == pytest.approx((100 * 3.0 + 300 * 3.75) / 1e6)
    assert cost_usd(usage, {**PRICES, "cache_write": 4.0}) == pytest.approx((100 * 3.0 + 300 * 4.0) / 1e6)


@pytest.mark.parametrize("model", ["gpt-5.6", "gpt-6", "gpt-6.1-sol"])
def test_writes_of_a_model_are_priced_with_its_own_factors(model: str) -> None:
    facts = find_model(model)
    assert facts is not None
    usage = Usage(total_input=400, uncached=100, cache_read=0, cache_write=300, output=0, reported=True)
    expected = (100 * 2.0 + 300 * 2.5) / 1e6
    assert cost_usd(usage, facts.prices(input_usd=2.0, output_usd=8.0)) == pytest.approx(expected)


def test_writes_of_one_lifetime_only_have_its_price_and_without_any_are_named() -> None:
    usage = Usage(total_input=300, uncached=0, cache_read=0, cache_write=300, output=0, reported=True)
    assert cost_usd(usage, {"input": 1.0, "cache_write_12h": 2.0}) == pytest.approx(6e-4)
    assert price_usage(usage, {"input": 1.0}).missing == ("cache_write",)
    both = {"input": 1.0, "cache_write_1h": 2.0, "cache_write_12h": 3.0}
    assert price_usage(usage, both).missing == ("cache_write",)


def test_a_missing_price_makes_the_cost_unknown_and_is_named() -> None:
    cost = price_usage(USAGE, {"input": 3.0, "output": 15.0})
    assert (cost.usd, cost.known) == (None, False)
    assert set(cost.missing) == {"cache_read", "cache_write_5m", "cache_write_1h"}
    assert cost.upper_usd == pytest.approx((1000 * 3.0 + 10 * 15.0) / 1e6)


def test_a_price_that_is_not_needed_may_be_missing() -> None:
    usage = Usage(total_input=5, uncached=5, cache_read=0, cache_write=0, output=0, reported=True)
    assert cost_usd(usage, {"input": 2.0}) == pytest.approx(1e-5)


def test_what_was_not_reported_is_only_known_without_a_discount() -> None:
    usage = Usage(total_input=1000, output=0)
    assert cost_usd(usage, {"input": 2.0}) == pytest.approx(0.002)
    cost = price_usage(usage, {"input": 2.0, "cache_read": 0.2})
    assert (cost.usd, cost.missing, cost.upper_usd) == (None, (), pytest.approx(0.002))
    assert cost_usd(Usage.unreported(), {"input": 2.0}) is None


def test_tiers_and_multipliers_apply_to_the_effective_price() -> None:
    prices = {
        **PRICES,
        "tiers": [{"above_input_tokens": 500, "input": 6.0, "cache_read": 0.6}],
        "multiplier": 0.5,
    }
    assert effective_prices(prices, 500)["input"] == 1.5
    assert effective_prices(prices, 501) == {
        "input": 3.0,
        "output": 7.5,
        "cache_read": 0.3,
        "cache_write_5m": 1.875,
        "cache_write_1h": 3.0,
    }


tokens = st.integers(0, 10_000)


@sampled
@given(tokens, tokens, tokens, st.floats(0, 1))
def test_reading_never_costs_more_than_sending(uncached: int, read: int, output: int, share: float) -> None:
    usage = Usage(
        total_input=uncached + read,
        uncached=uncached,
        cache_read=read,
        cache_write=0,
        output=output,
        reported=True,
    )
    cost = price_usage(usage, {"input": 3.0, "output": 15.0, "cache_read": 3.0 * share})
    assert cost.usd is not None
    assert cost.upper_usd is not None
    assert cost.usd <= cost.upper_usd + 1e-12


@pytest.mark.parametrize(
    ("prices", "key"),
    [
        (None, "$"),
        ({"multiplier": "x"}, "multiplier"),
        ({"multiplier": None}, "multiplier"),
        ({"multiplier": float("nan")}, "multiplier"),
        ({"tiers": [{}]}, "tiers[0].above_input_tokens"),
        ({"tiers": [{"above_input_tokens": 1, "input": "3"}]}, "tiers[0].input"),
        ({"tiers": [5]}, "tiers[0]"),
        ({"tiers": None}, "tiers"),
        ({"input": float("nan")}, "input"),
        ({"input": "3.0"}, "input"),
        ({"output": -1.0}, "output"),
        ({"cache_read": True}, "cache_read"),
        ({"cache_write_1h": float("inf")}, "cache_write_1h"),
    ],
)
def test_a_price_list_that_makes_no_sense_is_a_clear_error(prices: Any, key: str) -> None:
    with pytest.raises(PriceListError) as caught:
        cost_usd(USAGE, prices)
    assert caught.value.key == key
    assert repr(key) in str(caught.value)


def test_a_price_of_none_is_not_known() -> None:
    assert price_usage(USAGE, {**PRICES, "cache_read": None, "currency": "USD"}).missing == ("cache_read",)


def test_output_that_was_not_counted_costs_nobody_knows_what() -> None:
    usage = Usage(total_input=5, uncached=5, cache_read=0, cache_write=0, reported=True)
    assert price_usage(usage, {"input": 2.0, "output": 8.0}) == Cost(None)
    assert cost_usd(usage, {"input": 2.0, "output": 0}) == pytest.approx(1e-5)
    assert cost_usd(Usage(total_input=5, output=1, reported=True), {"input": 2.0, "output": 8.0}) is None


@pytest.mark.parametrize(
    ("tokens", "usd"),
    [
        (0, 0.0),
        (150, 150 * 5.7),  # what is kept for an hour stands in front
        (250, 200 * 5.7 + 50 * 3.45),
        (350, 200 * 5.7 + 100 * 3.45 + 50 * 2.7),  # the rest was computed and not written
    ],
)
def test_what_was_not_read_costs_what_became_of_it(tokens: int, usd: float) -> None:
    assert unread_usd(USAGE, tokens, PRICES) == pytest.approx(usd / 1e6)
    unsplit = Usage(total_input=1000, uncached=100, cache_read=600, cache_write=300, output=10, reported=True)
    written = min(tokens, 300)
    assert unread_usd(unsplit, tokens, PRICES) == pytest.approx(
        (written * 3.45 + (tokens - written) * 2.7) / 1e6
    )


def test_without_the_price_of_what_became_of_it_a_loss_is_not_known() -> None:
    for missing in ("input", "cache_read", "cache_write_1h"):
        rates = {name: price for name, price in PRICES.items() if name != missing}
        assert unread_usd(USAGE, 250, rates) is None
    assert unread_usd(USAGE, 150, {name: PRICES[name] for name in ("input", "cache_read", "cache_write_1h")})
