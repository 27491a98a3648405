"""Templates: named or learned, not split by volatile values, the same after a restart, bounded."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptcache_gateway.observe.masking import Masker
from promptcache_gateway.observe.prompt import read_prompt
from promptcache_gateway.observe.signatures import Signature
from promptcache_gateway.observe.templates import OVERFLOW, UNSTRUCTURED, Templates, clean_name
from tests.gateway.observe.scenes import chat, rules_text

RULES = rules_text(40)


class Names:
    """Templates, asked with bodies."""

    def __init__(self, **bounds: int) -> None:
        self.masker = Masker()
        self.now = 1_795_953_600.0
        self.templates = Templates(self.masker, clock=lambda: self.now, **bounds)

    def __call__(self, body: dict[str, Any], given: str | None = None, tenant: str = "t") -> str:
        return self.templates.name(tenant, given, read_prompt(body, self.masker)).name


def tool(name: str, description: str = "Looks a thing up.") -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": description, "parameters": {}}}


def test_a_callers_name_is_kept() -> None:
    found = Names().templates.name("t", "support/v2", None)

    assert (found.name, found.learned) == ("support/v2", False)


def test_names_are_cleaned() -> None:
    assert clean_name("  sup\x00port\n") == "support"
    assert clean_name("\t\r\n") is None
    assert clean_name("") is None
    assert clean_name(None) is None
    assert len(clean_name("x" * 10_000) or "") == 128


def test_a_callers_name_never_merges_into_a_learned_template() -> None:
    names = Names()
    learned = names(chat(RULES, "Hi"))

    for wanted in (learned, UNSTRUCTURED, OVERFLOW):
        found = names.templates.name("t", wanted, None)
        assert (found.name, found.learned) == (f"named-{wanted}", False)
    assert clean_name(f"named-{learned}") == f"named-named-{learned}"
    assert names(chat(RULES, "Hi")) == learned
    assert len(clean_name("learned-" + "x" * 200) or "") == 128


def test_questions_do_not_matter_and_instructions_do() -> None:
    name = Names()

    assert name(chat(RULES, "a")) == name(chat(RULES, "b", "c", "d"))
    assert name(chat(RULES, "a")) != name(chat("You write haiku about rivers and the sea. " * 9, "a"))
    assert name(chat(RULES, "a")).startswith("learned-")


def test_volatile_values_do_not_split_a_template() -> None:
    name = Names()
    lines = RULES.split("\n")
    values = (
        "Now: 2026-11-29T12:00:01Z",
        "Now: 2027-01-05T08:59:59Z",
    )
    for place in (0, 7, 20, len(lines)):
        rendered = ["\n".join([*lines[:place], value, *lines[place:]]) for value in values]
        assert name(chat(rendered[0], "a")) == name(chat(rendered[1], "a"))


def test_what_is_mostly_the_same_is_the_same_template() -> None:
    name = Names()
    base = name(chat(RULES, "a"))
    lines = RULES.split("\n")

    assert name(chat("Always be brief, whatever comes.\n" + RULES, "a")) == base
    assert name(chat("\n".join([*lines[:10], *lines[12:]]), "a")) == base
    assert name(chat(RULES + "\nUser profile: Ada, who keeps bees and likes long walks.", "a")) == base
    assert name(chat(RULES.replace("\n", "\r\n"), "a")) == base


def test_a_long_beginning_in_common_is_enough() -> None:
    """Rules first, then a page about the user: one template for all users."""
    name = Names()
    pages = [" ".join(f"fact{n} of user {user} is this." for n in range(200)) for user in ("ada", "bob")]

    assert name(chat(RULES + "\n" + pages[0], "a")) == name(chat(RULES + "\n" + pages[1], "a"))


def test_tools_in_another_order_or_edited_do_not_split_a_template() -> None:
    name = Names()
    tools = [tool("search"), tool("refund"), tool("ship")]
    base = name(chat("Be kind to every customer.", "a", tools=tools))

    assert name(chat("Be kind to every customer.", "a", tools=tools[::-1])) == base
    edited = [tool("search", "Looks up quite another thing."), *tools[1:]]
    assert name(chat("Be kind to every customer.", "a", tools=edited)) == base
    assert name(chat("Be kind to every customer.", "a", tools=[tool("x"), tool("y"), tool("z")])) != base


def test_tenants_learn_apart_and_agree() -> None:
    name = Names()

    assert name(chat(RULES, "a"), tenant="one") == name(chat(RULES, "a"), tenant="two")


def test_names_survive_a_restart() -> None:
    before = Names()
    variants = [chat(f"User: user{n}@example.com. {RULES}", "a") for n in range(3)]
    others = [chat(rules_text(40, f"law{n}"), "a") for n in range(5)]
    names = [before(body) for body in [*variants, *others]]
    kept = before.templates.take_learned()
    assert before.templates.take_learned() == []

    after = Names()
    after.templates.recall(kept)

    assert [after(body) for body in reversed([*variants, *others])] == names[::-1]
    assert after.templates.take_learned() == []


def test_names_do_not_depend_on_the_process() -> None:
    """Without any memory the first head gives the same name everywhere."""
    assert Names()(chat(RULES, "a")) == Names()(chat(RULES, "b"))


def test_prompts_without_instructions_are_one_bucket_until_they_share_an_opening() -> None:
    name = Names()
    opening = "Translate the following letter into plain English and keep every number as it is. " * 5

    assert name(chat(None, "Hello?")) == UNSTRUCTURED
    assert name(chat(None, "What is the capital of Peru?")) == UNSTRUCTURED
    assert name(chat(None, opening + "Letter one")) == UNSTRUCTURED
    learned = name(chat(None, opening + "Letter two"))
    assert learned != UNSTRUCTURED
    assert name(chat(None, opening + "Letter three")) == learned


def test_one_conversation_without_instructions_makes_no_template() -> None:
    name = Names()
    long = "Here is my whole story, from the very beginning to the present day, in full. " * 10

    assert [name(chat(None, long, *["and", "so on"] * turn)) for turn in range(4)] == [UNSTRUCTURED] * 4


def test_prompts_that_never_recur_do_not_grow_anything() -> None:
    name = Names(max_learned=20)
    names = {name(chat(f"Prompt {n}: " + " ".join(f"w{n}x{k}" for k in range(60)), "a")) for n in range(300)}

    assert len(names) <= 21
    assert OVERFLOW in names


def test_a_head_that_recurs_is_learned_although_others_came_first() -> None:
    name = Names(max_learned=20)
    for n in range(15):
        name(chat(f"Prompt {n}: " + " ".join(f"w{n}x{k}" for k in range(60)), "a"))

    assert name(chat(RULES, "a")) == OVERFLOW
    assert name(chat(RULES, "b")).startswith("learned-")
    assert name(chat(RULES, "c")) not in {OVERFLOW, UNSTRUCTURED}


def test_callers_names_are_bounded_too() -> None:
    name = Names(max_named=10)
    names = {name(chat(RULES, "a"), f"name-{n}") for n in range(50)}

    assert len(names) == 11
    assert name(chat(RULES, "a"), "name-3") == "name-3"


def page(number: int) -> str:
    return f"Prompt {number}: " + " ".join(f"w{number}x{k}" for k in range(60))


def test_what_nobody_uses_for_a_day_gives_way() -> None:
    name = Names(max_learned=4, max_named=2)
    learned = [name(chat(page(n), "a")) for n in (0, 0, 1, 1, 2, 2, 3, 3)]
    assert len({*learned} - {OVERFLOW}) == 4
    assert [name(chat(RULES, "a"), given) for given in ("one", "two", "three")] == ["one", "two", OVERFLOW]
    assert [name(chat(page(9), "a")) for _ in range(3)] == [OVERFLOW] * 3

    name.now += 50_000
    assert name(chat(page(0), "a")) == learned[1]
    assert name(chat(RULES, "a"), "one") == "one"
    name.now += 50_000
    fresh = name(chat(page(9), "a"))
    assert fresh not in {*learned, OVERFLOW}
    assert name(chat(page(0), "b")) == learned[1]
    assert name(chat(RULES, "a"), "three") == "three"
    assert [name(chat(RULES, "a"), "one"), name(chat(RULES, "a"), "two")] == ["one", OVERFLOW]
    known = name.templates.known()
    assert len(known) == 4
    assert fresh in {template.name for template in known}


def held(name: Names) -> int:
    """How many things are remembered for the tenant, in every structure there is."""
    (owner,) = name.templates._tenants.values()
    fields = (getattr(owner, field) for field in owner.__slots__)
    return sum(len(field) for field in fields) + len(name.masker._pieces) + len(name.masker._texts)


@pytest.mark.parametrize(
    "made",
    [
        lambda n: (chat(f"No {n * 7919 % 100_003} of {n}: do what {n} says.", "a"), None),
        lambda n: (chat(None, f"letter {n}{'w' * 300}"), None),
        lambda n: (chat("s", "a", tools=[tool(f"tool{n}")]), None),
        lambda n: (chat("s", "a"), f"name-{n}"),
    ],
)
def test_tens_of_thousands_of_prompts_that_never_recur_grow_neither_memory_nor_names(made: Any) -> None:
    """Three quarters of these fill every bound there is; the rest, and any number more, add nothing."""
    name = Names()
    names: set[str] = set()
    sizes = []
    for n in range(11_000):
        body, given = made(n)
        names.add(name(body, given))
        if n % 1_000 == 999:
            name.templates.take_learned()
            sizes.append(held(name))
    assert len(names) <= 513
    assert max(sizes) == max(sizes[:9])
    assert max(sizes) < 60_000


_CHUNKS = st.sets(st.integers(0, 160), max_size=150).map(lambda found: tuple(sorted(found)[:96]))


@given(_CHUNKS, _CHUNKS)
def test_no_likeness_is_more_than_what_a_glance_allows(one: tuple[int, ...], other: tuple[int, ...]) -> None:
    first, second = Signature(1, (), one), Signature(2, (), other)
    shared = len(set(one) & set(other))
    assert first.likeness(second) == second.likeness(first) <= first.reach(second, shared)
    assert first.reach(second, shared) == second.reach(first, shared)
