"""What the head of the engine's stream said is said again behind it; what changed is found out anew."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest

from promptcache_gateway.observe import forecast
from promptcache_gateway.observe.verdict import draft
from tests.gateway.observe.scenes import Stage, chat, engine_provider, facts, outcome, rules_text

if TYPE_CHECKING:
    from promptcache_gateway.exchange import EngineFacts
    from promptcache_gateway.observe.observation import Observation

TALK = ["Where is my order?", "It is on its way.", "And when is it here?"]
EVICTED = facts(2_200, 0, diverged_at=2_100, evicted=2_100)
READ = facts(2_200, 2_100, diverged_at=2_100)


def opened(stage: Stage) -> Observation:
    """The second request of a conversation."""
    stage.send_to_engine(chat(rules_text(), TALK[0]), facts(2_000, 0))
    return stage.observer.open(stage.call(chat(rules_text(), *TALK)))


@pytest.mark.parametrize("told", [READ, EVICTED])
def test_the_same_is_said_and_not_found_out_again(told: EngineFacts) -> None:
    stage = Stage(engine_provider())
    observation = opened(stage)
    with patch.object(forecast, "draft", wraps=draft) as drafted:
        head = stage.observer.preview(observation, told)
        usage = stage.provider.usage(told.prompt_tokens, told.cached_tokens)
        record = stage.observer.close(observation, outcome(usage, engine=told))

    assert drafted.call_count == 1
    assert record.diagnosis == head.whole()
    assert record.diagnosis.hit is (told is READ)


def test_what_became_another_is_found_out_anew() -> None:
    stage = Stage(engine_provider())
    observation = opened(stage)
    with patch.object(forecast, "draft", wraps=draft) as drafted:
        stage.observer.preview(observation, READ)
        record = stage.observer.close(observation, outcome(stage.provider.usage(2_200, 0), engine=EVICTED))

    assert drafted.call_count == 2
    assert record.diagnosis.cause == "PC803"
    assert record.diagnosis.lost_tokens == 2_100


def test_a_count_that_comes_in_between_is_gone_by() -> None:
    found = []
    for early in (False, True):
        stage = Stage(engine_provider())
        clocked = [f"Now: 12:00:0{n}. {rules_text()}" for n in range(2)]
        first = stage.observer.open(stage.call(chat(clocked[0], TALK[0])))
        second = stage.observer.open(stage.call(chat(clocked[1], *TALK)))
        told = facts(2_200, 0, diverged_at=5)
        if early:
            stage.observer.preview(second, told)
        usage = stage.provider.usage(2_000, 0)
        stage.observer.close(first, outcome(usage, engine=facts(2_000, 0)))
        usage = stage.provider.usage(2_200, 0)
        found.append(stage.observer.close(second, outcome(usage, engine=told)).diagnosis)

    assert found[0] == found[1]
    assert found[0].cause == "PC101"
