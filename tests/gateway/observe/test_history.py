"""The memory of recent requests: the best predecessor, bounds, and what is right after forgetting."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache.quick_values import changed
from promptcache_gateway.observe.extents import Extent, exactly
from promptcache_gateway.observe.history import Entry, History
from promptcache_gateway.observe.masking import Masker
from promptcache_gateway.observe.prompt import Prompt, read_prompt
from tests.gateway.observe.scenes import chat, rules_text

MASKER = Masker()
RULES = rules_text(20)
ROUTE = ("u", "model-a")


def prompt(body: dict[str, Any]) -> Prompt:
    return read_prompt(body, MASKER)


def entry(name: str, body: dict[str, Any], at: float = 0.0, *, answered: bool = True, **known: str) -> Entry:
    return Entry(
        name,
        prompt(body),
        known.get("model", "model-a"),
        known.get("upstream", "u"),
        at,
        answered_at=at if answered else None,
    )


def best(history: History, body: dict[str, Any], *, not_before: float = 0.0) -> str | None:
    match = history.find("t", "f", prompt(body), route=ROUTE, not_before=not_before)
    return match.predecessor.id if match.predecessor is not None else None


def test_the_longest_shared_prefix_wins_over_the_newest() -> None:
    history = History()
    history.add("t", "f", entry("long", chat(RULES, "a question", "an answer of some length", "more")))
    history.add("t", "f", entry("newer", chat(RULES, "another question")))

    assert best(history, chat(RULES, "a question", "an answer of some length", "even more")) == "long"


def test_a_changing_clock_does_not_hide_the_conversation() -> None:
    history = History()
    history.add(
        "t", "f", entry("mine", chat("It is 12:00:01 now.\n" + RULES, "a question of mine", "yes", "b"))
    )
    history.add("t", "f", entry("other", chat("It is 12:00:05 now.\n" + RULES, "one of others")))

    later = chat("It is 12:00:09 now.\n" + RULES, "a question of mine", "yes", "b", "c", "d")
    assert best(history, later) == "mine"


def test_a_trimmed_conversation_is_found_by_its_later_messages() -> None:
    history = History()
    talk = [f"message number {n}, long enough to be known again" for n in range(9)]
    history.add("t", "f", entry("mine", chat(RULES, *talk)))
    history.add("t", "f", entry("other", chat(RULES, "something else that is new", "x", "y")))

    assert best(history, chat(RULES, *talk[4:], "an answer", "a question")) == "mine"


def test_among_equals_one_inside_its_lifetime_is_preferred() -> None:
    history = History()
    body = chat("Alpha beta. " + RULES, "a")
    history.add("t", "f", entry("alive", body, at=500.0))
    history.add("t", "f", entry("stale", chat("Alpha beta. " + RULES, "b"), at=10.0))

    assert best(history, chat("Alpha gamma. " + RULES, "c"), not_before=400.0) == "alive"


def test_living_is_by_route_and_time() -> None:
    history = History()
    history.add("t", "f", entry("other model", chat(RULES, "a", "b", "c"), 100.0, model="model-b"))
    history.add("t", "f", entry("expired", chat(RULES, "a"), 5.0))

    match = history.find("t", "f", prompt(chat(RULES, "a", "b", "c")), route=ROUTE, not_before=50.0)

    assert match.predecessor is not None
    assert match.predecessor.id == "other model"
    assert match.living is None
    assert not match.first


def test_a_request_nobody_answered_yet_is_pending() -> None:
    history = History()
    history.add("t", "f", entry("leader", chat(RULES, "a"), answered=False))

    assert history.find("t", "f", prompt(chat(RULES, "b")), route=ROUTE, not_before=0.0).pending


def test_tenants_and_families_are_apart() -> None:
    history = History()
    history.add("t", "f", entry("mine", chat(RULES, "a")))

    for tenant, family in (("other", "f"), ("t", "other")):
        match = history.find(tenant, family, prompt(chat(RULES, "a")), route=ROUTE, not_before=0.0)
        assert match.predecessor is None
        assert match.first


def test_what_was_forgotten_is_not_a_first() -> None:
    history = History(max_families=1)
    history.add("t", "f", entry("gone", chat(RULES, "a")))
    history.add("t", "g", entry("kept", chat(RULES, "b")))

    match = history.find("t", "f", prompt(chat(RULES, "a")), route=ROUTE, not_before=0.0)

    assert match.predecessor is None
    assert not match.first


def test_bounds_hold() -> None:
    history = History(max_requests=10, max_bytes=50_000, max_families=4, max_tenants=3)
    for number in range(200):
        body = chat(RULES + str(number), "a" * (number * 7 % 3_000))
        history.add(f"t{number % 9}", f"f{number % 11}", entry(str(number), body))

    assert history.stored_bytes <= 3 * 50_000 + 10_000
    assert len(history) <= 3 * 4 * 10


def test_one_request_larger_than_the_bound_is_still_compared_with() -> None:
    history = History(max_bytes=1_000)
    history.add("t", "f", entry("huge", chat("x" * 5_000, "a")))

    assert best(history, chat("x" * 5_000, "b")) == "huge"


LONG = "y" * 100_000


@pytest.mark.parametrize(
    ("beside", "least", "most"),
    [
        ({"metadata": {"user": LONG}, "unheard_of": [LONG], "user": LONG}, 0, 0),
        ({"temperature": 0.5, "service_tier": "flex"}, 0, 0),
        ({"response_format": {"type": "json_schema", "json_schema": {LONG: [LONG, 1]}}}, 200_000, 201_000),
        ({"prompt_cache_key": LONG}, 100_000, 100_100),
        ({"reasoning": [[]] * 1_000}, 64_000, 65_000),
    ],
)
def test_what_is_kept_beside_the_texts_is_counted(beside: dict[str, Any], least: int, most: int) -> None:
    plain, history = History(), History()
    plain.add("t", "f", entry("plain", chat(RULES, "a")))
    for number in range(3):  # equal settings are not counted anew
        history.add("t", "f", entry(str(number), chat(RULES, "a", **beside)))

    assert 3 * least <= history.stored_bytes - 3 * plain.stored_bytes <= 3 * most


def test_fields_and_marks_of_messages_are_counted() -> None:
    history = History(max_bytes=250_000)
    marked = [{"type": "text", "text": "Yes.", "cache_control": {"type": LONG}}]
    for number in range(9):
        said = {"role": "assistant", "content": marked, "reasoning_content": LONG}
        history.add("t", "f", entry(str(number), {"messages": [said, {"role": "user", "content": "a"}]}))

    assert len(history) == 1
    assert 200_000 <= history.stored_bytes <= 201_000


def test_what_was_counted_is_taken_off_again_though_keys_were_put_in_since() -> None:
    history = History()
    held = entry("held", chat(RULES, "a"))
    history.add("t", "f", held)
    held.prompt = changed(held.prompt, parameters={"prompt_cache_key": LONG})
    history.discard("t", "f", held)

    assert history.stored_bytes == 0


def test_a_discarded_request_hands_its_keys_back() -> None:
    history = History()
    first = entry("first", chat(RULES, "a", "an answer of some length", "b"))
    failed = entry("failed", chat(RULES, "a", "an answer of some length", "b", "c", "d"))
    history.add("t", "f", first)
    history.add("t", "f", failed)

    history.discard("t", "f", failed)
    history.discard("t", "f", failed)

    assert best(history, chat(RULES, "a", "an answer of some length", "b", "c", "d")) == "first"
    match = history.find("t", "f", first.prompt, route=ROUTE, not_before=0.0)
    assert match.living is first
    assert match.living_segments == len(first.prompt.segments)


TALK = st.lists(st.sampled_from(["one long message here", "two long messages here", "three"]), max_size=4)
STEPS = st.lists(st.tuples(st.sampled_from(["add", "drop"]), TALK, st.integers(0, 3)), max_size=30)


@given(STEPS, TALK)
@settings(max_examples=80)
def test_a_living_prefix_is_the_longest_there_is(
    steps: list[tuple[str, list[str], int]], talk: list[str]
) -> None:
    """Against the plain definition, whatever was added, forgotten and discarded before."""
    history = History(max_requests=6)
    kept: list[Entry] = []
    for number, (step, messages, which) in enumerate(steps):
        if step == "add":
            kept.append(entry(str(number), chat(RULES, *messages), float(number)))
            history.add("t", "f", kept[-1])
            kept = kept[-6:]
        elif which < len(kept):
            history.discard("t", "f", kept.pop(which))

    wanted = prompt(chat(RULES, *talk))
    match = history.find("t", "f", wanted, route=ROUTE, not_before=0.0)

    longest = max((_shared(held.prompt, wanted) for held in kept), default=0)
    assert match.living_segments == longest
    assert (match.living is None) == (longest == 0)
    assert (match.predecessor is None) == (not kept)
    assert match.predecessor is None or match.predecessor in kept


def _shared(one: Prompt, other: Prompt) -> int:
    shared = 0
    for mine, theirs in zip(one.segments, other.segments, strict=False):
        if not mine.same_as(theirs):
            break
        shared += 1
    return shared


def test_many_threads_may_use_it() -> None:
    history = History(max_requests=20)
    bodies = [chat(RULES, f"question number {n}") for n in range(40)]
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            for number in range(150):
                body = bodies[(number * seed) % len(bodies)]
                held = entry(f"{seed}-{number}", body)
                history.find("t", "f", held.prompt, route=ROUTE, not_before=0.0)
                history.add("t", "f", held)
                if number % 3 == 0:
                    history.discard("t", "f", held)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 3, 7, 11)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not failures
    assert len(history) <= 20


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from("fgh"), st.integers(1, 400), st.booleans()),
        max_size=40,
    )
)
def test_the_bytes_told_are_those_of_what_is_remembered(steps: list[tuple[str, str, int, bool]]) -> None:
    history = History(max_requests=4, max_bytes=1_500, max_families=2, max_tenants=2)
    masker = Masker()
    for number, (tenant, family, size, odd) in enumerate(steps):
        prompt = read_prompt({"messages": [{"role": "user", "content": f"{number}" + "x" * size}]}, masker)
        entry = Entry(f"pcr_{number}", prompt, "m", "u", float(number))
        history.add(tenant, family, entry)
        if odd and size % 2:
            history.discard(tenant, family, entry)
        elif odd:
            history.rename(tenant, family, "f")
        owners = history._tenants.values()
        held = [entry for owner in owners for row in owner.rows.values() for entry in row.entries]
        assert history.stored_bytes == sum(entry.size for entry in held)


def known(history: History, body: dict[str, Any], *, model: str = "model-a") -> dict[int, Extent]:
    """By the number of segments."""
    asked = prompt(body)
    found = history.find("t", "f", asked, route=("u", model), not_before=0.0)
    return {asked.offsets.index(place): extent for place, extent in found.lengths}


def test_lengths_of_prefixes_are_known_by_model_narrowed_down_and_kept_when_the_request_is_not() -> None:
    history = History(max_requests=1)
    first = entry("first", chat(RULES, "one"))
    history.add("t", "f", first)
    history.learn("t", "f", first, [(1, Extent(400, 480)), (2, exactly(500))])
    second = entry("second", chat(RULES, "two"))
    history.add("t", "f", second)
    history.learn("t", "f", second, [(1, Extent(450, 600))])

    assert known(history, chat(RULES, "three")) == {1: Extent(450, 480)}
    assert known(history, chat(RULES, "one", "yes", "more")) == {1: Extent(450, 480), 2: exactly(500)}
    assert known(history, chat(RULES, "one"), model="model-b") == {}


def test_so_many_lengths_are_kept_and_no_more() -> None:
    history = History()
    for number in range(1_500):
        one = entry(str(number), chat(RULES, f"question number {number}"))
        if number in {0, 1_499}:
            history.add("t", "f", one)
        history.learn("t", "f", one, [(2, exactly(number))])

    assert known(history, chat(RULES, "question number 1499")) == {2: exactly(1_499)}
    assert known(history, chat(RULES, "question number 0")) == {}


def test_forgetting_shows_as_a_gap() -> None:
    history = History(max_requests=2)
    for number, gaps in enumerate((False, False, True)):
        history.add("t", "f", entry(str(number), chat(RULES, f"question number {number}")))
        found = history.find("t", "f", prompt(chat(RULES, "more")), route=ROUTE, not_before=0.0)
        assert found.gaps == gaps
