"""The counters of one request and of those before it: what they prove, and what they leave open."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from promptcache_gateway.observe.history import History
from promptcache_gateway.observe.tokens import Tokens
from tests.gateway.observe.marked_traffic import MARK, MarkedProvider, marked, message
from tests.gateway.observe.scenes import Stage, chat, outcome, rules_text
from tests.gateway.observe.traffic import Author
from tests.gateway.observe.written_provider import WrittenProvider

if TYPE_CHECKING:
    from promptcache_gateway.observe import Diagnosis

RULES = rules_text()
TABLE = "\n".join(f"{n * 7919},{n * 104729},{n}" for n in range(400))


def told(stage: Stage, body: dict[str, Any], prompt: int, read: int, **known: Any) -> Diagnosis:
    """Play an exchange with these counts."""
    stage.clock.now += 5
    observation = stage.observer.open(stage.call(body, **known))
    return stage.observer.close(observation, outcome(stage.provider.usage(prompt, read))).diagnosis


# --- what must have been read ---


def test_an_appended_request_is_held_to_the_length_of_the_one_before() -> None:
    first = chat(RULES, "Hi?")
    for read, cause in ((1_920, None), (1_792, None), (1_664, "PC809"), (0, "PC809")):
        stage = Stage()
        told(stage, first, 2_000, 0)
        diagnosis = told(stage, chat(RULES, "Hi?", "Yes?", TABLE), 8_000, read)

        assert diagnosis.cause == cause, read
        assert diagnosis.attribution == ("upstream" if cause else "expected")
        assert diagnosis.lost_tokens == (1_920 - read if cause else 0)


def test_nothing_is_expected_beyond_what_the_shortest_request_with_that_beginning_allows() -> None:
    stage = Stage()
    told(stage, chat(RULES, "Hi?"), 1_700, 0)
    diagnosis = told(stage, chat(RULES, TABLE), 7_000, 1_536)

    assert (diagnosis.hit, diagnosis.cause, diagnosis.lost_tokens) == (True, None, 0)
    assert told(stage, chat(RULES, "Ho?"), 1_701, 0).cause == "PC809"


def test_what_is_known_of_a_prefix_outlives_the_request_that_told_it() -> None:
    stage = Stage(history=History(max_requests=2))
    told(stage, chat(RULES, "Hi?"), 1_700, 0)
    for number in range(4):
        told(stage, chat(RULES, f"Table {number}: {TABLE}"), 7_000, 1_664)

    lost = told(stage, chat(RULES, f"Another table: {TABLE}"), 7_000, 0)

    assert lost.cause == "PC809"
    assert lost.expected_cached_tokens == pytest.approx(1_664, abs=128)


def test_between_the_least_and_the_most_what_was_read_was_all_there_was() -> None:
    for read in (1_408, 1_920, 2_560):
        stage = Stage()
        told(stage, chat(RULES, f"First: {TABLE}"), 7_000, 0)
        diagnosis = told(stage, chat(RULES, f"Second: {TABLE}"), 7_000, read)

        assert (diagnosis.hit, diagnosis.lost_tokens) == (True, 0)
        assert diagnosis.expected_cached_tokens == read


def test_nothing_read_of_what_may_be_too_short_is_unknown() -> None:
    stage = Stage()
    short = rules_text(60)
    told(stage, chat(short, f"First: {TABLE}"), 7_000, 0)
    diagnosis = told(stage, chat(short, f"Second: {TABLE}"), 7_000, 0)

    assert (diagnosis.hit, diagnosis.cause, diagnosis.attribution) == (None, None, "unknown")
    assert diagnosis.lost_tokens == 0


def test_a_stored_conversation_says_nothing_of_what_stands_in_the_request() -> None:
    stage = Stage()
    body = {"model": "model-a", "instructions": rules_text(40), "previous_response_id": "resp_1"}
    for number in range(3):
        diagnosis = told(stage, {**body, "input": f"Question {number}?"}, 9_000, 0)

        assert diagnosis.attribution != "upstream"


# --- what they refute ---


def test_more_than_a_break_allows_refutes_it() -> None:
    """Runs of one task: what a later step of one run has in common with another run is no fault of its."""
    author = Author(5)
    stage = Stage(WrittenProvider(), history=History(max_requests=8))
    system, task = author.instructions(130), author.question()
    runs = [[{"role": "system", "content": system}, {"role": "user", "content": task}] for _ in range(20)]
    causes = set()
    for _ in range(4):
        result = author.instructions(20)
        for run in runs:
            record = stage.send({"model": "gpt-4o", "messages": list(run)}, after_s=0.1)
            causes.add((record.diagnosis.cause, record.diagnosis.attribution))
            name = f"call_{author.random.getrandbits(96):024x}"
            call = {"id": name, "type": "function", "function": {"name": "run", "arguments": "{}"}}
            run.append({"role": "assistant", "content": None, "tool_calls": [call]})
            run.append({"role": "tool", "tool_call_id": name, "content": result})

    assert causes <= {("PC801", "expected"), (None, "expected"), (None, "unknown")}
    assert (None, "unknown") in causes


def test_a_break_that_the_counters_bear_out_stands() -> None:
    stage = Stage(history=History(max_requests=2))
    talk = ("Where is it?", "On its way. " * 90, "When?")
    for number in range(4):
        told(stage, chat(f"Now: 12:00:{number:02}\n{RULES}", *talk), 3_000, 0)
    diagnosis = told(stage, chat(f"Now: 12:00:41\n{RULES}", *talk, "Soon.", "Thank you."), 3_050, 0)

    assert (diagnosis.cause, diagnosis.attribution) == ("PC101", "caller")
    assert sum(diagnosis.losses.values()) == diagnosis.lost_tokens


# --- numbers ---


def test_a_hit_has_lost_nothing() -> None:
    stage = Stage(WrittenProvider())
    body = chat(RULES, "Hi?")
    for number in range(5):
        record = stage.send(body)
        if number:
            assert record.diagnosis.hit
            assert record.diagnosis.lost_tokens == 0
            assert record.diagnosis.reusable_tokens == record.cached_tokens
        body = {**body, "messages": [*body["messages"], *chat(None, f"And {number}? " * 20)["messages"]]}
        body["messages"].insert(-1, {"role": "assistant", "content": "It is on its way. " * 20})


# --- breakpoints ---


def anthropic(system: list[dict[str, Any]], *messages: str) -> dict[str, Any]:
    talk = [message("user" if at % 2 == 0 else "assistant", text) for at, text in enumerate(messages)]
    return {"model": "claude-sonnet-4-5", "max_tokens": 9, "system": system, "messages": talk}


def last_of(*bodies: dict[str, Any], after_s: float = 5.0) -> Diagnosis:
    stage = Stage(MarkedProvider())
    *earlier, last = bodies
    for body in earlier:
        stage.send(body, dialect="anthropic.messages")
    return stage.send(last, after_s=after_s, dialect="anthropic.messages").diagnosis


@pytest.mark.parametrize("clock", ["", "Now: 2026-11-29T12:00:0{}Z\n"])
def test_where_nothing_is_marked_that_is_the_first_cause(clock: str) -> None:
    bodies = [
        anthropic([{"type": "text", "text": clock.format(n) + RULES}], f"Question {n}?") for n in (1, 2)
    ]
    diagnosis = last_of(*bodies)

    assert (diagnosis.hit, diagnosis.cause, diagnosis.attribution) == (False, "PC602", "caller")
    assert diagnosis.losses == {"PC602": diagnosis.lost_tokens}
    assert ("PC101" in diagnosis.causes) == bool(clock)


def test_where_nothing_is_marked_and_nothing_would_have_lived_nobody_is_blamed() -> None:
    bodies = [anthropic([{"type": "text", "text": RULES}], f"Question {n}?") for n in (1, 2)]

    assert last_of(*bodies, after_s=1_000.0).attribution != "caller"


def test_marks_put_in_on_the_way_show_in_the_counters() -> None:
    stage = Stage(MarkedProvider())
    bare = [anthropic([{"type": "text", "text": RULES}], f"Question {n}?") for n in (1, 2)]
    for body in bare:
        stage.clock.now += 5
        observation = stage.observer.open(stage.call(body, dialect="anthropic.messages"))
        marks = stage.provider.serve(marked(body), stage.clock.now)
        diagnosis = stage.observer.close(observation, outcome(marks)).diagnosis

    assert "PC602" not in diagnosis.causes


def test_a_change_behind_all_marks_costs_nothing_and_before_one_it_does() -> None:
    rules = {"type": "text", "text": RULES, **MARK}

    def body(second: int, *talk: str) -> dict[str, Any]:
        return anthropic([rules, {"type": "text", "text": f"Now: 2026-11-29T12:00:0{second}Z"}], *talk)

    behind = last_of(body(1, "Who?"), body(2, "Who else?"))
    before = last_of(marked(body(1, "Who?" * 99)), marked(body(2, "Who?" * 99, "I.", "Who else?")))

    assert (behind.hit, behind.cause, behind.lost_tokens) == (True, None, 0)
    assert (before.cause, before.attribution) == ("PC101", "caller")
    assert before.lost_tokens


def test_a_mark_that_lives_for_an_hour_keeps_no_other() -> None:
    rules = [{"type": "text", "text": RULES, "cache_control": {"type": "ephemeral", "ttl": "1h"}}]
    bodies = [anthropic(rules, "Who?" * 99), anthropic(rules, "Who?" * 99, "I.", "Who else?")]
    for idle_s, cause in ((60.0, None), (1_200.0, "PC802"), (4_000.0, "PC802")):
        diagnosis = last_of(*map(marked, bodies), after_s=idle_s)

        assert diagnosis.cause == cause
        assert diagnosis.attribution == "expected"


def test_an_estimated_position_is_no_lower_than_what_was_read() -> None:
    tokens = Tokens(prompt=5_000, cached=4_480, expected=1_920, offset=1_949, estimated=True)
    assert (tokens.at_least(tokens.offset), tokens.at_least(tokens.expected)) == (4_480, 4_480)
    assert replace(tokens, floor=0).at_least(tokens.offset) == 1_949  # another request left what was read
    exact = Tokens(prompt=5_000, cached=4_480, expected=1_920, offset=1_949)
    assert (exact.at_least(exact.offset), exact.at_least(None)) == (1_949, None)
