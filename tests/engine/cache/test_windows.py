"""Sliding windows: only the recent pages are needed, the others may be gone."""

import random

import pytest

from promptcache_engine.cache import NO_PAGE, Lease, PrefixCache
from promptcache_engine.cache.window import joint_prefix, usable_prefix
from tests.engine.cache.kit import FakeRunner, admitted, both, hit, ran


@pytest.mark.parametrize(
    ("pages", "usable"),
    [
        ("TTF", 2),
        ("TTTF", 3),
        ("TTFTFFTTFTTT", 12),
        ("TTFTFFTTFFF", 8),
        ("TTFTFFTTFFFT", 8),
        ("FFF", 0),
        ("", 0),
    ],
)
def test_e1_the_last_run_long_enough_for_the_window(pages: str, usable: int) -> None:
    present = [page == "T" for page in pages]
    assert usable_prefix(present, 2 * len(pages), page_size=2, window=4) == 2 * usable


def test_e1_full_attention_needs_every_page() -> None:
    assert usable_prefix([True, True, False, True], 8, page_size=2, window=None) == 4


def test_e1_a_window_of_one_needs_nothing_before() -> None:
    assert usable_prefix([False, False], 4, page_size=2, window=1) == 4


def test_e3_a_mixed_model_uses_what_all_its_layers_can() -> None:
    full, windowed = [True] * 16, [False] * 8 + [True] * 4 + [False] * 4
    assert usable_prefix(full, 32, page_size=2, window=None) == 32
    assert joint_prefix([(full, None), (windowed, 8)], 32, page_size=2) == 24


def test_e3_asks_again_until_nobody_shortens_it() -> None:
    first = [page == "T" for page in "TTTTTFTT"]
    second = [page == "T" for page in "FTTFTTFT"]
    # 16, then 12 for the second, then 10 for the first, then 6 for the second.
    assert joint_prefix([(first, 5), (second, 5)], 16, page_size=2) == 6
    assert joint_prefix([], 16, page_size=2) == 16


@both
def test_b115_pages_outside_the_window_are_freed_at_the_end(partial: bool) -> None:
    cache = PrefixCache(64, 4, partial_pages=partial, window=8)
    ran(cache, range(1, 33))
    assert cache.stats.cached == 2
    r2 = admitted(cache, [*range(1, 33), 200, 201])
    assert r2.hit == 32
    assert r2.pages[:6] == [NO_PAGE] * 6
    cache.finish(r2)
    cache.check()
    r3 = admitted(cache, [*range(1, 13), 300, 301])
    assert (r3.hit, r3.reason.window) == (0, 12)
    cache.finish(r3)
    cache.check()


def test_a_window_leaves_what_was_shared_before() -> None:
    cache = PrefixCache(64, 4, window=8)
    ran(cache, range(9))
    ran(cache, [*range(9), *range(100, 140)])
    assert hit(cache, [*range(8), 7]) == 8


def test_pages_come_back_into_their_gaps() -> None:
    cache = PrefixCache(64, 4, window=8)
    ran(cache, range(32))
    lease = admitted(cache, [*range(12), 50])
    assert lease.hit == 0
    cache.finish(lease)
    cache.check()
    assert hit(cache, [*range(12), 60]) == 12


def test_evicting_the_windowed_frees_the_gaps_too() -> None:
    cache = PrefixCache(16, 4, window=8)
    ran(cache, range(32))
    ran(cache, range(100, 140))
    assert cache.evict() > 0
    cache.check()
    assert cache.stats.free == 16
    assert all(not node.pages for node in cache._store.tree.nodes())


@pytest.mark.parametrize("seed", range(40))
def test_what_a_window_still_sees_is_always_the_sequences_own(seed: int) -> None:
    choose = random.Random(seed)
    window = choose.choice([1, 2, 5, 8])
    cache = PrefixCache(
        choose.randint(4, 30), choose.choice([1, 2, 4]), partial_pages=choose.random() < 0.6, window=window
    )
    runner, running = FakeRunner(cache, window), list[Lease]()
    for _ in range(120):
        action = choose.random()
        if action < 0.45:
            tokens = [choose.randint(0, 1) for _ in range(choose.randint(1, 20))]
            lease = cache.admit(tokens)
            if lease is not None:
                running.append(lease)
                runner.start(lease, "", tokens)
                runner.compute(lease, len(tokens))
        elif action < 0.8 and running:
            lease = running.pop(choose.randrange(len(running)))
            (cache.finish if choose.random() < 0.8 else cache.abort)(lease)
            runner.end(lease)
        elif action < 0.9:
            cache.evict(choose.randint(0, 3))
        else:
            cache.match([choose.randint(0, 1) for _ in range(9)])
        cache.check()
        for lease in running:
            runner.verify(lease)
