"""What an upstream's cache promises, by its kind, its model and the request's own wishes."""

from __future__ import annotations

import pytest

from promptcache.providers import LOOKBACK_BLOCKS
from promptcache.segments import Segment
from promptcache_gateway.observe.rules import rules_for, with_marks

EXPLICIT = {"prompt_cache_options": {"mode": "explicit"}}


def block(**mark: str) -> Segment:
    return Segment("system[0]", "system", "system", "Be kind.", {"type": "ephemeral", **mark})


def test_a_disputed_minimum_promises_no_more_than_all_sources_do() -> None:
    rules = rules_for("hosted", "gemini-2.5-pro")

    assert (rules.promised(4_000), rules.promised(4_100)) == (0, 4_096)
    assert rules.possible(4_000) == 4_000  # a caller's fault is shown wherever it may cost


def test_what_may_be_cached_comes_in_the_providers_own_steps() -> None:
    assert rules_for("hosted", "gpt-4o").possible(1_000) == 896
    assert rules_for("hosted", "some-model").possible(1_000) == 1_000
    assert rules_for("openai", "some-model", granularity=16).possible(1_000) == 992


def test_explicit_mode_keeps_what_is_marked_exactly_there() -> None:
    rules = with_marks(rules_for("hosted", "gpt-5.6"), [], EXPLICIT)

    assert rules.marked_only
    assert rules.on_request
    assert rules.lookback == 1


@pytest.mark.parametrize("model", ["gpt-4o", "some-model", "claude-sonnet-4-5"])
def test_other_models_know_no_such_mode(model: str) -> None:
    rules = rules_for("hosted", model)

    assert with_marks(rules, [], EXPLICIT) == rules
    assert rules.lookback == LOOKBACK_BLOCKS


def test_a_mark_may_ask_for_a_longer_life_and_the_others_keep_theirs() -> None:
    rules = with_marks(rules_for("hosted", "claude-sonnet-4-5"), [block(ttl="1h"), block()], {})

    assert (rules.lifetime_s, rules.mark_lifetime_s) == (3_600.0, 300.0)
    assert with_marks(rules_for("hosted", "claude-sonnet-4-5"), [block()], {}).lifetime_s == 300.0
