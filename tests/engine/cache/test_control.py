"""Reset, counters, configuration, and the promise to be light."""

import subprocess
import sys

import pytest

import promptcache_engine.cache as public
from promptcache_engine.cache import CacheConfigError, CacheError, InvariantError, PrefixCache
from tests.engine.cache.kit import admitted, both, ran


@both
def test_f5_reset_is_refused_while_a_sequence_runs(partial: bool) -> None:
    cache = PrefixCache(16, 4, partial_pages=partial)
    ran(cache, range(9))
    lease = admitted(cache, range(20, 29))
    assert cache.reset() is False
    assert cache.match(range(9)) == (9 if partial else 8)
    cache.finish(lease)
    assert cache.reset() is True
    cache.check()
    assert cache.match(range(9)) == 0
    assert cache.match(range(20, 29)) == 0
    assert cache.stats.free == 16
    assert ran(cache, range(9)) == 0


def test_f5_after_a_reset_nothing_counts_as_evicted_or_isolated() -> None:
    cache = PrefixCache(16, 4)
    ran(cache, range(9), namespace="a")
    cache.reset()
    reason = admitted(cache, range(9)).reason
    assert (reason.evicted, reason.isolated, reason.diverged_at) == (0, 0, 0)


@both
def test_f7_preempted_sequences_are_counted_apart(partial: bool) -> None:
    cache = PrefixCache(16, 4, partial_pages=partial)
    assert cache.stats.hit_rate is None
    lease = admitted(cache, range(9))
    assert (cache.stats.queries, cache.stats.hits, cache.stats.hit_rate) == (9, 0, 0.0)
    cache.finish(lease)
    admitted(cache, range(9), preempted=True)
    stats = cache.stats
    assert (stats.queries, stats.hits) == (9, 0)
    assert (stats.preempted_queries, stats.preempted_hits) == (9, 8)


def test_f7_a_refused_admission_is_not_counted() -> None:
    cache = PrefixCache(1, 4)
    assert cache.admit(range(9)) is None
    assert cache.stats.queries == 0


@both
def test_f7_a_sequence_that_may_not_use_the_cache_is_not_counted(partial: bool) -> None:
    cache = PrefixCache(16, 4, partial_pages=partial)
    ran(cache, range(9), use_cache=False)
    admitted(cache, range(9), use_cache=False, preempted=True)
    stats = cache.stats
    assert (stats.queries, stats.hits, stats.shared, stats.preempted_queries) == (0, 0, 0, 0)
    assert stats.hit_rate is None


def test_shared_is_told_from_reused() -> None:
    cache = PrefixCache(8, 16, partial_pages=False)
    ran(cache, range(20))
    ran(cache, [*range(10), 99])
    assert (cache.stats.shared, cache.stats.hits) == (10, 0)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("num_pages", 0),
        ("page_size", -1),
        ("page_size", 1.5),
        ("window", 0),
        ("lookahead", -1),
        ("remember_tokens", -1),
        ("event_limit", -1),
        ("recompute", -1),
        ("tokens_per_unit", 0),
        ("num_pages", True),
        ("policy", "x"),
    ],
)
def test_a_parameter_that_cannot_work_is_named(field: str, value: object) -> None:
    with pytest.raises(CacheConfigError) as caught:
        PrefixCache(**{"num_pages": 4, "page_size": 4, field: value})
    assert (caught.value.field, caught.value.value) == (field, value)
    assert field in str(caught.value)
    assert caught.value.remedy


def test_check_finds_what_is_broken() -> None:
    def lose_a_page(cache: PrefixCache) -> None:
        cache._store.pool.take(1)

    def miscount(cache: PrefixCache) -> None:
        cache._store.evictable += 1

    def lock(cache: PrefixCache) -> None:
        next(cache._store.tree.nodes()).locks += 1

    def own_twice(cache: PrefixCache) -> None:
        cache._store.pool.give([next(cache._store.tree.nodes()).pages[0]])

    def misplace(cache: PrefixCache) -> None:
        next(cache._store.tree.nodes()).run = b"\1\0\0\0" * 8

    for breaking in (lose_a_page, miscount, lock, own_twice, misplace):
        cache = PrefixCache(8, 4)
        ran(cache, range(8))
        breaking(cache)
        with pytest.raises(InvariantError, match="broken"):
            cache.check()


def test_every_error_belongs_to_the_tree_and_names_a_remedy() -> None:
    errors = [getattr(public, name) for name in public.__all__ if name.endswith("Error")]
    assert len(errors) == 6
    assert all(issubclass(error, CacheError) for error in errors)


def test_the_public_names_are_sorted_and_there() -> None:
    assert all(hasattr(public, name) for name in public.__all__)
    assert len(set(public.__all__)) == len(public.__all__)


def test_importing_the_cache_loads_no_torch() -> None:
    code = "import sys, promptcache_engine.cache; print('torch' in sys.modules, 'tokenizers' in sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == ["False", "False"]
