"""Instructions that were changed once are another text, and neither dynamic nor there only sometimes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.gateway.observe.changing_traffic import codes_of
from tests.gateway.observe.deploy_traffic import DEPLOYS, DYNAMIC
from tests.gateway.observe.marked_traffic import play
from tests.gateway.observe.scenes import Stage, chat, rules_text
from tests.gateway.observe.traffic import Author

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.gateway.observe.marked_traffic import Scene

SEEDS = range(6)
OLD = rules_text(90)
NEW = OLD.replace("rule 40 says", "rule 40 demands")


@pytest.mark.parametrize("make", DEPLOYS, ids=lambda make: make.__name__)
def test_a_new_version_costs_once_and_is_nobodys_fault(make: Callable[[Author], Scene]) -> None:
    for seed in SEEDS:
        found = play(make(Author(seed)))
        assert found.causes == ("PC403",), (seed, found)
        assert (found.attribution, found.path, found.hit) == ("expected", "messages[0]", False), (seed, found)
        assert found.lost_tokens, (seed, found)
        assert found.losses == {"PC403": found.lost_tokens}


@pytest.mark.parametrize("make", DYNAMIC, ids=lambda make: make.__name__)
def test_what_changes_again_is_still_a_fault(make: Callable[[Author], Scene]) -> None:
    for seed in SEEDS:
        scene = make(Author(seed))
        found = play(scene)
        assert codes_of(found.causes, scene.codes) == scene.codes, (seed, found)
        assert found.attribution == "caller"


def test_in_one_conversation_the_first_edit_may_be_the_callers() -> None:
    stage, talk = Stage(), [f"Question number {number} of this talk?" for number in range(9)]
    for turn in range(3):
        stage.send(chat(OLD, *talk[: 2 * turn + 1]))
    found = stage.send(chat(NEW, *talk[:7])).diagnosis
    assert (found.cause, found.attribution) == ("PC403", "caller")


def test_two_requests_do_not_show_that_a_text_stood_still() -> None:
    stage = Stage()
    for text in (OLD, OLD, NEW):
        stage.send(chat(text, f"What of {len(stage.records)}?"))
    assert stage.records[-1].diagnosis.cause == "PC401"


def test_a_clock_beside_the_change_is_known_for_itself() -> None:
    stage = Stage()
    for number, text in enumerate((OLD, OLD, OLD, OLD, NEW)):
        stage.send(chat(f"Now: 2026-11-29T12:0{number}:00Z\n{text}", f"What of {number}?"))
    found = stage.records[-1].diagnosis
    assert found.cause == "PC101"
    assert found.attribution == "caller"


def talk_of(name: str, turns: int) -> list[str]:
    return [f"{name} says at turn {turn} that the parcel is late." for turn in range(2 * turns - 1)]


def test_a_talk_that_was_under_way_pays_for_a_new_version_once() -> None:
    stage = Stage()
    for turns in (1, 2, 3):
        stage.send(chat(OLD, *talk_of("Ann", turns)))
        stage.send(chat(OLD, *talk_of("Bob", turns)))
    stage.send(chat(NEW, *talk_of("Ann", 4)))
    known = stage.send(chat(NEW, *talk_of("Bob", 4))).diagnosis
    assert (known.cause, known.attribution) == ("PC403", "expected")
    back = stage.send(chat(OLD, *talk_of("Bob", 5))).diagnosis
    again = stage.send(chat(NEW, *talk_of("Bob", 6))).diagnosis
    for found in (back, again):
        assert found.attribution == "caller" or found.hit, found


def test_a_talk_begun_with_the_old_text_beside_the_new_one_is_changed_by_its_caller_each_time() -> None:
    stage = Stage()
    for name in ("Ann", "Bob", "Eve", "Ian"):
        for turns in (1, 2, 3):
            stage.send(chat(OLD, *talk_of(name, turns)))
        found = stage.send(chat(NEW, *talk_of(name, 4))).diagnosis
        assert (found.cause, found.attribution) == ("PC403", "caller"), (name, found)
        assert (found.path, bool(found.remedy), bool(found.lost_tokens)) == ("messages[0]", True, True)


def with_tools(order: str, *talk: str) -> dict[str, Any]:
    tools = [{"type": "function", "function": {"name": f"look_up_{one}", "parameters": {}}} for one in order]
    return {**chat(OLD, *talk), "tools": tools}


def with_sections(order: str, *talk: str) -> dict[str, Any]:
    third = len(OLD) // 3
    sections = {"a": OLD[:third], "b": OLD[third : 2 * third], "c": OLD[2 * third :]}
    return chat("\n\n".join(["You are a clerk.", *(sections[one] for one in order)]), *talk)


REORDERED = pytest.mark.parametrize(("make", "code"), [(with_tools, "PC301"), (with_sections, "PC204")])


@REORDERED
def test_an_order_that_was_changed_once_is_nobodys_fault_and_one_that_changes_again_is(
    make: Callable[..., dict[str, Any]], code: str
) -> None:
    stage = Stage()
    orders = ("abc", "abc", "abc", "bac", "bac", "bac", "cba")
    found = [
        stage.send(make(order, f"What of number {number}?")).diagnosis for number, order in enumerate(orders)
    ]
    edited = "PC403" if code == "PC204" else code
    assert (found[3].cause, found[3].attribution, found[3].hit) == (edited, "expected", False)
    assert found[3].lost_tokens
    assert all(stays.hit and stays.cause is None for stays in found[4:6])
    assert (found[6].cause, found[6].attribution) == (code, "caller")


@REORDERED
def test_a_talk_that_goes_to_and_fro_between_two_orders_is_changed_by_its_caller(
    make: Callable[..., dict[str, Any]], code: str
) -> None:
    stage, talk = Stage(), talk_of("Ann", 8)
    for turn, order in enumerate(("abc", "abc", "abc", "bac", "abc", "bac")):
        found = stage.send(make(order, *talk[: 2 * turn + 1])).diagnosis
        if turn >= 3:
            assert found.hit or (found.cause, found.attribution) == (code, "caller"), (turn, found)


def tool(name: str, about: str = "an order", *more: str) -> dict[str, Any]:
    texts = {one: {"type": "string"} for one in ("number", *more)}
    schema = {"type": "object", "properties": texts}
    described = f"Looks up {about} for whoever asks, and says so where there is none of that number."
    return {"type": "function", "function": {"name": name, "description": described, "parameters": schema}}


EDITS = pytest.mark.parametrize(
    "edited",
    [
        [tool("a"), tool("b", "an order", "reason"), tool("c")],
        [tool("a"), tool("b", "a parcel"), tool("c")],
        [tool("a"), tool("b"), tool("c"), tool("d")],
        [tool("a"), tool("c")],
    ],
    ids=["a parameter", "a word", "one more", "one less"],
)
TOOLS = [tool("a"), tool("b"), tool("c")]


@EDITS
def test_tools_that_a_new_version_changed_once_are_nobodys_fault(edited: list[dict[str, Any]]) -> None:
    stage = Stage()
    third = [tool("x"), *TOOLS[1:]]
    for number, tools in enumerate((TOOLS, TOOLS, TOOLS, edited, edited, edited, third)):
        stage.send({**chat(OLD, f"What of number {number}?"), "tools": tools})
    found = [record.diagnosis for record in stage.records]
    assert (found[3].cause, found[3].attribution, found[3].hit) == ("PC302", "expected", False)
    assert found[3].lost_tokens
    assert found[3].path is not None
    assert found[3].path.startswith("tools")
    assert all(one.hit for one in found[4:6])
    assert (found[6].cause, found[6].attribution) == ("PC302", "caller")


@EDITS
def test_tools_that_change_within_a_talk_are_its_callers(edited: list[dict[str, Any]]) -> None:
    stage, talk = Stage(), talk_of("Ann", 6)
    for turn in range(5):
        stage.send({**chat(OLD, *talk[: 2 * turn + 1]), "tools": edited if turn == 4 else TOOLS})
    found = stage.records[-1].diagnosis
    assert found.cause is not None
    assert found.cause in {"PC302", "PC303"}
    assert found.attribution == "caller"
