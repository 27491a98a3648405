"""What goes when pages run out, and in which order."""

import pytest

from promptcache_engine.cache import CacheConfigError, PrefixCache
from promptcache_engine.cache.node import Node
from promptcache_engine.cache.policies import POLICIES, LruPolicy, create_policy
from tests.engine.cache.kit import admitted, both, hit, ran


@both
@pytest.mark.parametrize("policy", sorted(POLICIES))
@pytest.mark.parametrize(("fresh", "left"), [(1, 12), (2, 8), (3, 4), (4, 0)])
def test_d1_the_tail_of_a_chain_goes_first(partial: bool, policy: str, fresh: int, left: int) -> None:
    cache = PrefixCache(4, 4, policy=policy, partial_pages=partial)
    ran(cache, range(16))
    lease = admitted(cache, range(100, 100 + 4 * fresh))
    assert cache.match([*range(16), 1]) == left
    cache.abort(lease)
    cache.check()


@both
@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_d2_pages_that_were_never_cached_go_before_cached_ones(partial: bool, policy: str) -> None:
    cache = PrefixCache(10, 4, policy=policy, partial_pages=partial)
    a = admitted(cache, range(13))
    p1, p2, p3, tail = a.pages
    cache.finish(a)
    untouched = [page for page in range(10) if page not in a.pages]
    b = admitted(cache, range(100, 140))
    expected = [*untouched, tail] if partial else [tail, *untouched]
    assert b.pages == [*expected, p3, p2, p1]


@both
@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_d4_pages_just_matched_are_not_taken_for_the_same_request(partial: bool, policy: str) -> None:
    cache = PrefixCache(2, 4, policy=policy, partial_pages=partial)
    a = admitted(cache, range(4))
    cache.finish(a)
    b = admitted(cache, range(4, 8))
    cache.finish(b)
    c = admitted(cache, range(8))
    assert c.hit == 4
    assert c.pages == [*a.pages, *b.pages]


@both
@pytest.mark.parametrize("policy", ["lru", "ttl", "learned", "priority"])
def test_d6_the_least_recently_used_leaf_goes_and_its_parent_stays(partial: bool, policy: str) -> None:
    cache = PrefixCache(20, 1, policy=policy, partial_pages=partial)
    for tokens in ([1, 2, 3], [4, 5, 6], [1, 2, 7]):
        ran(cache, tokens)
    cache.match([4, 5, 6])
    cache.match([1, 2, 3])
    assert cache.evict(1) == 1
    cache.check()
    assert [cache.match(tokens, touch=False) for tokens in ([1, 2, 3], [1, 2, 7], [4, 5, 6])] == [3, 2, 3]


def test_a_look_without_a_touch_changes_no_order() -> None:
    cache = PrefixCache(4, 1)
    ran(cache, [1, 2])
    ran(cache, [3, 4])
    cache.match([1, 2], touch=False)
    cache.evict(1)
    assert cache.match([1, 2]) == 1
    assert cache.match([3, 4]) == 2


def test_a_partial_touch_protects_only_what_it_touched() -> None:
    cache = PrefixCache(8, 2)
    ran(cache, [1, 2, 3, 4, 5, 6])
    ran(cache, [7, 8])
    assert cache.match([1, 2, 3, 9]) == 3
    cache.check()
    cache.evict(2)
    assert cache.match([1, 2, 3, 4, 5, 6]) == 4
    assert cache.match([7, 8]) == 0


@both
def test_evicting_everything_frees_everything(partial: bool) -> None:
    cache = PrefixCache(16, 4, partial_pages=partial)
    for first in range(5):
        ran(cache, [first, *range(9)])
    cached = cache.stats.cached
    assert cache.evict() == cached
    assert cache.stats.free == 16
    assert cache.evict(3) == 0
    cache.check()


def test_recency_is_the_time_of_release() -> None:
    cache = PrefixCache(4, 4)
    a, b = admitted(cache, range(8)), admitted(cache, range(10, 18))
    cache.finish(b)
    cache.finish(a)
    cache.evict(2)
    assert cache.match(range(8)) == 8
    assert cache.match(range(10, 18)) == 0


def test_many_templates_hit_as_with_a_page_level_lru() -> None:
    """The tree evicts whole runs at once; page by page in the order of release gives the same hits."""
    cache = PrefixCache(24, 4, partial_pages=False)
    pages: dict[tuple[int, ...], None] = {}
    for step in range(300):
        template = (step * step) % 7
        prompt = [*range(10 * template, 10 * template + 8), 100 + step, *range(200, 205)]
        chain = [tuple(prompt[:end]) for end in range(4, 13, 4)]
        found = next((i for i, page in enumerate(chain) if page not in pages), len(chain))
        assert ran(cache, prompt) == 4 * found
        for page in reversed(chain):
            pages.pop(page, None)
            pages[page] = None
        while len(pages) > 24:
            del pages[next(iter(pages))]
        while len(pages) + 1 > 24:  # the page the running tail takes
            del pages[next(iter(pages))]


def test_an_unknown_policy_is_named_with_those_there_are() -> None:
    with pytest.raises(CacheConfigError, match="lru"):
        PrefixCache(4, 4, policy="newest")
    assert all(create_policy(name, float, 4).victim() is None for name in POLICIES)


def test_lru_gives_up_what_is_held() -> None:
    policy, old, young = LruPolicy(), Node(None, b"", [0]), Node(None, b"", [1])
    policy.release(old)
    policy.release(young)
    policy.hold(old)
    assert policy.victim() is young
    policy.release(old)
    policy.release(young)
    assert policy.victim() is old
    policy.clear()
    assert policy.victim() is None


def test_a_hit_survives_pressure_only_as_long_as_its_pages() -> None:
    cache = PrefixCache(4, 4)
    ran(cache, range(16))
    ran(cache, range(50, 58))
    assert hit(cache, range(16)) == 8
