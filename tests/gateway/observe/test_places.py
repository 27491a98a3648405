"""Every cause has its own place: segment, character, token and excerpts, the request's place the first's."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest

from tests.gateway.observe.scenes import Provider, Stage, chat, rules_text
from tests.gateway.observe.traffic import COMBINED, FAULTS, Author, clocked

if TYPE_CHECKING:
    from promptcache_gateway.observe import Diagnosis
    from promptcache_gateway.observe.places import Place

RULES = rules_text()
HALF = RULES[: len(RULES) // 2]


def judged(earlier: dict[str, Any], later: dict[str, Any], *, after_s: float = 5.0) -> Diagnosis:
    """The diagnosis of the later one, by a cache that counts single tokens of four bytes."""
    stage = Stage(Provider(granularity=1, minimum=0))
    stage.send(earlier)
    return stage.send(later, after_s=after_s).diagnosis


def by_code(diagnosis: Diagnosis) -> dict[str, Place]:
    return {place.code: place for place in diagnosis.places}


def test_the_costliest_cause_stands_behind_the_first_difference() -> None:
    def body(second: int, said: str) -> dict[str, Any]:
        return chat(
            f"Rules.\nNow: 12:00:{second:02}\n", "Hi, I am Ada.", said + RULES, "And then?", RULES, "Ok?"
        )

    diagnosis = judged(body(1, "Hello."), body(42, "Hallo."))

    assert (diagnosis.cause, diagnosis.causes) == ("PC502", ("PC502", "PC101"))
    assert (diagnosis.path, diagnosis.char_offset) == ("messages[2]", 1)
    assert (diagnosis.before or "").startswith("Hello.")
    assert (diagnosis.after or "").startswith("Hallo.")
    clock = by_code(diagnosis)["PC101"]
    assert (clock.path, clock.char_offset) == ("messages[0]", len("Rules.\nNow: 12:00:"))
    assert clock.after is not None
    assert "12:00:42" in clock.after
    assert diagnosis.token_offset is not None
    assert clock.token_offset is not None
    assert clock.token_offset < diagnosis.token_offset == pytest.approx(25, abs=15)
    assert diagnosis.summary.startswith("A message that had already been sent was changed: ")
    in_front = f"the current time stands in the prefix (PC101, {clock.lost_tokens} tokens)"
    assert diagnosis.summary.endswith(
        f" tokens computed again. In front of it: {in_front}; nothing behind that is read until it is mended."
    )


def test_a_summary_names_what_stands_behind() -> None:
    def body(second: int, said: str) -> dict[str, Any]:
        return chat(f"Now: 12:00:{second:02}\n{RULES}", "Hi, I am Ada.", said, "And then?", "No.", "Ok?")

    diagnosis = judged(body(1, "Hello to you."), body(42, "Hallo to you."))
    assert diagnosis.cause == "PC101"
    edited = by_code(diagnosis)["PC502"]
    assert diagnosis.summary.endswith(
        f" tokens computed again. Behind it: a message that had already been sent was changed"
        f" (PC502, {edited.lost_tokens} tokens)."
    )


@pytest.mark.parametrize("make", [*COMBINED, *FAULTS], ids=lambda make: make.__name__)
def test_places_go_with_the_causes(make: Any) -> None:
    for seed in range(6_000, 6_004):
        pair = make(Author(seed))
        pair = clocked(pair) if make in COMBINED else pair
        stage = Stage()
        for body in pair.earlier:
            stage.send(body)
        diagnosis = stage.send(pair.later, after_s=pair.after_s).diagnosis
        if not diagnosis.places:
            assert diagnosis.path is None
            continue
        first = diagnosis.places[0]
        assert tuple(place.code for place in diagnosis.places) == diagnosis.causes
        assert (first.path, first.char_offset, first.token_offset, first.before, first.after) == (
            diagnosis.path,
            diagnosis.char_offset,
            diagnosis.token_offset,
            diagnosis.before,
            diagnosis.after,
        )
        assert {place.code: place.lost_tokens for place in diagnosis.places if place.lost_tokens} == dict(
            diagnosis.losses
        )
        texts = written(pair.later)
        for place in diagnosis.places:
            if place.path in texts and place.char_offset is not None:
                near = (place.after or "").strip("…")
                assert near in texts[place.path], (seed, place)
                assert texts[place.path].index(near) <= place.char_offset


def written(body: dict[str, Any]) -> dict[str, str]:
    """Each message's text by its path."""
    said = enumerate(body["messages"])
    return {f"messages[{at}]": one["content"] for at, one in said if isinstance(one["content"], str)}


def test_a_setting_stands_nowhere_in_the_text() -> None:
    talk = ("What becomes of my order?", "It is on its way.", "When?")
    body = chat(f"Now: 12:00:59\n{RULES}", talk[0], reasoning_effort="low")
    places = by_code(judged(body, chat(f"Now: 12:00:01\n{RULES}", *talk, reasoning_effort="high")))

    assert (places["PC504"].path, places["PC504"].char_offset) == (None, None)
    assert (places["PC504"].before, places["PC504"].after) == ("low", "high")
    assert places["PC101"].path == "messages[0]"


def test_what_ended_the_prefix_anyway_has_no_place_and_the_fault_keeps_its_own() -> None:
    diagnosis = judged(
        chat(f"Now: 12:00:01\n{RULES}", "Hi?"), chat(f"Now: 12:00:59\n{RULES}", "Ho?"), after_s=900
    )

    assert diagnosis.cause == "PC802"
    assert (diagnosis.path, diagnosis.char_offset, diagnosis.before) == (None, None, None)
    assert by_code(diagnosis)["PC101"].path == "messages[0]"


def test_a_value_whose_length_changed_is_shown_on_both_sides() -> None:
    def body(count: int, name: str) -> dict[str, Any]:
        return chat(f"Step {count} of 9,000,000.\n{HALF}\nRequest id: {name}\n{RULES}", "Hi?")

    one, other = "3f2b8c1e-9a4d-4e21-8b7a-1c2d3e4f5a6b", "9d8c7b6a-5f4e-4d3c-a2b1-0f1e2d3c4b5a"
    place = by_code(judged(body(9, one), body(10_000, other)))["PC102"]

    assert "Request id: 3f2b8c1e" in (place.before or "")
    assert "Request id: 9d8c7b6a" in (place.after or "")


def test_a_tool_edited_behind_a_clock_is_found_in_the_tool() -> None:
    def tool(name: str, text: str) -> dict[str, Any]:
        return {"type": "function", "function": {"name": name, "description": text, "parameters": {}}}

    tools = [
        tool("search", f"Now: 2026-11-29T12:00:01Z. {HALF}"),
        tool("refund", f"Refunds an order. {RULES}"),
    ]
    later = copy.deepcopy(tools)
    later[0]["function"]["description"] = f"Now: 2026-11-29T12:00:42Z. {HALF}"
    later[1]["function"]["description"] = f"Refunds an order and a half. {RULES}"
    found = by_code(judged(chat(RULES, "Hi?", tools=tools), chat(RULES, "Hi?", "Yes?", "Ho?", tools=later)))

    assert found["PC101"].path == "tools[0]"
    assert found["PC302"].path == "tools[1]"
    assert (found["PC302"].after or "").count("Refunds an order and a half")


def test_no_text_leaves_without_being_asked_for() -> None:
    diagnosis = judged(chat(f"Now: 12:00:01\n{RULES}", "Hi?"), chat(f"Now: 12:00:59\n{RULES}", "Ho?"))
    told = diagnosis.to_dict(excerpts=False)

    assert [place["before"] for place in told["places"]] == [None] * len(diagnosis.places)
    assert [place["after"] for place in told["places"]] == [None] * len(diagnosis.places)
    assert any(place["after"] for place in diagnosis.to_dict()["places"])


@pytest.mark.parametrize("more", [1, 3])
def test_tools_that_came_off_the_end_of_their_list_are_named_and_not_what_moved_up(more: int) -> None:
    tools = Author(5).tools()
    while len(tools) < 5:
        tools.append(Author(len(tools)).tool(f"further_{len(tools)}"))
    fewer = tools[: len(tools) - more]
    diagnosis = judged(chat(RULES, "Hi.", tools=tools), chat(RULES, "Hi, you.", tools=fewer))
    place = by_code(diagnosis)["PC302"]
    assert (diagnosis.path, place.path, place.char_offset) == (f"tools[{len(fewer)}]",) * 2 + (0,)
    assert tools[len(fewer)]["function"]["name"] in (place.before or "")
    assert place.after == ""
    added = judged(chat(RULES, "Hi.", tools=fewer), chat(RULES, "Hi, you.", tools=tools))
    assert added.path == f"tools[{len(fewer)}]"
