"""What is made while the upstream works changes nothing of what is said in the end, and is not made twice."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest

from promptcache.usage import Usage
from promptcache_gateway.observe import comparison, pieces
from promptcache_gateway.observe.preparing import prepare
from promptcache_gateway.observe.verdict import diagnose, draft
from tests.gateway.observe.marked_traffic import MARK, MarkedProvider, marked, message
from tests.gateway.observe.scenes import Provider, Stage, chat, outcome, rules_text
from tests.gateway.observe.traffic import FAULTS, SCENES, Author

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptcache_gateway.observe.evidence import Evidence
    from tests.gateway.observe.traffic import Pair


AGENT = {"model": "claude-sonnet-4-5", "max_tokens": 100}


def evidence_of(pair: Pair) -> Evidence:
    stage = Stage(Provider())
    for body in pair.earlier:
        stage.send(body)
    return stage.observer.open(stage.call(pair.later)).evidence(stage.observer._masker)


@pytest.mark.parametrize("make", [*SCENES, *FAULTS], ids=lambda make: make.__name__)
def test_it_changes_no_diagnosis(make: Callable[[Author], Pair]) -> None:
    pair = make(Author(3))
    plain, prepared = evidence_of(pair), evidence_of(pair)
    prepare(prepared, whatever_is_read=True)
    for read in (0, 1_024):
        usage = Usage(total_input=3_000, cache_read=read, reported=True)
        one, other = diagnose(plain, usage, None), diagnose(prepared, usage, None)
        assert one == other
        told = draft(prepared, usage, None)
        for name in ("cause", "path", "char_offset", "lost_tokens", "lost_usd", "remedy", "attribution"):
            assert getattr(told, name) == getattr(one, name), "an answer says what the record will"


@pytest.mark.parametrize("clock", [False, True])
def test_what_is_counted_in_the_meantime_is_gone_by(clock: bool) -> None:
    """A predecessor that is answered after the request was prepared, and before its own answer."""
    found = []
    for early in (False, True):
        stage = Stage(Provider(granularity=1))
        talk = ["Where is my order?", "It is on its way.", "And when is it here?"]
        bodies = [chat(f"{f'Now: 12:00:0{n}. ' if clock else ''}{rules_text()}", *talk[:n]) for n in (1, 3)]
        first = stage.observer.open(stage.call(bodies[0]))
        second = stage.observer.open(stage.call(bodies[1])).evidence(stage.observer._masker)
        usage = Usage(total_input=2_345, cache_read=0, reported=True)
        if early:
            diagnose(second, usage, None)
        stage.observer.close(first, outcome(stage.provider.usage(1_800, 0)))
        found.append(diagnose(second, usage, None))

    assert found[0] == found[1]


def test_what_was_measured_is_not_measured_again() -> None:
    evidence = evidence_of(FAULTS[0](Author(3)))
    prepare(evidence)
    usage = Usage(total_input=3_000, cache_read=0, reported=True)
    with patch.object(pieces, "segment_bounds", side_effect=AssertionError("measured again")):
        assert diagnose(evidence, usage, None).cause is not None


def agent(turns: int, *, mark: bool = True) -> dict[str, object]:
    """An agent's conversation with a mark on its instructions and on its last question."""
    said = [message(("user", "assistant")[n % 2], rules_text(12, f"turn {n}")) for n in range(turns)]
    system = [{"type": "text", "text": rules_text(), **(MARK if mark else {})}]
    body = {**AGENT, "system": system, "messages": said}
    return marked(body) if mark else body


def test_what_a_hit_is_asked_is_found_out_before_its_answer() -> None:
    stage = Stage(MarkedProvider())
    for turns in (1, 3):
        stage.send(agent(turns), dialect="anthropic.messages")
    stage.clock.now += 5.0
    observation = stage.observer.open(stage.call(agent(5), dialect="anthropic.messages"))
    stage.observer.prepare(observation)
    usage = stage.provider.serve(agent(5), stage.clock.now)
    with patch.object(comparison, "compare_segments", side_effect=AssertionError("compared again")):
        record = stage.observer.close(observation, outcome(usage))

    assert record.diagnosis.hit is True
    assert record.cached_tokens


def test_a_predecessor_that_goes_out_as_another_request_is_compared_with_again() -> None:
    """Marks may be put into a request on its way, after its successor was made ready for."""
    found = []
    for early in (False, True):
        stage = Stage(MarkedProvider())
        stage.send(agent(1, mark=False), dialect="anthropic.messages")
        first = stage.observer.open(stage.call(agent(3, mark=False), dialect="anthropic.messages"))
        second = stage.observer.open(stage.call(agent(5), dialect="anthropic.messages"))
        if early:
            stage.observer.prepare(second)
        other = Stage(MarkedProvider())
        sent = other.observer.open(other.call(agent(3), dialect="anthropic.messages")).sight.prompt
        assert sent is not None
        first.revise(sent)
        stage.observer.close(first, outcome(stage.provider.serve(agent(3), stage.clock.now)))
        stage.provider.forget()  # type: ignore[attr-defined]
        usage = stage.provider.serve(agent(5), stage.clock.now)
        found.append(stage.observer.close(second, outcome(usage)).diagnosis)

    assert found[0] == found[1]


@pytest.mark.parametrize("at_leisure", [False, True])
def test_a_request_that_came_alone_is_ready_for_a_miss(at_leisure: bool) -> None:
    stage = Stage(Provider())
    for number in range(3):
        stage.send(chat(rules_text(), f"What is rule {number}? " * 40))
    stage.clock.now += 5.0
    evidence = stage.observer.open(stage.call(chat(rules_text(), "And what is left? " * 40))).evidence(
        stage.observer._masker
    )
    prepare(evidence, at_leisure=at_leisure)
    usage = Usage(total_input=2_000, cache_read=0, reported=True)
    with patch.object(pieces, "segment_bounds", wraps=pieces.segment_bounds) as measured:
        assert draft(evidence, usage, None).cause == "PC809"

    assert (measured.call_count == 0) is at_leisure
