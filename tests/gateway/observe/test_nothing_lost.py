"""A miss always has a cause, and where nothing static was lost there is no miss."""

from __future__ import annotations

from typing import Any

import pytest

from promptcache.usage import Usage
from tests.gateway.observe.scenes import Stage, chat, engine_provider, facts, outcome, rules_text

RULES = rules_text()


def completion(prompt: str) -> dict[str, Any]:
    return {"model": "model-a", "prompt": prompt}


def last(*bodies: dict[str, Any]) -> Any:
    stage = Stage(engine_provider())
    return [stage.send(body) for body in bodies][-1]


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (
            completion(RULES[:500] + " and the answer is red"),
            completion(RULES[:500] + " and the answer is blue"),
        ),
        (
            completion(RULES + "\nQ: Who pays?"),
            completion(RULES + "\nQ: Where does it come from, if at all?"),
        ),
        (chat(RULES, "Hi?"), chat(RULES + " ", "Hi?")),
        (chat(RULES, "Hi?"), chat(RULES + "\nBe kind to everyone.", "Ho?")),
    ],
)
def test_what_changes_at_the_very_end_is_a_hit(earlier: dict[str, Any], later: dict[str, Any]) -> None:
    record = last(earlier, later)

    assert record.cached_tokens
    assert (record.diagnosis.hit, record.diagnosis.cause) == (True, None)
    assert record.diagnosis.lost_tokens in {0, 1}


def test_the_same_with_a_history_behind_it_is_a_miss_with_a_cause() -> None:
    talk = ("Where is my parcel?", "It left our depot in Turin on Monday. " * 6, "And the other one?")
    for change, code in ((" ", "PC206"), ("\nBe kind to everyone.", "PC403")):
        record = last(chat(RULES, *talk), chat(RULES + change, *talk, "Soon.", "Thank you. When?"))

        assert (record.diagnosis.hit, record.diagnosis.cause) == (False, code)
        assert record.diagnosis.lost_tokens > 40


@pytest.mark.parametrize("separator", ["\n", " "])
def test_a_clock_before_a_bare_prompt_is_its_fault_whatever_the_question(separator: str) -> None:
    text = RULES.replace("\n", separator)
    prompts = [
        f"Now: 12:01:{n}.{separator}{text}{separator}Q: {q}?" for n, q in ((10, "Who"), (44, "Where to"))
    ]

    record = last(*map(completion, prompts))

    assert (record.diagnosis.cause, record.diagnosis.path) == ("PC101", "prompt")
    assert record.diagnosis.lost_tokens == pytest.approx(len(RULES) // 4, abs=15)


def test_the_offending_span_counts_as_equal() -> None:
    words = "Tags: " + ", ".join(f"colour{n}" for n in range(40))
    bodies = [chat(f"{words} {tail}.\n{RULES}", "Hi?") for tail in ("x" * 400, "y" * 400)]

    record = last(*bodies)

    newest = len("user\nHi?") + 2 * 12
    assert record.diagnosis.reusable_tokens == pytest.approx(record.prompt_tokens - newest // 4, abs=3)
    assert record.diagnosis.estimated


def test_an_earlier_request_that_stands_whole_gives_the_exact_count() -> None:
    talk = ("Where is my parcel?", "On its way.", "And the other one?")
    stage = Stage(engine_provider())
    stage.send_to_engine(chat(f"Now: 12:00:01\n{RULES}", talk[0]), facts(1_737, 0, diverged_at=0))

    record = stage.send_to_engine(chat(f"Now: 12:00:42\n{RULES}", *talk), facts(1_790, 9, diverged_at=9))

    assert record.diagnosis.cause == "PC101"
    assert record.diagnosis.reusable_tokens == 1_737
    assert not record.diagnosis.estimated


def test_counts_that_a_prompt_cannot_hold_are_not_believed() -> None:
    stage = Stage()
    for body in (chat(RULES, "One"), chat(RULES, "Two")):
        usage = Usage.from_response(
            {"usage": {"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 99_999}}}
        )
        observation = stage.observer.open(stage.call(body))
        record = stage.observer.close(observation, outcome(usage))

    assert (record.prompt_tokens, record.cached_tokens, record.reported) == (10, None, False)
    assert record.diagnosis.cause == "PC810"


@pytest.mark.parametrize(
    "more",
    [
        {"previous_response_id": "resp_1", "input": "Go on."},
        {
            "messages": [
                {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x"}}]}
            ]
        },
    ],
)
def test_what_does_not_stand_in_the_request_may_be_long(more: dict[str, Any]) -> None:
    stage = Stage()
    usage = Usage.from_response(
        {"usage": {"prompt_tokens": 9_999, "prompt_tokens_details": {"cached_tokens": 90_112}}}
    )
    observation = stage.observer.open(stage.call({"model": "model-a", **more}))

    assert stage.observer.close(observation, outcome(usage)).cached_tokens == 90_112


def test_eviction_for_want_of_room_is_the_upstreams_and_on_demand_nobodys() -> None:
    for emptied, attribution in ((False, "upstream"), (True, "expected")):
        stage = Stage(engine_provider())
        stage.send_to_engine(chat(RULES, "One"), facts(1_700, 0, diverged_at=0))
        if emptied:
            stage.clock.now += 1
            stage.observer.cache_was_emptied("engine")

        record = stage.send_to_engine(chat(RULES, "Two"), facts(1_700, 0, evicted=1_690))

        assert record.diagnosis.cause == "PC803"
        assert record.diagnosis.attribution == attribution
