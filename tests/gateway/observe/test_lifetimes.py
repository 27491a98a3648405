"""What an earlier request left lives as long as that one asked for; a later one's wishes prolong nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.gateway.observe.marked_traffic import MarkedProvider, continued, marked, message, talk
from tests.gateway.observe.scenes import Provider, Stage, chat, rules_text
from tests.gateway.observe.traffic import Author

if TYPE_CHECKING:
    from promptcache_gateway.observe import Diagnosis

RULES = rules_text()
DAY = {"prompt_cache_retention": "24h"}
HOUR = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}


def idle(first: dict[str, Any], then: dict[str, Any], *, after_s: float = 7_200.0) -> Any:
    """The diagnosis of a request that comes so long after the first, to a provider that lost everything."""
    stage = Stage(Provider(kind="hosted", granularity=None))
    stage.send(chat(RULES, "One?", model="gpt-5.1", **first))
    stage.provider.stored.clear()
    return stage.send(chat(RULES, "Two?", model="gpt-5.1", **then), after_s=after_s).diagnosis


@pytest.mark.parametrize("first", [{}, {"prompt_cache_retention": "in_memory"}])
def test_what_only_the_later_request_asks_for_was_not_promised(first: dict[str, Any]) -> None:
    diagnosis = idle(first, DAY)

    assert (diagnosis.cause, diagnosis.attribution) == ("PC802", "expected")
    assert "300 s" in diagnosis.summary


def test_what_both_ask_for_is_due() -> None:
    diagnosis = idle(DAY, DAY)
    assert (diagnosis.cause, diagnosis.attribution) == ("PC809", "upstream")
    assert idle(DAY, DAY, after_s=90_000.0).cause == "PC802"


def test_what_the_later_request_does_not_ask_for_is_nobodys_fault() -> None:
    assert idle(DAY, {}).attribution == "expected"


@pytest.mark.parametrize(("after_s", "cause"), [(20.0, "PC504"), (900.0, "PC802")])
def test_other_settings_cost_nothing_where_all_had_expired(after_s: float, cause: str) -> None:
    stage = Stage()
    stage.send(chat(RULES, "What becomes of my order?"))
    later = chat(RULES, "What becomes of my order?", "It is on its way.", "When?", reasoning_effort="high")
    found = stage.send(later, after_s=after_s).diagnosis

    assert found.cause == cause
    assert found.attribution == ("caller" if cause == "PC504" else "expected")


def test_what_others_kept_and_was_read_is_not_charged_to_a_day_that_has_passed() -> None:
    """Others had come with the new date, so that only the history was lost."""
    stage = Stage()
    talk = ("What becomes of my order?", "It is on its way. " * 60, "And when will it be here?")

    def ask(day: int, *said: str, after_s: float = 100.0) -> Diagnosis:
        return stage.send(chat(f"Today is 2026-11-{day}.\n{RULES}", *said), after_s=after_s).diagnosis

    ask(29, talk[0])
    ask(29, *talk)
    for day in (29, 30, 30):
        ask(day, f"Who is on duty on day {day}?")
    found = ask(30, *talk, "At noon. " * 40, "Thanks. Which noon?", after_s=150.0)
    assert (found.cause, found.attribution) == ("PC802", "expected")
    assert dict(found.losses) == {"PC802": found.lost_tokens}
    assert found.lost_tokens


def test_a_mark_of_an_hour_prolongs_no_entry_of_five_minutes() -> None:
    author, stage = Author(1), Stage(MarkedProvider())
    body = talk(author, 2)
    long = [{**block, **HOUR} for block in body["system"]]
    stage.send(body, dialect="anthropic.messages")
    later = {**continued(author, body), "system": long}
    diagnosis = stage.send(later, after_s=1_200.0, dialect="anthropic.messages").diagnosis

    assert (diagnosis.cause, diagnosis.attribution) == ("PC802", "expected")


def test_a_mark_placed_on_the_way_is_what_the_entry_lives_by() -> None:
    stage = Stage(Provider(kind="anthropic", granularity=None))
    body = talk(Author(2), 2)
    observation = stage.observer.open(stage.call(body, dialect="anthropic.messages"))
    entry = observation.sight.entry
    assert entry is not None
    assert entry.lifetime_s == 300.0
    long = [{**block, **HOUR} for block in body["system"]]
    other = stage.observer.open(stage.call({**body, "system": long}, dialect="anthropic.messages"))
    assert other.sight.prompt is not None
    observation.revise(other.sight.prompt)

    assert entry.lifetime_s == 3_600.0


def test_an_expired_conversation_is_no_hit_because_another_keeps_the_instructions() -> None:
    author, stage = Author(3), Stage(MarkedProvider())
    long = marked(talk(author, 6))
    whole = stage.send(long, dialect="anthropic.messages").prompt_tokens
    other = marked({**long, "messages": [message("user", author.question())]})
    for _ in range(3):
        stage.send(other, after_s=200.0, dialect="anthropic.messages")
    record = stage.send(marked(continued(author, long)), after_s=100.0, dialect="anthropic.messages")

    diagnosis = record.diagnosis
    assert record.cached_tokens
    assert (diagnosis.hit, diagnosis.causes, diagnosis.attribution) == (False, ("PC802",), "expected")
    assert diagnosis.reusable_tokens == whole
    assert diagnosis.lost_tokens == whole - record.cached_tokens


@pytest.mark.parametrize(
    ("rest_s", "setting", "rules", "first"),
    [
        (150.0, "low", RULES, "PC101"),
        (350.0, "low", RULES, "PC802"),  # nobody else had come in time
        (150.0, "high", RULES, "PC802"),  # their cache is another
        (150.0, "low", rules_text(4), None),  # nothing so short is kept
    ],
)
def test_a_clock_is_charged_with_the_instructions_that_others_kept_alive(
    rest_s: float, setting: str, rules: str, first: str | None
) -> None:
    """What was said since has expired, whatever stands in front of it."""
    stage = Stage()
    talk = ("What becomes of my order?", "It is on its way. " * 40, "When?")

    def ask(second: int, *said: str, after_s: float, effort: str = "low") -> Diagnosis:
        body = chat(f"Now: 12:00:{second:02}\n{rules}", *said, reasoning_effort=effort)
        return stage.send(body, after_s=after_s).diagnosis

    ask(1, talk[0], after_s=5.0)
    ask(2, "Where are you?", after_s=100.0, effort=setting)
    ask(3, "Who are you?", after_s=100.0, effort=setting)
    found = ask(4, *talk, after_s=rest_s)
    assert found.cause == first
    if first == "PC101":
        assert (found.attribution, found.path) == ("caller", "messages[0]")
        assert sum(found.losses.values()) == found.lost_tokens
        assert found.losses["PC101"] > found.losses["PC802"] > 0
        assert "PC802" in found.summary
    elif first is not None:
        assert (found.attribution, dict(found.losses)) == ("expected", {"PC802": found.lost_tokens})
