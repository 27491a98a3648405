"""Which replica a request goes to: affinity and load, weighed against each other."""

from __future__ import annotations

from collections import Counter

import pytest

from promptcache_gateway.fleet.policies import MOST, PRESSURE, exchange_rate
from promptcache_gateway.fleet.prefix import Prefix
from promptcache_gateway.fleet.routing import Router

PAGE = 128.0


def prompt(*keys: int, lifetime_s: float | None = None, session: int | None = None) -> Prefix:
    return Prefix(tuple(keys), PAGE, len(keys) * PAGE + 20, session, lifetime_s)


def long(number: int, turns: int = 1, pieces: int = 60) -> Prefix:
    """A conversation of its own, some 8,000 tokens a turn."""
    return prompt(*(number * 100_000 + index for index in range(pieces * turns)))


def router(policy: str, *weights: float) -> Router:
    made = Router(policy)
    for number, weight in enumerate(weights):
        made.add(f"r{number}", weight)
    return made


def send(made: Router, prefix: Prefix, now: float, *, able: list[str] | None = None) -> tuple[str, int]:
    targets = [made.targets[name] for name in able or made.targets]
    choice = made.choose(prefix, targets, now)
    return choice.target.name, made.sent(choice, now)


def finish(made: Router, name: str, ticket: int, now: float) -> None:
    made.targets[name].load.first_output(ticket, now)
    made.targets[name].load.ended(ticket, now)


def test_a_conversation_stays_where_its_prefix_is() -> None:
    made = router("prefix", 1, 1, 1, 1)
    homes = {}
    for turn in range(1, 5):
        for number in range(12):
            name, ticket = send(made, long(number, turn), turn * 100.0 + number)
            finish(made, name, ticket, turn * 100.0 + number + 0.5)
            assert homes.setdefault(number, name) == name
    assert len(set(homes.values())) == 4


def test_affinity_never_overloads_a_replica() -> None:
    """Everybody asks the same long prompt, nothing is answered: in the end every replica computes it."""
    made = router("prefix", 1, 1, 1, 1)
    took = Counter(send(made, prompt(*long(1).keys, 10_000_000 + index), 0.0)[0] for index in range(2000))
    assert set(took) == {"r0", "r1", "r2", "r3"}
    assert max(took.values()) < 2 * 500


def test_answers_that_are_being_written_count_as_load_too() -> None:
    made = router("prefix", 1, 1)
    warm = long(1)
    for _ in range(400):
        name, ticket = send(made, warm, 0.0)
        made.targets[name].load.first_output(ticket, 0.0)
    running = [target.load.running for target in made.targets.values()]
    assert max(running) < 2 * min(running) + 80


@pytest.mark.parametrize("policy", ["prefix", "session"])
def test_a_small_imbalance_costs_no_affinity(policy: str) -> None:
    made = router(policy, 1, 1)
    home, ticket = send(made, long(1), 0.0)
    finish(made, home, ticket, 1.0)
    for _ in range(4):  # short requests that are being answered there, none at the other
        made.targets[home].load.first_output(made.targets[home].load.sent(50.0, 2.0), 2.0)
    assert send(made, long(1, 2), 2.0)[0] == home


def test_a_long_queue_outweighs_a_short_match() -> None:
    made = router("prefix", 1, 1)
    home, ticket = send(made, prompt(1, 2), 0.0)
    finish(made, home, ticket, 0.1)
    made.targets[home].load.sent(100_000.0, 1.0)
    assert send(made, prompt(1, 2, 3), 1.0)[0] != home


def test_missing_tokens_cost_more_the_busier_the_fleet_is() -> None:
    assert exchange_rate(0.0) == 1.0
    assert exchange_rate(0.5) == pytest.approx(1 + PRESSURE)
    assert exchange_rate(1.0) == exchange_rate(7.0) == MOST
    made = router("prefix", 1, 1)
    assert made.share(0.0) == 0.0
    for now in range(120):
        made.utilisation.sent(1.0, float(now))
    assert made.share(120.0) == pytest.approx(0.5, rel=0.02)
    assert made.share(400.0) == 0.0


@pytest.mark.parametrize("policy", ["round-robin", "least-load", "prefix", "session"])
def test_cold_requests_are_spread_by_weight(policy: str) -> None:
    made = router(policy, 1, 1, 2)
    took = Counter(send(made, long(number, pieces=8), 0.0)[0] for number in range(400))
    assert took["r2"] == pytest.approx(200, rel=0.1)
    assert took["r0"] == pytest.approx(100, rel=0.15)


def test_least_load_looks_at_requests_only() -> None:
    made = router("least-load", 1, 1)
    home, _ = send(made, long(1), 0.0)
    assert send(made, long(1), 1.0)[0] != home


def test_a_newcomer_is_not_flooded() -> None:
    made = router("round-robin", 1, 1)
    for number in range(100):
        send(made, long(number, pieces=2), 0.0)
    made.add("new")
    took = Counter(send(made, long(number, pieces=2), 1.0)[0] for number in range(30))
    assert took["new"] == 10


def test_a_session_stays_as_long_as_what_it_pins_lives() -> None:
    made = router("session", 1, 1, 1)
    named = prompt(1, session=77, lifetime_s=300.0)
    home, _ = send(made, named, 0.0)
    for number in range(7):
        send(made, long(number), 1.0)
    assert send(made, prompt(99, session=77, lifetime_s=300.0), 250.0)[0] == home
    assert send(made, prompt(98, session=77, lifetime_s=300.0), 540.0)[0] == home, "use renews it"
    idlest = min(made.targets.values(), key=lambda target: target.load.running).name
    assert send(made, prompt(97, session=77, lifetime_s=300.0), 900.0)[0] == idlest


def test_an_instruction_that_many_share_is_no_session() -> None:
    made = router("session", 1, 1, 1, 1)
    send(made, prompt(1, 2), 0.0)
    took = Counter(send(made, prompt(1, 2, number), 1.0)[0] for number in range(100, 140))
    assert set(took) == set(made.targets)


def test_a_session_whose_replica_cannot_take_it_goes_on_elsewhere() -> None:
    made = router("session", 1, 1)
    home, _ = send(made, long(1), 0.0)
    other = next(name for name in made.targets if name != home)
    assert send(made, long(1, 2), 1.0, able=[other])[0] == other
    assert send(made, long(1, 3), 2.0)[0] == other, "now it is warm there"


@pytest.mark.parametrize("policy", ["prefix", "session"])
def test_replicas_of_one_account_and_region_share_a_cache(policy: str) -> None:
    made = Router(policy)
    for name in ("a1", "a2"):
        made.add(name, cache="account a")
    made.add("b1", cache="account b")
    home, ticket = send(made, long(1), 0.0)
    finish(made, home, ticket, 1.0)
    cache = made.targets[home].cache
    where = {send(made, long(1, turn), turn * 10.0)[0] for turn in range(2, 7)}
    assert {made.targets[name].cache for name in where} == {cache}
    if cache == "account a":
        assert where == {"a1", "a2"}, "both reach it, so that both take their share"


def test_a_cache_that_expired_is_not_counted_on() -> None:
    made = router("prefix", 1, 1)
    kept = prompt(*range(60), lifetime_s=300.0)
    send(made, kept, 0.0)
    targets = list(made.targets.values())
    assert made.choose(kept, targets, 299.0).available == kept.tokens_of(60)
    assert made.choose(kept, targets, 301.0).available == 0


def test_the_choice_tells_what_was_available_and_what_was_chosen() -> None:
    made = router("prefix", 1, 1)
    home, _ = send(made, long(1), 0.0)
    other = next(target for name, target in made.targets.items() if name != home)
    choice = made.choose(long(1, 2), [other], 1.0)
    assert (choice.chosen, choice.available, choice.exact) == (0, 60 * PAGE, False)
    made.undone(made.choose(long(1), [made.targets[home]], 1.0))
    assert made.choose(long(1), [other], 2.0).available == 60 * PAGE, "only what it added is undone"


def test_who_takes_over_knows_what_was_known() -> None:
    earlier = router("session", 1, 1)
    home, _ = send(earlier, long(1), 0.0)
    later = router("prefix", 1, 1, 1)
    later.succeed(earlier)
    assert send(later, long(1, 2), 1.0)[0] == home


def test_replicas_that_are_found_later_are_known_too() -> None:
    earlier = router("prefix", 1, 1)
    home, ticket = send(earlier, long(1), 0.0)
    finish(earlier, home, ticket, 0.25)
    later = Router("prefix")
    later.succeed(earlier)
    for name in ("r1", "r0", "r2"):
        later.add(name)
    assert send(later, long(1, 2), 1.0)[0] == home
    assert later.targets[home].load.prefill_rate == earlier.targets[home].load.prefill_rate
