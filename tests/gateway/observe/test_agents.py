"""Agents that share most of what they say, and one agent with other documents: what tells them apart."""

from __future__ import annotations

import random

import pytest

from promptcache.usage import Usage
from promptcache_gateway.observe.lodgers import ENOUGH
from promptcache_gateway.observe.masking import Masker
from promptcache_gateway.observe.templates import AGENTS, Templates
from tests.gateway.observe.scenes import Provider, Stage, chat, outcome
from tests.gateway.observe.test_lodgers import prose, signs, who

POLICY = prose(4_000, "policy")
JOBS = (
    "billing",
    "refund",
    "shipping",
    "customs",
    "returns",
    "warranty",
    "sales",
    "security",
    "legal",
    "press",
)


def role(n: int) -> str:
    return f"You are the {JOBS[n % len(JOBS)]} agent of desk {'abcdefgh'[n // len(JOBS)]}.\n"


COMPANY = {
    "behind": lambda n: prose(1_500, n) + POLICY,
    "in the middle": lambda n: prose(700, n) + prose(5_000, "policy") + prose(800, f"more {n}"),
    "in front": lambda n: prose(3_500, "policy") + prose(1_200, n),
    "longer than any footer": lambda n: prose(2_000, n) + prose(6_000, "policy"),
}


@pytest.mark.parametrize("said", [role, lambda _: ""], ids=["who they are", "nothing of themselves"])
@pytest.mark.parametrize("form", COMPANY)
def test_agents_with_a_long_policy_are_several_once_each_has_come_again(form: str, said: object) -> None:
    stage, made = Stage(Provider()), COMPANY[form]
    agents = [n % 5 for n in range(25)]
    records = [
        stage.send(chat(said(agent) + made(agent), f"Question {at}?"))  # type: ignore[operator]
        for at, agent in enumerate(agents)
    ]
    assert not [record.diagnosis.cause for record in records if record.diagnosis.attribution == "caller"]
    assert all(record.diagnosis.cause is None for record in records[5:]), "each finds its own earlier request"
    settled = {(agent, record.template) for agent, record in list(zip(agents, records, strict=True))[-5:]}
    assert len({name for _, name in settled}) == len(settled) == 5
    other = Templates(Masker())
    for template in stage.observer._templates.take_learned():  # another process is told
        assert other.alike(template) is None
        other.recall((template,))


@pytest.mark.parametrize(
    "made",
    [
        lambda n: role(n) + prose(4_000, n) + prose(1_100, "foot"),
        lambda n: role(n) + prose(1_500, n) + POLICY,
        lambda n: prose(2_500, n) + "\n" + role(n) + POLICY,
        lambda n: f"Du bist der {JOBS[n % 10].capitalize()}-Agent {n}.\n" + prose(2_000, n) + POLICY,
        lambda n: f"\u4f60\u662f{signs(12, n)}\u3002" + signs(700, n) + signs(2_000, "policy"),
    ],
    ids=["a footer", "a policy", "behind", "German", "Chinese"],
)
def test_agents_that_say_who_they_are_are_never_blamed_for_being_many(made: object) -> None:
    stage = Stage(Provider())
    records = [stage.send(chat(made(n), f"Question {n}?")) for n in range(ENOUGH + 4)]  # type: ignore[operator]
    assert {record.diagnosis.attribution for record in records} == {"expected"}


def test_agents_that_say_who_they_are_are_not_taken_for_one_that_lodges() -> None:
    """Nine tenths of what they say is the same: one is all but like another that has not come again yet."""
    stage, chance = Stage(Provider()), random.Random(38)
    for at in range(50):
        n = chance.randrange(10)
        record = stage.send(chat(role(n) + prose(700, n) + prose(6_000, "policy"), f"Question {at}?"))
        assert record.diagnosis.attribution != "caller"


def test_agents_with_tools_of_their_own_are_never_blamed_for_being_many() -> None:
    stage = Stage(Provider())
    for n in range(ENOUGH + 4):
        tools = [
            {"type": "function", "function": {"name": name, "parameters": {}}}
            for name in ("search", f"own_{n}")
        ]
        record = stage.send(chat(prose(4_000, n) + prose(1_100, "foot"), f"Question {n}?", tools=tools))
        assert record.diagnosis.attribution == "expected"


@pytest.mark.parametrize(
    "made",
    [
        lambda n: "Answer from these documents:\n" + prose(2_000, n) + POLICY,
        lambda n: f"You are a helpful assistant for {who(n)}. {prose(2_000, n)}" + POLICY,
        lambda n: prose(2_000, n) + "\nYou are the support agent.\n" + POLICY,
        lambda n: f"Du hilfst {who(n)}.\n{POLICY}\n{prose(3_000, n)}\n{POLICY[::-1]}",
    ],
    ids=["a line above", "a customer's name", "who answers stands behind", "a name in front of rules"],
)
def test_one_agent_is_blamed_at_once_for_what_changes_in_front_of_its_rules(made: object) -> None:
    stage = Stage(Provider())
    records = [stage.send(chat(made(n), f"Question {n}?")) for n in range(4)]  # type: ignore[operator]
    assert {record.diagnosis.attribution for record in records[1:]} == {"caller"}
    assert len({record.template for record in records}) == 1


def test_where_nothing_tells_documents_are_blamed_once_many_came_and_none_returned() -> None:
    stage = Stage(Provider())
    records = [stage.send(chat(prose(2_000, n) + POLICY, f"Question {n}?")) for n in range(ENOUGH + 4)]
    causes = [record.diagnosis.cause for record in records]
    assert causes == ["PC801"] * ENOUGH + ["PC401"] * 4
    assert len({record.template for record in records}) == 1


@pytest.mark.parametrize("made", [lambda n: role(n) + prose(1_500, n), lambda n: prose(1_500, n)])
def test_a_clock_in_agents_prompts_is_named_and_no_agent_blamed_for_another(made: object) -> None:
    stage = Stage(Provider())
    for at in range(20):
        system = f"It is 2026-11-29T12:{at:02}:00Z.\n" + made(at % 4) + POLICY  # type: ignore[operator]
        cause = stage.send(chat(system, f"Question {at}?")).diagnosis.cause
        assert cause == "PC101" or (at < 4 and cause == "PC801")


def test_a_new_version_takes_the_templates_name_and_nobody_is_blamed() -> None:
    stage = Stage(Provider())
    records = [stage.send(chat(prose(2_000, n // 8) + POLICY, f"Question {n}?")) for n in range(16)]
    assert len({record.template for record in records}) == 1
    assert not any(record.diagnosis.attribution == "caller" for record in records)


def test_customers_with_long_profiles_are_not_each_a_template() -> None:
    stage = Stage(Provider())
    customers = [n % 24 for n in range(60)]
    for at, n in enumerate(customers):
        system = f"You are a helpful assistant for {who(n)}.\nProfile: {prose(1_500, n)}\n{POLICY}"
        record = stage.send(chat(system, f"Question {at}?"))
    assert len(stage.observer._templates.known()) <= AGENTS
    fresh = chat(f"You are a helpful assistant for Ada.\nProfile: {prose(1_500, 'new')}\n{POLICY}", "Hello?")
    record = stage.send(fresh)
    assert (record.diagnosis.cause, record.diagnosis.attribution) == ("PC401", "caller")


def test_a_conversation_that_goes_over_to_another_agent_is_no_change_of_documents() -> None:
    stage = Stage(Provider())
    turns: list[str] = []
    for at in range(6):
        turns.append(f"I ask you number {at} about my parcel.")
        record = stage.send(chat(role(at % 2) + prose(1_500, at % 2) + POLICY, *turns))
        assert record.diagnosis.attribution != "caller"
        turns.append(f"This is answer number {at}.")


def test_what_agents_and_documents_look_like_is_known_after_a_restart() -> None:
    before = Stage(Provider())
    for at in range(15):
        before.send(chat(role(at % 5) + prose(1_500, at % 5) + POLICY, f"Question {at}?"))
        before.send(chat("Documents:\n" + prose(2_000, -at) + POLICY[::-1], f"Question {at}?"))
    stage = Stage(Provider())
    stage.observer._templates.recall(before.observer._templates.take_learned())
    for at in range(5, 11):  # six more agents
        record = stage.send(chat(role(at) + prose(1_500, at) + POLICY, f"Question {at}?"))
        assert record.diagnosis.attribution == "expected"
    records = [
        stage.send(chat("Documents:\n" + prose(2_000, at) + POLICY[::-1], f"Question {at}?"))
        for at in range(40, 43)
    ]
    assert [record.diagnosis.cause for record in records] == ["PC801", "PC402", "PC402"]


def test_documents_that_are_asked_about_anew_have_not_come_again() -> None:
    stage = Stage(Provider())
    for n in range(ENOUGH + 4):
        body = chat(prose(2_000, n) + POLICY, "What does it say?")
        records = [stage.send(body), stage.send(body)]
    assert records[0].diagnosis.cause == "PC401"
    assert records[1].diagnosis.hit
    assert records[0].template == records[1].template == stage.records[0].template


def test_a_request_that_failed_after_its_agent_got_a_template_of_its_own_is_no_predecessor() -> None:
    stage = Stage(Provider())
    bodies = [chat("# Desk\n" + prose(1_500, n) + POLICY, f"Question {n}?") for n in (0, 1)]
    for at in range(2):
        stage.send(bodies[0] | {"metadata": {"at": at}})
        if not at:
            call = stage.call(bodies[1])
            observation = stage.observer.open(call)
            assert observation.template == stage.records[0].template
    known = len(stage.observer._history)
    last = stage.send(chat("# Desk\n" + prose(1_500, 1) + POLICY, "And what is it now?"))
    assert last.template != stage.records[0].template
    stage.observer.close(observation, outcome(Usage.unreported(), status=502))
    assert len(stage.observer._history) == known
