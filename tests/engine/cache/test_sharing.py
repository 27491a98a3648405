"""Several sequences on the same pages: reference counts, locks, duplicates, refusals."""

import pytest

from promptcache_engine.cache import LeaseError, PrefixCache
from tests.engine.cache.kit import admitted, both, hit, pages_in_use, ran


@both
def test_c1_shares_while_the_first_is_still_running(partial: bool) -> None:
    cache = PrefixCache(16, 4, partial_pages=partial)
    a = admitted(cache, range(9))
    b = admitted(cache, [*range(8), 50])
    assert b.hit == 8
    assert b.pages[:2] == a.pages[:2]
    assert [cache.refs(page) for page in b.pages] == [2, 2, 1]
    cache.finish(a)
    assert [cache.refs(page) for page in b.pages] == [1, 1, 1]
    cache.finish(b)
    assert [cache.refs(page) for page in b.pages] == [0, 0, 0]
    assert cache.match(range(8)) == 8
    cache.check()


@both
def test_c1_when_the_runner_says_what_is_computed(partial: bool) -> None:
    cache = PrefixCache(16, 4, partial_pages=partial, share_on_admission=False)
    a = admitted(cache, range(9))
    assert hit(cache, [*range(8), 50]) == 0
    cache.publish(a, 7)
    assert hit(cache, [*range(8), 50]) == 4
    cache.publish(a, 9)
    assert hit(cache, [*range(8), 50]) == 8
    cache.check()


@both
def test_c3_inserting_what_is_there_frees_the_duplicate(partial: bool) -> None:
    cache = PrefixCache(20, 1, partial_pages=partial)
    ran(cache, [1, 2, 3, 4])
    assert cache.stats.free == 16
    ran(cache, [1, 2, 3, 4], use_cache=False)
    assert (cache.stats.free, cache.stats.cached, cache.stats.held) == (16, 4, 0)


@both
def test_c3_sequences_that_computed_the_same_end_on_the_same_pages(partial: bool) -> None:
    cache = PrefixCache(32, 4, partial_pages=partial, share_on_admission=False)
    a, b = admitted(cache, range(11)), admitted(cache, range(11))
    assert not set(a.pages) & set(b.pages)
    cache.publish(a, 11)
    cache.publish(b, 11)
    assert a.pages[:2] == b.pages[:2]
    assert pages_in_use(cache) == 4
    cache.finish(a)
    cache.finish(b)
    assert pages_in_use(cache) == (3 if partial else 2)
    cache.check()


@both
def test_c4_a_refused_admission_touches_nothing(partial: bool) -> None:
    cache = PrefixCache(4, 4, partial_pages=partial)
    a = admitted(cache, range(8))
    before = cache.stats
    assert cache.admit([*range(8), *range(100, 112)]) is None
    cache.check()
    assert cache.stats == before
    assert before.free == 2
    assert [cache.refs(page) for page in a.pages] == [1, 1]


@both
def test_c4_nor_does_it_change_what_is_evicted_next(partial: bool) -> None:
    cache = PrefixCache(3, 4, partial_pages=partial)
    ran(cache, range(4))
    ran(cache, range(10, 14))
    assert cache.admit([*range(4), *range(50, 70)]) is None
    admitted(cache, range(80, 88))  # the free page, and the oldest
    assert cache.match(range(4)) == 0
    assert cache.match(range(10, 14)) == 4


@both
def test_c6_splitting_a_held_node_holds_both_halves(partial: bool) -> None:
    cache = PrefixCache(8, 1, partial_pages=partial)
    ran(cache, range(1, 7))
    lease = admitted(cache, range(1, 8))
    assert (cache.stats.held, cache.stats.cached) == (7, 0)
    assert cache.match([1, 2, 3]) == 3
    assert hit(cache, [1, 2, 3, 9]) == 3
    assert cache.evict(9) == 0
    cache.check()
    cache.abort(lease)
    assert (cache.stats.held, cache.stats.cached) == (0, 6)
    assert cache.evict(9) == 6


@both
def test_an_aborted_sequence_leaves_nothing(partial: bool) -> None:
    cache = PrefixCache(16, 4, partial_pages=partial)
    lease = admitted(cache, range(10))
    cache.append(lease, [1, 2, 3])
    cache.abort(lease)
    assert cache.match(range(10)) == 0
    assert cache.stats.free == 16
    assert {event.kind for event in cache.events()} == {"stored", "removed"}


@both
def test_an_aborted_sequence_leaves_what_others_use(partial: bool) -> None:
    cache = PrefixCache(16, 4, partial_pages=partial)
    a = admitted(cache, range(9))
    b = admitted(cache, [*range(8), 50])
    cache.abort(a)
    cache.check()
    assert [cache.refs(page) for page in b.pages] == [1, 1, 1]
    cache.finish(b)
    assert cache.match([*range(8), 50]) == (9 if partial else 8)


@both
def test_an_abort_keeps_what_was_there_before(partial: bool) -> None:
    cache = PrefixCache(16, 4, partial_pages=partial)
    ran(cache, range(9))
    assert hit(cache, [*range(8), 50, 51, 52, 53, 54]) == 8
    assert cache.match(range(9)) == (9 if partial else 8)


@both
def test_only_what_was_computed_is_kept(partial: bool) -> None:
    cache = PrefixCache(16, 4, partial_pages=partial)
    lease = admitted(cache, range(12))
    cache.finish(lease, computed=6)
    cache.check()
    assert cache.match(range(12)) == (6 if partial else 4)


def test_a_source_page_cannot_be_evicted_before_it_was_copied() -> None:
    cache = PrefixCache(4, 4)
    ran(cache, range(8))
    lease = admitted(cache, [0, 1, 2, 3, 4, 5, 50])
    (copy,) = lease.copies
    assert cache.refs(copy.src) == 1
    assert cache.evict() == 0
    cache.copied(lease)
    assert cache.refs(copy.src) == 0
    assert cache.evict() == 1
    cache.check()
    cache.finish(lease)
    cache.check()


def test_in_the_last_page_of_a_pool_the_source_itself_is_taken_over() -> None:
    cache = PrefixCache(3, 4)
    ran(cache, range(10))
    lease = admitted(cache, [*range(10), 50])
    assert (lease.hit, lease.copies) == (10, [])
    cache.finish(lease)
    cache.check()
    assert cache.match([*range(10), 50]) == 11


def test_append_says_when_there_is_no_page_left_and_changes_nothing() -> None:
    cache = PrefixCache(2, 4)
    lease = admitted(cache, range(7))
    assert cache.append(lease, [7])
    before = list(lease.pages)
    assert not cache.append(lease, [8])
    assert (lease.length, lease.pages) == (8, before)
    cache.check()


def test_append_evicts_when_it_must() -> None:
    cache = PrefixCache(2, 4)
    ran(cache, range(4))
    lease = admitted(cache, range(10, 14))
    assert cache.append(lease, [14])
    assert cache.match(range(4)) == 0
    cache.check()


def test_a_lease_ends_once() -> None:
    cache = PrefixCache(4, 4)
    lease = admitted(cache, range(4))
    cache.finish(lease)
    for call in (cache.finish, cache.abort, cache.copied, lambda ended: cache.append(ended, [1])):
        with pytest.raises(LeaseError, match="ended"):
            call(lease)
    with pytest.raises(LeaseError, match="another cache"):
        PrefixCache(4, 4).finish(admitted(cache, range(4)))


def test_no_more_can_be_computed_than_there_is() -> None:
    cache = PrefixCache(4, 4)
    lease = admitted(cache, range(4))
    for computed in (-1, 5):
        with pytest.raises(LeaseError, match="computed"):
            cache.finish(lease, computed=computed)
    cache.finish(lease, computed=0)
    assert cache.stats.free == 4


def test_a_runner_that_publishes_is_warned_of_a_cache_that_shares_too_early() -> None:
    cache = PrefixCache(4, 4)
    with pytest.raises(LeaseError, match="share_on_admission=False"):
        cache.publish(admitted(cache, range(4)), 4)


def test_an_abort_leaves_the_pages_others_ended_with() -> None:
    cache = PrefixCache(32, 4, share_on_admission=False)
    first = admitted(cache, range(12))
    cache.publish(first, 12)
    ran(cache, [*range(8), 50])
    cache.abort(first)
    cache.check()
    assert hit(cache, [*range(8), 60]) == 8
    assert hit(cache, [*range(12), 60]) == 8


def test_an_abort_leaves_the_part_of_a_page_others_ended_with() -> None:
    cache = PrefixCache(32, 4, share_on_admission=False)
    first, second = admitted(cache, range(8)), admitted(cache, range(7))
    cache.publish(first, 8)
    cache.finish(second)  # its last page is not stored: a fuller one holds the same
    cache.abort(first)
    cache.check()
    assert hit(cache, [*range(8), 60]) == 7
    assert cache.evict() == 2
    assert cache.stats.free == 32
