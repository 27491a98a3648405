"""Sequences that go on from one prompt in several ways: n answers, and branches of a conversation."""

import pytest

from promptcache_engine.cache import LeaseError, PageCopy, PrefixCache
from tests.engine.cache.kit import FakeRunner, admitted, both, pages_in_use


@both
def test_n_answers_share_the_prompts_pages(partial: bool) -> None:
    cache = PrefixCache(32, 4, partial_pages=partial, share_on_admission=False)
    first = admitted(cache, range(10))
    forks = [cache.fork(first, 10) for _ in range(3)]
    for fork in forks:
        assert fork is not None
        assert fork.pages[:2] == first.pages[:2]
        assert fork.copies == [PageCopy(first.pages[2], fork.pages[2], 2)]
        assert (fork.hit, fork.length) == (10, 10)
        cache.copied(fork)
    assert [cache.refs(page) for page in first.pages] == [4, 4, 1]
    assert pages_in_use(cache) == 2 + 4
    for answer, lease in enumerate([first, *forks]):
        assert lease is not None
        assert cache.append(lease, [100 + answer] * 3)
        cache.check()
        cache.finish(lease)
    for answer in range(4):
        asked = [*range(10), *[100 + answer] * 3]
        assert cache.match(asked) == (13 if partial else 12)
    cache.check()


def test_a_prompt_that_fills_its_pages_is_forked_for_nothing() -> None:
    cache = PrefixCache(2, 4)
    lease = admitted(cache, range(8))
    fork = cache.fork(lease)
    assert fork is not None
    assert (fork.pages, fork.copies) == (lease.pages, [])
    cache.finish(lease)
    cache.finish(fork)
    cache.check()


def test_a_fork_without_a_page_is_refused_and_changes_nothing() -> None:
    cache = PrefixCache(3, 4, share_on_admission=False)
    lease = admitted(cache, range(10))
    before = cache.stats
    assert cache.fork(lease) is None
    assert cache.stats == before
    assert lease.published == 0
    cache.check()


def test_a_fork_counts_neither_as_query_nor_as_hit() -> None:
    cache = PrefixCache(8, 4)
    lease = admitted(cache, range(10))
    assert cache.fork(lease) is not None
    assert (cache.stats.queries, cache.stats.hits) == (10, 0)


def test_the_forked_sequence_waits_until_its_page_is_copied() -> None:
    cache = PrefixCache(8, 4)
    lease = admitted(cache, range(10))
    fork = cache.fork(lease)
    assert fork is not None
    assert cache.refs(lease.pages[2]) == 2
    for call in (cache.finish, cache.abort, lambda held: cache.append(held, [1])):
        with pytest.raises(LeaseError, match="copied"):
            call(lease)
    cache.copied(fork)
    assert cache.refs(lease.pages[2]) == 1
    cache.abort(lease)
    cache.finish(fork)
    cache.check()


def test_a_fork_that_ends_early_lets_go() -> None:
    cache = PrefixCache(8, 4)
    lease = admitted(cache, range(10))
    fork = cache.fork(lease)
    assert fork is not None
    cache.abort(fork)
    cache.finish(lease)
    cache.check()
    assert cache.match(range(10)) == 10


def test_a_fork_may_start_before_the_end_but_not_before_what_is_published() -> None:
    cache = PrefixCache(8, 4, share_on_admission=False)
    lease = admitted(cache, range(12))
    cache.publish(lease, 8)
    fork = cache.fork(lease, 9)
    assert fork is not None
    assert fork.length == 9
    for computed in (7, 0):
        with pytest.raises(LeaseError, match="published"):
            cache.fork(lease, computed)
    with pytest.raises(LeaseError, match="within"):
        cache.fork(lease, 13)


def test_each_branch_sees_its_own_tokens_only() -> None:
    cache = PrefixCache(16, 4, share_on_admission=False)
    runner = FakeRunner(cache)
    lease = admitted(cache, range(6))
    runner.start(lease, "", list(range(6)))
    runner.compute(lease, 6)
    fork = cache.fork(lease, 6)
    assert fork is not None
    runner.start(fork, "", list(range(6)))
    runner.copy(fork)
    for held, token in ((lease, 50), (fork, 60)):
        assert cache.append(held, [token] * 4)
        runner.history[held][1].extend([token] * 4)
        runner.compute(held, 10)
    runner.verify(lease)
    runner.verify(fork)
