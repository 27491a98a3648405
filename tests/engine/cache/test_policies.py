"""The eviction policies beyond LRU: what each keeps, and what it cannot be made to do."""

import random
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from promptcache_engine.cache import CacheConfigError, Hints, PrefixCache
from promptcache_engine.cache.hints import NO_HINTS, Use
from promptcache_engine.cache.policies import LearnedPolicy, TtlPolicy
from promptcache_engine.cache.policies.hazards import EDGES, LifeTable, age_bin
from promptcache_engine.cache.policies.learned import classify, one_class
from promptcache_engine.cache.policies.shadow import NEVER, LruShadow
from promptcache_engine.cache.policies.wager import Wager
from tests.engine.cache.kit import ran


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_lfu_keeps_what_many_went_through() -> None:
    cache = PrefixCache(6, 1, policy="lfu")
    for _ in range(3):
        ran(cache, [1, 2])
    ran(cache, [3, 4])
    ran(cache, [5, 6])
    assert cache.evict(4) == 4
    assert [cache.match(prompt) for prompt in ([1, 2], [3, 4], [5, 6])] == [2, 0, 0]


def test_lfu_takes_the_older_among_equals() -> None:
    cache = PrefixCache(6, 1, policy="lfu")
    for first in (1, 3, 5):
        ran(cache, [first, first + 1])
    cache.evict(2)
    assert [cache.match([first, first + 1]) for first in (1, 3, 5)] == [0, 2, 2]


def test_priority_goes_before_age() -> None:
    cache = PrefixCache(6, 1, policy="priority")
    ran(cache, [1, 2], hints=Hints(priority=5))
    ran(cache, [3, 4], hints=Hints(priority=-1))
    ran(cache, [5, 6])
    cache.evict(2)
    assert [cache.match([first, first + 1]) for first in (1, 3, 5)] == [2, 0, 2]
    cache.evict(2)
    assert [cache.match([first, first + 1]) for first in (1, 3, 5)] == [2, 0, 0]


def test_shared_pages_have_the_highest_priority_of_their_users() -> None:
    cache = PrefixCache(8, 1, policy="priority")
    ran(cache, [1, 2, 3], hints=Hints(priority=5))
    ran(cache, [1, 2, 4])
    ran(cache, [7, 8, 9], hints=Hints(priority=1))
    cache.evict(4)
    assert cache.match([1, 2, 3]) == 3
    assert cache.match([7, 8, 9]) == 0


def test_a_pin_holds_for_its_time_and_no_longer() -> None:
    clock = Clock()
    cache = PrefixCache(8, 1, policy="ttl", clock=clock)
    ran(cache, [1, 2], hints=Hints(keep_seconds=60))
    ran(cache, [3, 4])
    clock.now = 59.0
    cache.evict(2)
    assert (cache.match([1, 2], touch=False), cache.match([3, 4])) == (2, 0)
    ran(cache, [5, 6])
    clock.now = 61.0
    cache.evict(2)
    assert (cache.match([1, 2]), cache.match([5, 6])) == (0, 2)


def test_a_use_renews_a_pin_and_a_shorter_one_does_not_shorten_it() -> None:
    clock = Clock()
    cache = PrefixCache(8, 1, policy="ttl", clock=clock)
    ran(cache, [1, 2], hints=Hints(keep_seconds=60))
    ran(cache, [1, 2], hints=Hints(keep_seconds=5))
    ran(cache, [3, 4])
    clock.now = 30.0
    cache.evict(2)
    assert cache.match([1, 2]) == 2


def test_pins_are_capped_to_half_the_pool() -> None:
    clock = Clock()
    policy = TtlPolicy(clock, 8)
    cache = PrefixCache(8, 1, policy=policy, clock=clock)
    ran(cache, [1, 2, 3], hints=Hints(keep_seconds=60))
    ran(cache, [4, 5, 6], hints=Hints(keep_seconds=60))
    assert policy.pinned_pages == 3
    ran(cache, [7, 8])
    cache.evict(3)
    assert [cache.match(prompt) for prompt in ([1, 2, 3], [4, 5, 6], [7, 8])] == [3, 0, 2]


def test_a_pin_never_refuses_a_sequence_its_pages() -> None:
    clock = Clock()
    policy = TtlPolicy(clock, 4, cap=1.0)
    cache = PrefixCache(4, 1, policy=policy, clock=clock)
    ran(cache, [1, 2], hints=Hints(keep_seconds=60))
    ran(cache, [3, 4], hints=Hints(keep_seconds=30))
    assert policy.pinned_pages == 4
    ran(cache, [5, 6])
    assert (cache.match([1, 2]), cache.match([3, 4])) == (2, 0)
    cache.evict()
    assert policy.pinned_pages == 0


def test_a_held_page_needs_no_pin() -> None:
    clock = Clock()
    policy = TtlPolicy(clock, 8)
    cache = PrefixCache(8, 1, policy=policy, clock=clock)
    ran(cache, [1, 2, 3], hints=Hints(keep_seconds=60))
    lease = cache.admit([1, 2, 9])
    assert lease is not None
    assert policy.pinned_pages == 1
    cache.finish(lease)
    assert policy.pinned_pages == 3
    assert cache.reset()
    assert policy.pinned_pages == 0


def test_a_pin_whose_time_is_over_leaves_its_room_to_others() -> None:
    clock = Clock()
    policy = TtlPolicy(clock, 10)
    cache = PrefixCache(10, 1, policy=policy, clock=clock)
    ran(cache, [1] * 3, hints=Hints(keep_seconds=10))
    ran(cache, [1] * 3 + [9] * 2, hints=Hints(keep_seconds=5))  # above it, so that one of them is no leaf
    assert policy.pinned_pages == 5
    clock.now = 7.0
    ran(cache, [2] * 4, hints=Hints(keep_seconds=1_000))
    assert policy.pinned_pages == 3  # there was no room yet
    clock.now = 100.0
    assert policy.pinned_pages == 0
    ran(cache, [2] * 4, hints=Hints(keep_seconds=1_000))
    assert policy.pinned_pages == 4
    for first in range(10, 14):
        clock.now += 1
        ran(cache, [first] * 5)
    assert cache.match([2] * 4, touch=False) == 4


def test_the_end_of_a_pin_is_noticed_by_who_needs_its_room() -> None:
    """Nobody asks the policy for its pins in between."""
    clock = Clock()
    cache = PrefixCache(10, 1, policy="ttl", clock=clock)
    ran(cache, [1] * 5, hints=Hints(keep_seconds=10))
    clock.now = 100.0
    ran(cache, [2] * 4, hints=Hints(keep_seconds=1_000))
    for first in range(10, 14):
        clock.now += 1
        ran(cache, [first] * 5)
    assert cache.match([2] * 4, touch=False) == 4


def test_evicted_pages_of_a_pin_leave_their_room_to_others() -> None:
    clock = Clock()
    policy = TtlPolicy(clock, 8)
    cache = PrefixCache(8, 1, policy=policy, clock=clock)
    ran(cache, [1] * 4, hints=Hints(keep_seconds=60))
    cache.evict(2)
    assert policy.pinned_pages == 2
    ran(cache, [2] * 2, hints=Hints(keep_seconds=60))
    assert policy.pinned_pages == 4


@pytest.mark.parametrize("window", [None, 4])
def test_pins_are_counted_right_whatever_happens(window: int | None) -> None:
    choose, clock = random.Random(3), Clock()
    policy = TtlPolicy(clock, 16)
    cache = PrefixCache(16, 2, policy=policy, window=window, clock=clock)
    most = 0
    for _ in range(1_500):
        clock.now += choose.random() * 4
        prompt = [*range(choose.randint(1, 12)), *[choose.randrange(3) for _ in range(choose.randint(0, 6))]]
        lease = cache.admit(prompt, hints=Hints(keep_seconds=choose.choice([0, 0, 5, 40])))
        assert lease is not None
        cache.finish(lease)
        if choose.random() < 0.2:
            cache.match(prompt[: choose.randint(1, 9)])
        if choose.random() < 0.1:
            cache.evict(choose.randint(1, 16))
        pinned = policy.pinned_pages
        nodes = list(cache._store.tree.nodes())
        assert policy._pinned.keys() <= set(nodes)
        assert all(count == sum(page >= 0 for page in node.pages) for node, count in policy._pinned.items())
        assert pinned == sum(policy._pinned.values()) <= 8
        assert all(node.used_at > clock.now for node in policy._pinned)
        most = max(most, pinned)
    cache.check()
    assert most == 8


def replayed(policy: object, pages: int, seed: int, steps: int = 400) -> list[tuple[int, int]]:
    """Hits and pages left after each of many random steps."""
    choose, clock = random.Random(seed), Clock()
    made = policy(clock, pages) if callable(policy) else policy
    cache = PrefixCache(pages, 2, policy=made, clock=clock, partial_pages=seed % 2 == 0)
    running, seen = [], []
    for _ in range(steps):
        clock.now += choose.random() * 3
        if running and (len(running) > 2 or choose.random() < 0.4):
            cache.finish(running.pop(choose.randrange(len(running))))
        template = choose.randrange(6)
        tokens = [template, *range(choose.randint(0, 8)), choose.randrange(50), *range(choose.randint(0, 5))]
        lease = cache.admit(tokens)
        if lease is not None:
            running.append(lease)
            seen.append((lease.hit, cache.stats.cached))
        if choose.random() < 0.1:
            cache.match(tokens[:3])
        if choose.random() < 0.05:
            cache.evict(choose.randint(0, 4))
    cache.check()
    return seen


@pytest.mark.parametrize("seed", range(8))
def test_with_one_class_the_learned_policy_is_lru_exactly(seed: int) -> None:
    def learned(clock: Callable[[], float], pages: int) -> LearnedPolicy:
        return LearnedPolicy(clock, pages, classes=one_class)

    pages = 14 + 3 * seed
    assert replayed(learned, pages, seed) == replayed("lru", pages, seed)


def test_with_its_classes_the_learned_policy_differs_from_lru() -> None:
    assert any(replayed(LearnedPolicy, 20, seed) != replayed("lru", 20, seed) for seed in range(8))


def templated(policy: str, pages: int = 260) -> float:
    """Hit rate on templates of 10 pages, each prompt with 5 pages of its own that never come again."""
    random_ = np.random.default_rng(0)
    weights = 1 / np.arange(1, 21)
    cache = PrefixCache(pages, 4, policy=policy)
    for own, template in enumerate(random_.choice(20, 1_500, p=weights / weights.sum())):
        lease = cache.admit(
            [*range(1_000 * template, 1_000 * template + 40), *range(10**6 + 20 * own, 10**6 + 20 * own + 20)]
        )
        assert lease is not None
        cache.finish(lease)
    cache.check()
    return cache.stats.hit_rate or 0.0


def test_the_learned_policy_keeps_templates_and_lets_go_of_what_is_never_used_again() -> None:
    lru, learned = templated("lru"), templated("learned")
    assert lru < 0.6
    assert learned > lru + 0.02


def test_a_class_is_made_of_uses_turn_tool_call_and_length() -> None:
    uses = [
        Use(turn, new, 0, 0, hints)
        for turn in (1, 2, 4, 9)
        for new in (1, 600, 5_000, 20_000)
        for hints in (NO_HINTS, Hints(after_tool_call=True))
    ]
    kinds = [kind for use in uses for kind in classify(use)]
    assert sorted(kinds) == list(range(128))


def test_hints_reach_the_policy_and_a_turn_is_found_without_them() -> None:
    cache = PrefixCache(64, 2, policy="learned")
    turns = []
    prompt = list(range(5))
    for turn in range(3):
        lease = cache.admit(prompt)
        assert lease is not None
        assert lease.use is not None
        turns.append(lease.use.turn)
        cache.append(lease, [100 + turn])
        cache.finish(lease)
        prompt += [100 + turn, 200 + turn]
    assert turns == [1, 2, 3]
    lease = cache.admit(prompt, hints=Hints(turn=9, after_tool_call=True))
    assert lease is not None
    assert lease.use is not None
    assert (lease.use.turn, lease.use.hints.after_tool_call) == (9, True)


@pytest.mark.parametrize("wrong", [{"turn": 0}, {"keep_seconds": -1.0}, {"keep_seconds": float("nan")}])
def test_a_hint_that_makes_no_sense_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(CacheConfigError, match=next(iter(wrong))):
        Hints(**wrong)  # type: ignore[arg-type]


def test_ages_fall_into_half_octaves() -> None:
    assert [age_bin(age) for age in (0, 0.5, 1, 1.4, 1.5, 2, 1e9)] == [0, 0, 1, 1, 2, 3, len(EDGES) - 1]


def test_what_comes_back_is_worth_more_and_never_gains_with_age() -> None:
    table = LifeTable()
    for second in range(2_000):
        table.start(1, float(second), 10)
        table.start(2, float(second), 10)
        if second > 30:
            table.reuse(1, 30.0, 9)
            table.reuse(2, 30.0, 1)
    worth = table.worth(2_000.0, 100.0)
    assert worth[1][0] > 3 * worth[2][0]
    for values in worth.values():
        assert all(a >= b for a, b in pairwise(values))
    table.clear()
    assert table.worth(0.0, 1.0) == {}


def test_a_long_history_takes_little_room_and_says_the_same() -> None:
    table = LifeTable()
    values = []
    for minute in range(20_000):
        table.start(1, 60.0 * minute, 1)
        if minute % 2:
            table.reuse(1, 300.0, 1)
        if minute % 1_000 == 999:
            values.append(table.worth(60.0 * minute, 10.0)[1][0])
    assert len(table._starts[1]) < 400
    assert values[-1] == pytest.approx(values[3], rel=0.1)


def test_the_shadow_has_what_an_exact_lru_has_but_for_its_grain() -> None:
    choose = random.Random(1)
    shadow, exact, last = LruShadow(1_000), dict[int, None](), dict[int, int]()
    wrong = 0
    for _ in range(20_000):
        page = int(choose.paretovariate(0.5)) % 5_000
        if page in last:
            wrong += shadow.has(last[page]) is not (page in exact)
        last[page] = shadow.use(1, last.get(page, NEVER))
        shadow.trim()
        exact.pop(page, None)
        exact[page] = None
        if len(exact) > 1_000:
            del exact[next(iter(exact))]
    assert wrong < 200


def test_bets_are_made_only_while_they_can_be_afforded() -> None:
    wager = Wager()
    wager.asked(10_000, 0)
    assert wager.affordable
    wager.bet(1, 100)
    assert not wager.affordable
    wager.settle(2)
    assert wager.affordable


def test_losing_bets_makes_the_next_ones_smaller() -> None:
    careful, bold = Wager(), Wager()
    for wager, lost in ((careful, True), (bold, False)):
        wager.asked(100_000, 0)
        wager.bet(1, 200)
        if lost:
            wager.lose(1, 200)
        wager.settle(2)
        wager.bet(3, 300)
    assert bold.affordable
    assert not careful.affordable


def test_a_lead_lost_to_lru_stops_all_bets_until_it_has_faded() -> None:
    wager = Wager()
    wager.asked(10_000, -40)
    assert not wager.affordable
    for _ in range(100):
        wager.asked(1_000, 0)
        wager.fade(64)
    assert wager.affordable
