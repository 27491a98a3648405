"""Window pools: layers with a sliding window have pages of their own, freed when the window has left them."""

import os
import random
from typing import Any

import pytest

from promptcache_engine.cache import (
    NO_PAGE,
    POLICIES,
    CacheConfigError,
    Hints,
    Lease,
    PrefixCache,
    WindowRoomError,
)
from promptcache_engine.cache.plan import pages_of
from tests.engine.cache.kit import FakeRunner, both

LIFE = 150
LIVES = max(60, int(os.environ.get("PROMPTCACHE_OPERATIONS", "0")) // LIFE)
"""Lives in the random test, and operations in each; a long run asks for more of them."""


class WindowRunner(FakeRunner):
    """A fake runner that writes every layer's slots, and knows what each window must find."""

    def __init__(self, cache: PrefixCache) -> None:
        super().__init__(cache)
        self.windowed: dict[tuple[int, int, int], tuple[Any, ...]] = {}

    def copy(self, lease: Lease) -> None:
        if lease in self.uncopied:
            for copy in lease.copies:
                for window, pool in enumerate(self.cache.windows.pools):
                    for i in range(copy.tokens):
                        content = self.windowed[window, pool.page_of(copy.src), i]
                        self.windowed[window, pool.page_of(copy.dst), i] = content
        super().copy(lease)

    def compute(self, lease: Lease, upto: int) -> None:
        self.copy(lease)
        namespace, marks = self.history[lease]
        self.cache.windows.reserve(lease, upto)
        for position in range(self.computed[lease], upto):
            page, i = divmod(position, self.cache.page_size)
            for window, pool in enumerate(self.cache.windows.pools):
                self.windowed[window, pool.page_of(lease.pages[page]), i] = (
                    namespace,
                    *marks[: position + 1],
                )
        super().compute(lease, upto)
        self.cache.publish(lease, max(upto, lease.published * self.cache.page_size))
        self.cache.windows.slide(lease, self.computed[lease])

    def verify(self, lease: Lease) -> None:
        super().verify(lease)
        namespace, marks = self.history[lease]
        computed = self.computed[lease] - (lease in self.uncopied) * sum(c.tokens for c in lease.copies)
        for window, pool in enumerate(self.cache.windows.pools):
            first, pages = pool.span(lease)
            assert NO_PAGE not in pages
            for position in range(max(self.computed[lease] - pool.window + 1, 0), computed):
                page, i = divmod(position, self.cache.page_size)
                found = self.windowed[window, pages[page - first], i]
                assert found == (namespace, *marks[: position + 1])


def made(num_pages: int = 64, page_size: int = 4, *pools: tuple[int, int], **options: Any) -> PrefixCache:
    return PrefixCache(num_pages, page_size, share_on_admission=False, window_pools=pools, **options)


def ran(runner: WindowRunner, tokens: list[int], chunk: int = 8) -> Lease:
    """Run a prompt in chunks; return its lease, which has ended."""
    lease = begun(runner, tokens)
    for upto in [*range(lease.hit + chunk, len(tokens), chunk), len(tokens)]:
        runner.compute(lease, upto)
    runner.cache.finish(lease)
    runner.end(lease)
    runner.cache.check()
    return lease


def begun(runner: WindowRunner, tokens: list[int]) -> Lease:
    lease = runner.cache.admit(tokens)
    assert lease is not None
    runner.start(lease, "", tokens)
    runner.copy(lease)
    return lease


@both
def test_e3_a_prefix_of_32_of_which_24_can_be_used(partial: bool) -> None:
    cache = made(64, 4, (8, 64), partial_pages=partial)
    runner = WindowRunner(cache)
    ran(runner, list(range(33)))
    prompt = [*range(32), 50]
    lease = begun(runner, prompt)
    assert (lease.hit, lease.reason.window) == (32, 0)
    cache.abort(lease)
    runner.end(lease)
    cache.windows.detach(lease.pages[6:8])  # as if others had needed the room
    lease = begun(runner, prompt)
    assert (lease.reason.shared, lease.reason.reused, lease.reason.window) == (32, 24, 8)
    runner.compute(lease, 33)
    cache.finish(lease)
    runner.end(lease)
    cache.check()
    assert begun(runner, prompt).hit == 32


def test_pages_are_freed_as_the_window_passes() -> None:
    cache = made(64, 4, (8, 4))
    runner = WindowRunner(cache)
    lease = begun(runner, list(range(100)))
    for upto in range(4, 101, 4):  # a hundred tokens through a pool of sixteen
        runner.compute(lease, upto)
        cache.check()
        assert len(cache.windows.pools[0].span(lease)[1]) <= 3
    cache.finish(lease)
    cache.check()


def test_a_pool_too_small_says_so_and_changes_nothing() -> None:
    cache = made(64, 4, (8, 3))
    runner = WindowRunner(cache)
    lease = begun(runner, list(range(16)))
    with pytest.raises(WindowRoomError, match="window of 8"):
        cache.windows.reserve(lease, 16)
    cache.check()
    runner.compute(lease, 12)


def test_what_the_pool_forgot_is_computed_again_and_stays_where_prompts_part() -> None:
    cache = made(64, 4, (8, 6))
    runner = WindowRunner(cache)
    ran(runner, list(range(40)))
    second = ran(runner, [*range(20), *range(100, 120)])
    assert second.hit < 20
    assert second.reason.shared == 20
    third = ran(runner, [*range(20), *range(200, 206)])
    assert (third.hit, third.reason.window) == (20, 0)


def test_needs_pages_made_when_computed() -> None:
    with pytest.raises(CacheConfigError, match="share_on_admission"):
        PrefixCache(8, 4, window_pools=[(8, 8)])


@pytest.mark.parametrize("values", [(0, 4), (4, 0)])
def test_nonsense_sizes_are_refused(values: tuple[int, int]) -> None:
    with pytest.raises(CacheConfigError):
        made(8, 4, values)


@pytest.mark.parametrize("seed", range(LIVES))
def test_every_window_always_finds_what_it_must_see(seed: int) -> None:
    choose = random.Random(seed)
    size = choose.choice([1, 2, 3, 4])
    windows = sorted(choose.sample([1, 2, 5, 8, 13], choose.choice([1, 1, 2])))
    # Room for four running sequences, each with its window and a chunk of at most six tokens under way.
    pools = [(window, 4 * (-(-window // size) + 4) + 6) for window in windows]
    partial, policy = choose.random() < 0.6, choose.choice(sorted(POLICIES))
    cache = made(choose.randint(8, 60), size, *pools, partial_pages=partial, policy=policy)
    runner, running = WindowRunner(cache), list[Lease]()
    hits = 0
    for _ in range(LIFE):
        _act(choose, cache, runner, running)
        cache.check()
        for lease in running:
            runner.verify(lease)
    hits += cache.stats.hits
    for lease in running:
        cache.abort(lease)
    cache.evict()
    cache.check()
    assert cache.stats.free == cache.num_pages
    assert all(len(pool._free) == pool.num_pages for pool in cache.windows.pools)
    assert hits > 0


def reachable(cache: PrefixCache, tokens: list[int]) -> int:
    """Return how many of ``tokens`` can be reused, tried one number after another: every token a layer would
    see from there must lie in a page it has."""
    store, size = cache._store, cache.page_size
    match = store.tree.find(store.tree.roots.get(""), cache._encode(tokens, ()))
    pages = pages_of(match)
    for hit in range(min(match.stored // 4, len(tokens) - 1), 0, -1):
        if hit % size and not cache._rules.partial_pages:
            continue
        seen = [
            pool.page_of(pages[position // size])
            for pool in cache.windows.pools
            for position in range(max(hit - max(pool.window - 1, 1), 0), hit)
        ]
        if NO_PAGE not in seen:
            return hit
    return 0


def _act(choose: random.Random, cache: PrefixCache, runner: WindowRunner, running: list[Lease]) -> None:
    action = choose.random()
    if action < 0.3 and len(running) < 4:
        tokens = choose.choices([0, 1], [5, 1], k=choose.randint(1, 24))
        reach = reachable(cache, tokens)
        lease = cache.admit(tokens, hints=Hints(turn=choose.choice([None, 1, 3])))
        if lease is not None:
            assert lease.hit == reach
            running.append(lease)
            runner.start(lease, "", tokens)
            runner.copy(lease)
    elif action < 0.65 and running:
        lease = choose.choice(running)
        if runner.computed[lease] == lease.length and cache.append(lease, token := [choose.randint(0, 1)]):
            runner.history[lease][1].extend(token)
        runner.compute(lease, min(runner.computed[lease] + choose.randint(1, 6), lease.length))
    elif action < 0.7 and running and len(running) < 4:
        lease = choose.choice(running)
        computed = runner.computed[lease]
        if computed and computed // cache.page_size >= lease.published:
            fork = cache.fork(lease, computed)
            if fork is not None:
                running.append(fork)
                runner.start(fork, "", runner.history[lease][1][:computed])
                runner.copy(fork)
    elif action < 0.9 and running:
        lease = running.pop(choose.randrange(len(running)))
        if choose.random() < 0.8:
            cache.finish(lease, computed=runner.computed[lease])
        else:
            cache.abort(lease)
        runner.end(lease)
    elif action < 0.95:
        cache.evict(choose.randint(0, 3))
    else:
        cache.match([0, 0, 1, 0, 0], touch=choose.random() < 0.5)
