"""What a request is said to cost where prices or counts leave something open."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache.prices import effective_prices, price_usage
from promptcache.usage import Usage
from promptcache_gateway.observe.diagnosis import Diagnosis
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


RATES = st.dictionaries(
    st.sampled_from(["input", "output", "cache_read", "cache_write", "multiplier"]),
    st.floats(0.0, 20.0),
    max_size=5,
)
TIERS = st.lists(
    st.builds(lambda above, rates: {**rates, "above_input_tokens": above}, st.integers(0, 60), RATES)
)
LISTS = st.builds(lambda rates, tiers: {**rates, "tiers": tiers} if tiers else rates, RATES, TIERS)


@given(
    st.lists(LISTS, min_size=2, max_size=2),
    st.lists(
        st.tuples(st.sampled_from("ab"), st.integers(0, 90), st.integers(0, 9), st.booleans()), max_size=6
    ),
)
@settings(max_examples=150)
def test_what_is_remembered_of_prices_changes_no_sum(
    lists: list[dict[str, Any]], asked: list[tuple[str, int, int, bool]]
) -> None:
    known = dict(zip("ab", lists, strict=True))
    money = Money(known.get)
    for model, total, read, reported in asked:
        details = {"prompt_tokens_details": {"cached_tokens": min(read, total)}} if reported else {}
        usage = Usage.from_response({"usage": {"prompt_tokens": total, "completion_tokens": 5, **details}})
        cost, rates = price_usage(usage, known[model]), effective_prices(known[model], total)
        upper = None if cost.usd is None or cost.upper_usd is None else cost.upper_usd - cost.usd
        lost = money.price_loss(Diagnosis(lost_tokens=3), model, usage).lost_usd

        for _ in range(2):
            assert money.cost(usage, model) == (cost.upper_usd if cost.usd is None else cost.usd)
            assert money.saved(usage, model) == (upper if usage.reported else None)
        both = "input" in rates and "cache_read" in rates
        assert lost == (3 * (rates["input"] - rates["cache_read"]) / 1e6 if both else None)


_WRITES = ("12h", "1h", "30m", "5m")


@given(
    st.lists(st.integers(0, 500), min_size=7, max_size=7),
    st.integers(0, 3_000),
    st.dictionaries(
        st.sampled_from([f"cache_write_{ttl}" for ttl in _WRITES]), st.floats(0.1, 20.0), max_size=4
    ),
)
@settings(max_examples=100)
def test_a_loss_is_the_cost_less_the_cost_had_it_been_read(
    counts: list[int], lost: int, writing: dict[str, float]
) -> None:
    uncached, read, *written, unsplit = counts
    prices = {"input": 3.0, "output": 15.0, "cache_read": 0.3, "cache_write": 3.75, **writing}
    lost = min(lost, uncached + sum(written) + unsplit)
    split = dict(zip((f"cache_write_{ttl}" for ttl in _WRITES), written, strict=True))
    total = uncached + read + sum(written) + unsplit
    usage = Usage(total, uncached, read, sum(written) + unsplit, output=9, reported=True, **split)
    left, kept = lost, []
    for tokens in (*written, unsplit, uncached):
        kept.append(tokens - min(tokens, left))
        left -= tokens - kept[-1]
    had_been_read = Usage(
        total,
        kept[5],
        read + lost,
        sum(kept[:5]),
        output=9,
        reported=True,
        **dict(zip(split, kept[:4], strict=True)),
    )
    money = Money(lambda _: prices)
    was, could = money.cost(usage, "m"), money.cost(had_been_read, "m")
    assert was is not None
    assert could is not None
    found = money.price_loss(Diagnosis(lost_tokens=lost), "m", usage).lost_usd
    assert found == pytest.approx(was - could, abs=1e-12)


@pytest.mark.parametrize(
    ("lifetime", "usd"),
    [({"ephemeral_5m_input_tokens": 100_000}, 0.345), ({"ephemeral_1h_input_tokens": 100_000}, 0.57)],
)
def test_what_was_lost_and_written_anew_has_the_price_of_writing(
    lifetime: dict[str, int], usd: float
) -> None:
    usage = Usage.from_response(
        {
            "usage": {
                "input_tokens": 50,
                "cache_read_input_tokens": 0,
                "cache_creation_input_tokens": 100_000,
                "cache_creation": lifetime,
                "output_tokens": 9,
            }
        }
    )
    sonnet = {"input": 3.0, "output": 15.0, "cache_read": 0.3, "cache_write_5m": 3.75, "cache_write_1h": 6.0}
    money, model = Money(lambda _: sonnet), "claude-sonnet-4-5"
    lost = Diagnosis(lost_tokens=100_000)
    assert money.price_loss(lost, model, usage).lost_usd == pytest.approx(usd)
    unwritten = Usage.from_response(
        {"usage": {"input_tokens": 100_050, "cache_read_input_tokens": 0, "output_tokens": 9}}
    )
    assert money.price_loss(lost, model, unwritten).lost_usd == pytest.approx(0.27)
    assert money.price_loss(lost, model, None).lost_usd is None
    unpriced = Money(lambda _: {"input": 3.0, "cache_read": 0.3})
    assert unpriced.price_loss(lost, model, usage).lost_usd is None
    assert unpriced.price_loss(lost, model, unwritten).lost_usd == pytest.approx(0.27)
