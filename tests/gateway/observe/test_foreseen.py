"""What is said where nothing was read is found out while the upstream works, and anew where it differs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest

from promptcache.usage import Usage
from promptcache_gateway.exchange import Question
from promptcache_gateway.observe import foreseen
from promptcache_gateway.observe.provider_verdict import our_answer
from tests.gateway.observe.scenes import Stage, outcome, rules_text

if TYPE_CHECKING:
    from promptcache_gateway.observe.observation import Observation

CLAUDE, RESPONSES = "anthropic.messages", "openai.responses"
ASKED, ANSWERED = {"role": "user", "content": "Where is it?"}, {"role": "assistant", "content": "On its way."}
TALK = [ASKED, ANSWERED, {"role": "user", "content": "And when is it here?"}]
UNREAD = Usage(total_input=2_200, cache_read=0)


def body(dialect: str, rules: str, talk: list[Any]) -> dict[str, Any]:
    named = ("system", "messages") if dialect == CLAUDE else ("instructions", "input")
    return {"model": "m", **dict(zip(named, (rules, talk), strict=True))}


def asking(stage: Stage, dialect: Any, *, rules: str = rules_text()) -> Observation:
    """A second request, which asks how it differs from the first."""
    first = stage.observer.open(stage.call(body(dialect, rules_text(), [ASKED]), dialect=dialect))
    stage.observer.close(first, outcome(Usage(total_input=2_000, cache_read=0)))
    observation = stage.observer.open(stage.call(body(dialect, rules, TALK), dialect=dialect))
    observation.question = Question(dialect, "resp_1")
    return observation


@pytest.mark.parametrize("dialect", [CLAUDE, RESPONSES])
@pytest.mark.parametrize("rules", [rules_text(), "Today is Monday. " + rules_text()])
def test_the_same_is_said_and_not_found_out_again(dialect: Any, rules: str) -> None:
    stage = Stage()
    observation = asking(stage, dialect, rules=rules)
    question = Question(dialect, "resp_1", to_provider=True)
    named = stage.observer.answered.named(observation, question)
    expected = our_answer(question, named, observation.sight.prompt, 0)
    with patch.object(foreseen, "our_answer", wraps=our_answer) as asked:
        stage.observer.prepare(observation)
        said = stage.observer.answered.answer(observation, question, UNREAD)
        record = stage.observer.close(observation, replace(outcome(UNREAD), question=question))

    assert asked.call_count == 1
    assert record.provider_verdict is not None
    assert said == record.provider_verdict.ours == expected


def test_what_was_read_is_gone_by() -> None:
    stage = Stage()
    observation = asking(stage, RESPONSES, rules="Today is Monday. " + rules_text())
    stage.observer.prepare(observation)
    question = Question(RESPONSES, "resp_1")
    read = Usage(total_input=2_200, cache_read=2_000)

    unread = stage.observer.answered.answer(observation, question, UNREAD)
    assert unread is not None
    assert unread["reason"] == "input_changed"
    assert stage.observer.answered.answer(observation, question, read) == {"type": "cache_hit"}


def test_another_count_of_the_earlier_request_or_another_question_is_gone_by() -> None:
    stage = Stage()
    observation = asking(stage, RESPONSES, rules="Today is Monday. " + rules_text())
    stage.observer.prepare(observation)
    question = Question(RESPONSES, "resp_1")
    named = stage.observer.answered.named(observation, question)
    assert named is not None

    before = stage.observer.answered.answer(observation, question, UNREAD)
    named.prompt_tokens = 4_000
    after = stage.observer.answered.answer(observation, question, UNREAD)
    assert before is not None
    assert after is not None
    assert (before["cache_missed_tokens"], after["cache_missed_tokens"]) == (2_000, 4_000)
    other = Question(RESPONSES, "resp_unknown")
    assert stage.observer.answered.answer(observation, other, UNREAD) == {
        "type": "comparison_response_not_found"
    }


def test_where_nothing_is_asked_nothing_is_made_ready() -> None:
    stage = Stage()
    observation = asking(stage, RESPONSES)
    observation.question = None
    stage.observer.prepare(observation)
    assert observation.foreseen is None
