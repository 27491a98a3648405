"""What a break is called: in the words of one conversation only where there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.gateway.observe.scenes import Stage, chat, rules_text

if TYPE_CHECKING:
    from promptcache_gateway.observe import Diagnosis

RULES = rules_text()


def tool(name: str, text: str = "Looks a thing up.") -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": text, "parameters": {}}}


TOOLS = [tool("search"), tool("refund"), tool("ship"), tool("close")]


def judged(earlier: dict[str, Any], later: dict[str, Any]) -> Diagnosis:
    stage = Stage()
    stage.send(earlier)
    return stage.send(later).diagnosis


def test_a_new_conversation_with_other_tools_changed_none_of_its_own() -> None:
    diagnosis = judged(chat(RULES, "Hi?", tools=TOOLS), chat(RULES, "Where is it?", tools=TOOLS[:2]))

    assert diagnosis.cause == "PC302"
    assert diagnosis.summary.startswith("The tools are others than in the earlier request")


def test_one_conversation_whose_tools_change_did() -> None:
    earlier = chat(RULES, "Where is my order, please?", tools=TOOLS)
    later = chat(RULES, "Where is my order, please?", "On its way.", "When will it come?", tools=TOOLS[:2])

    assert judged(earlier, later).summary.startswith("The set of tools changed between requests")


def profile(facts: str) -> str:
    return f"About the customer: they {facts}. They came to us because a friend told them to.\n{RULES}"


ADA = profile("keep bees in the garden behind their house and sell honey at the market")
BOB = profile("like to collect old maps of seas, and travel a lot whenever it is warm")


def test_two_customers_profiles_are_no_edit() -> None:
    diagnosis = judged(chat(ADA, "Hi?"), chat(BOB, "Is there anybody?"))

    assert diagnosis.cause == "PC401"
    assert "PC403" not in diagnosis.causes


def test_an_edit_within_a_conversation_is_one() -> None:
    diagnosis = judged(
        chat(ADA, "Where is my order, please?"),
        chat(BOB, "Where is my order, please?", "On its way.", "When will it come?"),
    )

    assert set(diagnosis.causes) == {"PC401", "PC403"}


def test_tools_that_are_new_are_compared_with_the_request_whose_instructions_are_the_same() -> None:
    stage = Stage()
    for number in range(6):
        stage.send(chat(RULES, f"What is rule {number} for, and since when?"))
    for number in range(3):
        broken = RULES.replace("\n", f"\nSession 3f2b8a64-9c1d-4e5f-8a7b-0000000{number}a1b2\n", 1)
        stage.send(chat(broken, f"Who wrote rule {number}, and where is it kept?"))

    diagnosis = stage.send(chat(RULES, "Which rule is the oldest of them all?", tools=TOOLS)).diagnosis

    assert diagnosis.causes == ("PC302",)
