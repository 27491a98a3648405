"""Reported pairs with their right answer, seen as traffic: the gateway names what the file comparison names.

The gateway is not told that two requests belong together, so a pair that shows it by nothing but its
order is left alone, and so is an edit of the newest turn.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.observe.scenes import Provider, Stage, chat, outcome, rules_text
from tests.gateway.observe.written_provider import WrittenProvider
from tests.run_cases.kinds import CODES

CASES = Path(__file__).parents[2] / "cases"
NO_BLAME = {"B052": "one image for another in a first message", "B133": "the newest turn, edited", "B064": ""}


def load(case: str, name: str) -> Any:
    return json.loads((CASES / case / name).read_text(encoding="utf-8"))


def pairs() -> list[str]:
    """The cases of two consecutive bodies."""
    return [
        path.parent.name
        for path in sorted(CASES.glob("*/expected.json"))
        if load(path.parent.name, "expected.json")["check"] == "request_diff"
    ]


@pytest.mark.parametrize("case", pairs())
def test_a_reported_pair_is_known_in_traffic(case: str) -> None:
    expected = load(case, "expected.json")["expected"]
    stage = Stage(WrittenProvider(kind="sglang", granularity=1, minimum=0))
    stage.send(load(case, "turn1.json"))
    diagnosis = stage.send(load(case, "turn2.json")).diagnosis

    if case in NO_BLAME:
        assert diagnosis.cause is None
        assert diagnosis.attribution == "expected"
        return
    assert CODES[expected["cause"]] in diagnosis.causes
    assert diagnosis.attribution == "caller"
    assert diagnosis.path == expected["divergence"]["path"]
    assert diagnosis.char_offset == expected["divergence"]["char_offset"]
    assert diagnosis.lost_tokens


def test_there_are_such_pairs() -> None:
    assert len(pairs()) >= 10


def lines(case: str, name: str) -> list[Any]:
    return [json.loads(line) for line in (CASES / case / name).read_text(encoding="utf-8").splitlines()]


def test_a_lifetime_counts_from_the_last_requests_start() -> None:
    """B077: the answer that took 90 seconds does not make the entry live longer."""
    stage = Stage(Provider(granularity=1, minimum=0))
    prefixes = {"p": rules_text(name="rule"), "q": rules_text(name="law")}
    found: list[str | None] = []
    origin = stage.clock.now
    for event in lines("B077", "events.jsonl"):
        stage.clock.now = origin + event["start_s"]
        body = chat(prefixes[event["sha_prefix"]], f"Question {event['t']}")
        observation = stage.observer.open(stage.call(body, template="one"))
        usage = stage.provider.usage(event["read"] + event["write"], event["read"])
        took_ms = (event["end_s"] - event["start_s"]) * 1000.0
        ended = replace(outcome(usage), ttft_ms=None, duration_ms=took_ms)
        found.append(stage.observer.close(observation, ended).diagnosis.cause)

    assert found == ["PC801", None, "PC802", "PC801"]


def test_an_unread_prefix_in_a_row_of_hits_is_the_upstreams() -> None:
    """B138: one request of seven reads nothing although nothing changed."""
    stage = Stage(Provider(granularity=1, minimum=0))
    rules = rules_text(400)
    talk: list[str] = ["Question 0"]
    found: list[str | None] = []
    origin = stage.clock.now
    for event in lines("B138", "events.jsonl"):
        stage.clock.now = origin + event["start_s"]
        observation = stage.observer.open(stage.call(chat(rules, *talk)))
        usage = stage.provider.usage(event["prompt_tokens"], event["cached_tokens"])
        found.append(stage.observer.close(observation, outcome(usage)).diagnosis.cause)
        talk += [f"Answer {event['t']}", f"Question {event['t'] + 1}"]

    assert found == ["PC801", None, None, None, "PC809", None, None]
