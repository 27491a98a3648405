"""Provider facts: models in any spelling, no assumption for a model that is not named."""

from __future__ import annotations

import pytest

from promptcache.providers import LOOKBACK_BLOCKS, MARK_TTL_S, MAX_BREAKPOINTS, find_model, prompt_parameters


@pytest.mark.parametrize(
    ("model", "provider", "minimum"),
    [
        ("claude-opus-4-5-20251101", "anthropic", 4096),
        ("anthropic/claude-opus-4.5", "anthropic", 4096),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", "anthropic", 4096),
        ("claude-opus-5", "anthropic", 512),
        ("claude-opus-5-5", "anthropic", 512),
        ("claude-sonnet-5-20260101", "anthropic", 1024),
        ("claude-3-5-sonnet-20241022", "anthropic", None),
        ("gpt-5.6", "openai", 1024),
        ("gpt-5.6-codex", "openai", 1024),
        ("gpt-5-mini", "openai", None),
        ("gemini-3-pro", "google", 4096),
        ("grok-4", "xai", None),
    ],
)
def test_a_model_is_found_in_any_spelling(model: str, provider: str, minimum: int | None) -> None:
    facts = find_model(model)
    assert facts is not None
    assert (facts.provider, facts.min_tokens) == (provider, minimum)


@pytest.mark.parametrize("model", ["m", "gpt-9", "my-finetune", "llama-3", "gpt-5.9", ""])
def test_an_unknown_model_gets_no_assumption(model: str) -> None:
    assert find_model(model) is None


def test_an_unknown_version_of_a_known_family_has_no_minimum() -> None:
    facts = find_model("claude-opus-5-7")
    assert facts is not None
    assert (facts.name, facts.min_tokens) == ("claude", None)


def test_prices_follow_from_the_input_price() -> None:
    facts = find_model("claude-opus-5")
    assert facts is not None
    prices = facts.prices(input_usd=4.0, output_usd=20.0)
    assert prices == pytest.approx(
        {"input": 4.0, "output": 20.0, "cache_read": 0.4, "cache_write_5m": 5.0, "cache_write_1h": 8.0}
    )
    xai = find_model("grok-4")
    assert xai is not None
    assert "cache_read" not in xai.prices(input_usd=1.0, output_usd=1.0)


def test_the_rules_of_breakpoints() -> None:
    assert (MAX_BREAKPOINTS, LOOKBACK_BLOCKS) == (4, 20)
    assert MARK_TTL_S["5m"] < MARK_TTL_S["1h"]


def test_parameters_that_reach_the_prompt_depend_on_the_provider() -> None:
    assert prompt_parameters("anthropic")["tool_choice"] == "messages"
    assert "tool_choice" not in prompt_parameters("openai")
    assert set(prompt_parameters("openai").values()) <= {"tools", "system", "messages"}
    assert "tool_choice" in prompt_parameters(None)
    assert "temperature" not in prompt_parameters(None)


def test_a_disputed_minimum_is_none_but_has_a_bound() -> None:
    facts = find_model("gemini-2.5-pro")

    assert facts is not None
    assert (facts.min_tokens, facts.min_tokens_at_most) == (None, 4096)
    assert find_model("gpt-4o").min_tokens_at_most is None  # type: ignore[union-attr]


def test_one_provider_finds_what_it_keeps_as_a_whole_only() -> None:
    found = {name: find_model(name) for name in ("deepseek-chat", "gpt-5.6", "claude-sonnet-4-5")}

    assert [facts.whole_units for facts in found.values() if facts] == [True, False, False]
