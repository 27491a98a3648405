"""Why a prompt was not cached further."""

import random

from promptcache_engine.cache import AdmissionReason, PrefixCache
from tests.engine.cache.kit import admitted, both, ran


def accounted(reason: AdmissionReason) -> int:
    return (
        reason.reused
        + reason.evicted
        + reason.isolated
        + reason.granularity
        + reason.window
        + reason.lookahead
    )


@both
def test_the_first_request_diverges_at_once(partial: bool) -> None:
    reason = admitted(PrefixCache(8, 4, partial_pages=partial), range(9)).reason
    assert reason == AdmissionReason(reused=0, diverged_at=0)


@both
def test_a_known_prompt_diverges_nowhere(partial: bool) -> None:
    cache = PrefixCache(8, 4, partial_pages=partial)
    ran(cache, range(9))
    reason = admitted(cache, range(9)).reason
    assert (reason.reused, reason.diverged_at) == (8, None)
    assert reason.shared == (9 if partial else 8)


@both
def test_evicted_tokens_are_told_from_unknown_ones(partial: bool) -> None:
    now = 0.0
    cache = PrefixCache(4, 4, partial_pages=partial, clock=lambda: now)
    ran(cache, range(16))
    now = 7.5
    cache.evict(2)
    now = 9.0
    reason = admitted(cache, [*range(14), 77, 78]).reason
    assert reason.reused == 8
    assert reason.evicted == (6 if partial else 4)
    assert reason.granularity == (0 if partial else 2)
    assert (reason.evicted_at, reason.diverged_at) == (7.5, 14)


def test_what_was_evicted_and_computed_again_is_cached_again() -> None:
    cache = PrefixCache(8, 4)
    ran(cache, range(16))
    cache.evict()
    assert ran(cache, range(16)) == 0
    reason = admitted(cache, range(16)).reason
    assert (reason.reused, reason.evicted) == (15, 0)


def test_the_memory_of_the_evicted_is_bounded() -> None:
    cache = PrefixCache(8, 4, remember_tokens=40)
    for first in range(200):
        ran(cache, [first, *range(15)])
    assert cache._store.ghosts.size <= 40 * 4
    assert admitted(cache, [3, *range(15)]).reason.evicted == 0
    cache.check()
    nodes = list(cache._store.tree.nodes())
    assert len(nodes) < 12


def test_what_came_back_or_left_the_tree_is_not_in_line_to_be_forgotten() -> None:
    """A half-full page is evicted, comes back, is continued by a fuller one, and so on for ever."""
    cache = PrefixCache(64, 16, share_on_admission=False)
    for _ in range(300):
        ran(cache, range(40))
        cache.evict()
        ran(cache, range(40))
        ran(cache, range(45))
        cache.evict()
    assert len(cache._store.ghosts._queue) <= 64


def test_sweeping_the_line_loses_nobody_who_is_to_be_forgotten() -> None:
    choose = random.Random(5)
    cache = PrefixCache(40, 2, remember_tokens=600)
    longest = 0
    for step in range(3_000):
        lease = cache.admit([choose.randrange(30), *range(choose.randint(1, 9)), choose.randrange(20)])
        assert lease is not None
        (cache.abort if choose.random() < 0.1 else cache.finish)(lease)
        if choose.random() < 0.05:
            cache.evict(choose.randint(1, 40))
        longest = max(longest, len(cache._store.ghosts._queue))
        if not step % 20:
            cache.check()
    assert longest > 128  # it was swept, and more than once


def test_nothing_is_remembered_when_told_so() -> None:
    cache = PrefixCache(8, 4, remember_tokens=0)
    ran(cache, range(16))
    cache.evict()
    assert admitted(cache, range(16)).reason == AdmissionReason(reused=0, diverged_at=0)
    assert cache._store.ghosts.size == 0


def test_isolated_counts_only_what_this_namespace_lacks() -> None:
    cache = PrefixCache(32, 4)
    ran(cache, range(12), namespace="a")
    ran(cache, range(6), namespace="b")
    reason = admitted(cache, range(20), namespace="b").reason
    assert (reason.reused, reason.isolated) == (6, 6)


def test_evicted_here_is_not_also_isolated() -> None:
    cache = PrefixCache(8, 4)
    ran(cache, range(12), namespace="b")
    cache.evict()
    ran(cache, range(12), namespace="a")
    reason = admitted(cache, range(13), namespace="b").reason
    assert (reason.reused, reason.evicted, reason.isolated) == (0, 12, 0)


def test_no_token_has_two_causes() -> None:
    cache = PrefixCache(12, 4, partial_pages=False, lookahead=1)
    for step in range(200):
        tokens = [(step * k) % 3 for k in range(1, 4 + step % 17)]
        lease = admitted(cache, tokens, namespace="ab"[step % 2])
        assert accounted(lease.reason) <= len(tokens) - 1
        cache.finish(lease)


def test_a_shared_prefix_is_counted_even_where_it_cannot_be_reused() -> None:
    cache = PrefixCache(16, 16, partial_pages=False)
    ran(cache, range(20))
    reason = admitted(cache, [*range(15), 99]).reason
    assert (reason.reused, reason.shared, reason.granularity) == (0, 15, 15)
