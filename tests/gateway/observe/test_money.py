"""What a request is said to cost where prices or counts leave something open."""

from __future__ import annotations

import pytest

from promptcache.usage import Usage
from promptcache_gateway.observe.money import Money

USAGE = {"prompt_tokens": 1_000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 600}}


def cost(prices: dict[str, float], usage: dict[str, object], *, answers: bool = True) -> float | None:
    return Money(lambda _: prices).cost(Usage.from_response({"usage": usage}), "m", answers=answers)


def test_what_is_read_has_its_own_price() -> None:
    prices = {"input": 10.0, "output": 20.0, "cache_read": 1.0}
    assert cost(prices, USAGE) == pytest.approx((400 * 10 + 600 * 1 + 100 * 20) / 1e6)


def test_without_a_price_for_reading_it_costs_as_much_as_input() -> None:
    assert cost({"input": 10.0, "output": 20.0}, USAGE) == pytest.approx((1_000 * 10 + 100 * 20) / 1e6)


def test_where_nobody_says_what_was_read_all_of_it_is_input() -> None:
    prices = {"input": 10.0, "output": 20.0, "cache_read": 1.0}
    usage: dict[str, object] = {"prompt_tokens": 1_000, "completion_tokens": 100}
    assert cost(prices, usage) == pytest.approx((1_000 * 10 + 100 * 20) / 1e6)


def test_what_was_written_costs_more_than_input_and_without_its_price_nobody_knows_what() -> None:
    """A lower bound is no cost; a budget is charged the most that it can have been."""
    usage = Usage.from_response(
        {
            "type": "message",
            "usage": {
                "input_tokens": 100,
                "cache_read_input_tokens": 200,
                "cache_creation_input_tokens": 700,
                "output_tokens": 10,
            },
        }
    )
    prices = {"input": 10.0, "output": 20.0, "cache_read": 1.0}
    money = Money(lambda _: prices)
    assert money.cost(usage, "m") is None
    assert money.most(usage, "m") == pytest.approx((1_000 * 10 + 700 * 10 + 10 * 20) / 1e6)
    prices["cache_write"] = 12.5
    priced = Money(lambda _: prices)
    assert priced.cost(usage, "m") == pytest.approx((100 * 10 + 200 * 1 + 700 * 12.5 + 10 * 20) / 1e6)
    assert priced.most(usage, "m") is None
    assert Money(lambda _: {"output": 20.0}).most(usage, "m") is None
    read_only = Usage.from_response({"usage": USAGE})
    assert Money(lambda _: {"input": 10.0, "output": 20.0}).most(read_only, "m") is None


def test_embeddings_have_no_output_to_count() -> None:
    usage: dict[str, object] = {"prompt_tokens": 1_000, "total_tokens": 1_000}
    assert cost({"input": 10.0, "output": 20.0}, usage) is None
    assert cost({"input": 10.0, "output": 20.0}, usage, answers=False) == pytest.approx(0.01)


def test_a_price_that_is_missing_is_no_zero() -> None:
    assert cost({"output": 20.0}, USAGE) is None
    assert cost({"input": 10.0}, USAGE) is None
    assert Money(lambda _: None).cost(Usage.from_response({"usage": USAGE}), "m") is None
    assert cost({"input": 10.0, "output": 20.0}, {}) is None
