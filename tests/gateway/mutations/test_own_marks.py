"""Breakpoints that the gateway puts in begin, move and are missing: nobody blames the caller for it."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache_gateway.mutations import read_mutations
from tests.gateway.mutations.crew import Crew
from tests.gateway.mutations.stage import LONG, messages
from tests.gateway.mutations.test_worth import conversation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache_gateway.observe import RequestRecord

Body = dict[str, Any]
MARK = {"cache_control": {"type": "ephemeral"}}


def causes(record: RequestRecord) -> tuple[str | None, str]:
    return record.diagnosis.cause, record.diagnosis.attribution


def played(crew: Crew, bodies: Sequence[Body], workers: Sequence[int]) -> list[RequestRecord]:
    return [crew.send(worker, body) for worker, body in zip(workers, bodies, strict=True)]


def marked(body: Body, *places: str) -> Body:
    """The request with the caller's own marks on its system prompt, its last message, or both."""
    body = copy.deepcopy(body)
    for place in places:
        (body[place][-1] if place == "system" else body[place][-1]["content"][-1]).update(MARK)
    return body


def edited(body: Body) -> Body:
    body = copy.deepcopy(body)
    first = body["messages"][0]["content"][0]
    first["text"] = f"{first['text']} Please."
    return body


def clocked(number: int, *before: Body) -> Body:
    text = f"Now it is 2026-11-29T10:00:{number:02}Z. {LONG}"
    asked = [{"role": "user", "content": f"Question {number}?"}]
    return messages(system=[*before, {"type": "text", "text": text}], messages=asked)


def test_a_mark_that_one_worker_sets_and_the_next_does_not_is_the_gateways() -> None:
    found = played(Crew(2, sharing=False), conversation(6), [0, 0, 0, 0, 1, 0])
    missed = found[4]
    assert (missed.cached_tokens, causes(missed)) == (0, ("PC602", "expected"))
    assert missed.diagnosis.lost_tokens
    assert "The gateway's own breakpoint at messages[2].content[0]" in missed.diagnosis.summary


def test_a_mark_that_one_worker_sets_further_back_is_the_gateways() -> None:
    found = played(Crew(2, sharing=False), conversation(10), [0, 0, 0, 0, 1, 0, 1, 1, 1, 0])
    last = found[-1]
    assert last.cached_tokens, "up to where this worker marks"
    assert causes(last) == ("PC602", "expected")


def test_a_mark_is_set_where_any_worker_has_seen_a_prefix_to_come_again() -> None:
    found = played(Crew(3), conversation(8), [0, 1, 2, 0, 1, 2, 2, 0])
    assert [one.diagnosis.cause for one in found] == ["PC801", "PC602", *[None] * 6]
    assert all(one.cached_tokens for one in found[3:])


def test_marks_of_another_worker_are_marked_again_where_a_turn_is_long() -> None:
    found = played(Crew(2), conversation(8, blocks=14), [0, 1] * 4)
    assert all(one.cached_tokens for one in found[4:])


def test_what_the_gateway_waits_to_mark_is_nobodys_fault() -> None:
    _, second, *_ = played(Crew(1), conversation(2), [0, 0])
    assert causes(second) == ("PC602", "expected")
    assert second.diagnosis.summary.startswith("The gateway's own breakpoints, as [mutations] has them")


def test_a_history_behind_the_callers_own_mark_awaits_the_gateways() -> None:
    long = [marked(body, "system") for body in conversation(4, blocks=60)]
    found = played(Crew(2, sharing=False), long, [0, 0, 1, 1])
    assert {causes(one) for one in found[1:]} <= {("PC602", "expected"), (None, "expected")}
    assert ("PC602", "expected") in {causes(one) for one in found}


def test_marks_that_are_not_wanted_any_more_are_the_gateways() -> None:
    crew, bodies = Crew(1), conversation(6)
    played(crew, bodies[:4], [0] * 4)
    crew.stages[0].mutator.renew(read_mutations({}))
    assert causes(crew.send(0, bodies[4])) == ("PC602", "expected")
    assert causes(crew.send(0, bodies[5])) == ("PC602", "caller"), "nobody marks anything any more"


@pytest.mark.parametrize("sharing", [True, False])
def test_a_caller_who_drops_a_mark_beside_the_gateways_is_told(sharing: bool) -> None:
    bodies = [marked(body, "messages") if n < 4 else body for n, body in enumerate(conversation(5))]
    dropped = played(Crew(2, sharing=sharing), bodies, [0] * 5)[-1]
    assert causes(dropped) == ("PC602", "caller")
    assert dropped.diagnosis.summary.startswith("messages[6].content[0] carried a breakpoint")


def test_a_caller_who_drops_every_mark_where_the_gateway_sets_none_is_told() -> None:
    bodies = [marked(body, "system") if n < 4 else body for n, body in enumerate(conversation(5))]
    assert causes(played(Crew(2, sharing=False), bodies, [0, 0, 0, 0, 1])[-1]) == ("PC602", "caller")


def test_a_caller_whose_own_marks_are_too_far_apart_is_told() -> None:
    bodies = [marked(body, "messages") for body in conversation(3, blocks=14)]
    assert causes(played(Crew(1), bodies, [0] * 3)[1]) == ("PC605", "caller")


def test_a_clock_that_keeps_the_gateway_from_marking_is_the_callers() -> None:
    found = played(Crew(1), [clocked(n) for n in range(4)], [0] * 4)
    assert causes(found[1]) == ("PC602", "expected"), "nothing would have been marked yet"
    assert [causes(one) for one in found[2:]] == [("PC101", "caller")] * 2


def test_a_clock_behind_what_the_gateway_marks_is_the_callers() -> None:
    steady = {"type": "text", "text": LONG}
    *_, last = played(Crew(1), [clocked(n, steady) for n in range(5)], [0] * 5)
    assert last.cached_tokens
    assert causes(last) == ("PC101", "caller")
    assert "PC601" not in last.diagnosis.causes, "no caller put a mark there"


def test_an_edit_costs_nothing_where_nothing_had_been_marked() -> None:
    bodies = conversation(3)
    last = played(Crew(1), [*bodies[:2], edited(bodies[2])], [0] * 3)[-1]
    assert (last.diagnosis.cause, last.diagnosis.lost_tokens) == (None, 0)


def test_an_edit_of_what_the_gateway_had_marked_is_the_callers() -> None:
    bodies = conversation(6)
    last = played(Crew(1), [*bodies[:5], edited(bodies[5])], [0] * 6)[-1]
    assert causes(last) == ("PC502", "caller")


@pytest.mark.parametrize("workers", [[0] * 6, [0, 1, 2, 0, 1, 2]])
def test_a_change_in_front_of_all_that_the_gateway_had_marked_is_the_callers(workers: list[int]) -> None:
    """That nothing is marked any more follows from it: nothing of the request has been seen before."""
    bodies = conversation(6)
    spaced = bodies[5]["system"][0]["text"].replace(" ", "  ", 1)
    for changed, code in (
        ({"system": [{"type": "text", "text": spaced}]}, "PC206"),
        ({"tools": [{"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}]}, "PC302"),
    ):
        last = played(Crew(3), [*bodies[:5], {**bodies[5], **changed}], workers)[-1]
        assert last.cached_tokens == 0
        assert causes(last) == (code, "caller")
        assert "PC602" not in last.diagnosis.causes


def test_a_change_is_not_the_cause_where_the_gateway_marks_no_more() -> None:
    crew, bodies = Crew(1), conversation(6)
    played(crew, bodies[:5], [0] * 5)
    crew.stages[0].mutator.renew(read_mutations({}))
    spaced = bodies[5]["system"][0]["text"].replace(" ", "  ", 1)
    last = crew.send(0, {**bodies[5], "system": [{"type": "text", "text": spaced}]})
    assert causes(last) == ("PC602", "expected")


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 5), st.integers(0, 1)), min_size=3, max_size=9),
    st.sampled_from([(), ("system",), ("messages",), ("system", "messages")]),
    st.booleans(),
)
def test_who_only_goes_on_is_never_blamed(
    turns: list[tuple[int, int, int]], places: tuple[str, ...], sharing: bool
) -> None:
    """Whatever worker a turn of a conversation comes to, and however the caller marks, if always alike."""
    crew = Crew(3, sharing=sharing)
    talks: tuple[list[Body], ...] = ([], [])
    for number, (worker, blocks, which) in enumerate(turns):
        talk = talks[which]
        words = f"{which}.{number} says something of weight. " * 12
        said = [{"type": "text", "text": f"{block}: {words}"} for block in range(blocks)]
        talk.append({"role": "user", "content": said})
        found = crew.send(worker, marked(messages(messages=copy.deepcopy(talk)), *places))
        talk.append({"role": "assistant", "content": said})
        assert found.diagnosis.attribution in {"expected", "unknown"}, found.diagnosis
