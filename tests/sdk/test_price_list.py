"""The shipped prices are usable and dated; users' own win; what nobody priced stays unknown."""

from __future__ import annotations

import json
from datetime import date, timedelta
from typing import TYPE_CHECKING

import pytest

from promptcache.errors import PriceListError
from promptcache.price_list import load_price_list, own_price_file, parse_price_list
from promptcache.price_sources import convert_litellm, looks_like_litellm
from promptcache.prices import cost_usd, effective_prices
from promptcache.usage import Usage

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def nobodys_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PROMPTCACHE_PRICES", str(tmp_path / "prices.json"))


def test_every_shipped_price_can_be_used() -> None:
    prices = load_price_list()

    assert len(prices.models) > 60
    for name, entry in prices.models.items():
        for total in (0, 10_000_000):
            rates = effective_prices(entry, total)
            assert 0 < rates["cache_read"] < rates["input"] <= rates["output"], name
            assert all(rate < 500 for rate in rates.values()), name


@pytest.mark.parametrize(
    ("spelled", "listed"),
    [
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("openai/gpt-4o", "gpt-4o"),
        ("anthropic/claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("Claude-Sonnet-4-5", "claude-sonnet-4-5"),
    ],
)
def test_a_model_is_found_in_the_spellings_its_seller_takes(spelled: str, listed: str) -> None:
    prices = load_price_list()
    assert prices.find(spelled) == prices.models[listed]


@pytest.mark.parametrize(
    "unknown", ["", "gpt-99", "gpt-4o-turbo-plus", "bedrock/anthropic.claude-sonnet-4-5", "deepseek-chat"]
)
def test_no_price_is_guessed(unknown: str) -> None:
    assert load_price_list().find(unknown) is None
    assert load_price_list().find("x" * 10_000) is None


def test_a_price_makes_a_cost() -> None:
    prices = load_price_list().find("claude-sonnet-4-5")
    usage = Usage.from_response(
        {"usage": {"input_tokens": 1_000_000, "cache_read_input_tokens": 1_000_000, "output_tokens": 0}}
    )
    assert prices is not None
    assert cost_usd(usage, prices) == pytest.approx(3.0 + 0.3)


def test_the_users_own_prices_win_and_keep_the_others(tmp_path: Path) -> None:
    own = {"dated": "2027-01-01", "source": "contract", "models": {"GPT-4o": {"input": 1, "cache_read": 0.5}}}
    (tmp_path / "prices.json").write_text(json.dumps(own))

    prices = load_price_list()

    assert prices.find("gpt-4o") == {"input": 1, "cache_read": 0.5}
    assert prices.find("gpt-4.1") is not None
    assert prices.own == {"gpt-4o"}
    assert prices.own_file == own_price_file()
    assert prices.dated != date(2027, 1, 1)  # most numbers are still the shipped ones


def test_age_is_told_by_the_day() -> None:
    prices = load_price_list()
    assert prices.age_days(prices.dated + timedelta(days=90)) == 90
    assert not prices.is_old(prices.dated + timedelta(days=90))
    assert prices.is_old(prices.dated + timedelta(days=91))


@pytest.mark.parametrize(
    ("data", "key"),
    [
        ([], "models"),
        ({"models": {}}, "dated"),
        ({"dated": "2026-11-29", "models": {"m": {"input": "cheap"}}}, "models.m.input"),
        ({"dated": "2026-11-29", "models": {"m": {"input": -1}}}, "models.m.input"),
    ],
)
def test_a_list_that_is_none_names_the_key(data: object, key: str) -> None:
    with pytest.raises(PriceListError) as caught:
        parse_price_list(data)
    assert caught.value.key == key


def test_a_file_that_is_asked_for_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(PriceListError, match="cannot be read"):
        load_price_list(tmp_path / "nothing.json")


def test_litellms_map_is_read_with_lifetimes_and_tiers() -> None:
    entry = {
        "litellm_provider": "openai",
        "mode": "chat",
        "input_cost_per_token": 1e-05,
        "input_cost_per_token_batches": 5e-06,
        "input_cost_per_token_above_272k_tokens": 2e-05,
        "output_cost_per_token": 5e-05,
        "cache_read_input_token_cost": 1e-06,
        "cache_creation_input_token_cost": 1.25e-05,
        "cache_creation_input_token_cost_above_12hr": 2.5e-05,
        "cache_creation_input_token_cost_above_12hr_above_272k_tokens": 5e-05,
        "supports_vision": True,
    }
    data = {
        "gpt-x": entry,
        "deepseek/chat": {**entry, "litellm_provider": "deepseek"},
        "azure/gpt-x": {**entry, "litellm_provider": "azure"},
        "ft:gpt-x": entry,
        "picture": {**entry, "mode": "image_generation"},
        "free": {"litellm_provider": "openai", "mode": "chat"},
    }

    assert looks_like_litellm(data)
    assert not looks_like_litellm({"models": {}})
    models = convert_litellm(data)

    assert set(models) == {"gpt-x", "deepseek/chat"}
    assert models["gpt-x"] == {
        "input": 10.0,
        "output": 50.0,
        "cache_read": 1.0,
        "cache_write_30m": 12.5,
        "cache_write_12h": 25.0,
        "tiers": [{"above_input_tokens": 272_000, "input": 20.0, "cache_write_12h": 50.0}],
    }
    with pytest.raises(PriceListError):
        convert_litellm({"sample_spec": {"mode": "chat"}})
