"""What the cache is given and cannot use: one error of its own tree, and nothing changed."""

from typing import Any

import pytest

from promptcache_engine.cache import CacheConfigError, InvalidTokensError, LeaseError, Namespace, PrefixCache
from promptcache_engine.cache.policies import LruPolicy
from tests.engine.cache.kit import admitted


@pytest.mark.parametrize(
    "arguments",
    [
        {"num_pages": None},
        {"page_size": None},
        {"page_size": 2.0},
        {"tokens_per_unit": None},
        {"event_limit": None},
        {"lookahead": None},
        {"window": 0},
        {"policy": None},
        {"policy": 5},
        {"policy": "oldest"},
        {"window_pools": None},
        {"window_pools": 4},
        {"window_pools": [4]},
        {"window_pools": [(4, 2, 1)]},
        {"window_pools": [(4, 2)]},  # shared on admission
        {"clock": 5},
        {"clock": 0},
    ],
    ids=str,
)
def test_a_parameter_that_cannot_work(arguments: dict[str, Any]) -> None:
    (field,) = arguments
    with pytest.raises(CacheConfigError) as caught:
        PrefixCache(**{"num_pages": 4, "page_size": 4, **arguments})
    assert caught.value.field == field


def test_a_policy_of_ones_own_is_taken() -> None:
    assert admitted(PrefixCache(4, 4, LruPolicy()), range(5)).hit == 0


@pytest.mark.parametrize(
    "extra",
    [(0, 1.5, "a"), (0, 2), (0, 2, None), ("0", 2, "a"), (-1, 1, "a"), (True, 1, "a"), 5, "abc"],
    ids=str,
)
def test_what_is_no_extra_key(extra: Any) -> None:
    cache = PrefixCache(4, 4)
    for keys in ([extra], [(0, 1, "k"), extra]):
        with pytest.raises(InvalidTokensError):
            cache.admit([1, 2, 3], extra_keys=keys)
        with pytest.raises(InvalidTokensError):
            cache.match([1, 2, 3], extra_keys=keys)
    assert cache.stats.free == 4
    cache.check()


@pytest.mark.parametrize("namespace", [None, 5, b"a", ["a"]])
def test_what_is_no_namespace(namespace: Any) -> None:
    cache = PrefixCache(4, 4)
    for ask in (cache.admit, cache.match):
        with pytest.raises(CacheConfigError, match="namespace"):
            ask([1, 2, 3], namespace)
    for part in ("salt", "adapter", "adapter_version", "weights", "tokenizer"):
        with pytest.raises(CacheConfigError, match=part):
            Namespace(**{part: namespace})
    assert cache.stats.free == 4


@pytest.mark.parametrize("extra_keys", [3, 2.5])
def test_what_holds_no_extra_keys(extra_keys: Any) -> None:
    cache = PrefixCache(4, 4)
    for ask in (cache.admit, cache.match):
        with pytest.raises(InvalidTokensError, match=rf"extra_keys={extra_keys}.*Pass tuples"):
            ask([1, 2, 3], "", extra_keys)
    assert cache.stats.free == 4


@pytest.mark.parametrize("hints", ["x", 0, {"turn": 1}])
def test_what_are_no_hints(hints: Any) -> None:
    cache = PrefixCache(4, 4)
    with pytest.raises(CacheConfigError, match=r"hints=.* Pass Hints"):
        cache.admit([1, 2, 3], extra_keys=[(0, 1, "a")], hints=hints)
    assert cache.stats.free == 4
    assert not cache._store.codec.has_extras


@pytest.mark.parametrize(
    ("running", "error"),
    [
        (5, CacheConfigError),
        ("ab", CacheConfigError),
        ((1,), CacheConfigError),
        ((None, 3), LeaseError),
        (([], 3), LeaseError),
    ],
    ids=str,
)
def test_what_is_no_running_sequence(running: Any, error: type[Exception]) -> None:
    cache = PrefixCache(4, 4, share_on_admission=False)
    with pytest.raises(error, match="Pass"):
        cache.admit([1, 2, 3], extra_keys=[(0, 1, "a")], running=running)
    lease = admitted(cache, [1, 2, 3])
    with pytest.raises(CacheConfigError, match=r"computed=2\.0"):
        cache.admit([1, 2, 3], running=(lease, 2.0))  # type: ignore[arg-type]
    assert not cache._store.codec.has_extras
    cache.finish(lease)
    cache.check()


@pytest.mark.parametrize("computed", [8.0, 0.0, "8", True, False, b""])
def test_what_is_no_number_of_computed_tokens(computed: Any) -> None:
    """Nothing has changed: the sequence runs on, and its windows still have their pages."""
    cache = PrefixCache(16, 4, share_on_admission=False, window_pools=[(8, 12)])
    lease = admitted(cache, range(10))
    cache.windows.reserve(lease, 10)
    for ask in (cache.finish, cache.publish, cache.fork):
        with pytest.raises(CacheConfigError, match=r"computed=.* whole number") as caught:
            ask(lease, computed)
        assert (caught.value.field, caught.value.value) == ("computed", computed)
        cache.check()
    with pytest.raises(LeaseError, match="computed=-1"):
        cache.finish(lease, -1)
    cache.publish(lease, 8)
    cache.finish(lease, 8)
    cache.check()
    assert cache.stats.held == 0


@pytest.mark.parametrize("lease", [None, 5, []])
def test_what_is_no_lease(lease: Any) -> None:
    cache = PrefixCache(4, 4, share_on_admission=False)
    for ask in (
        cache.finish,
        cache.abort,
        cache.copied,
        cache.fork,
        lambda lease: cache.publish(lease, 1),
        lambda lease: cache.append(lease, [1]),
    ):
        with pytest.raises(LeaseError, match=r"lease=.* Pass what admit"):
            ask(lease)


@pytest.mark.parametrize("tokens", [None, 5, [1.5], ["a"], [-1]])
def test_what_cannot_be_appended(tokens: Any) -> None:
    cache = PrefixCache(4, 4)
    lease = admitted(cache, range(3))
    with pytest.raises(InvalidTokensError):
        cache.append(lease, tokens)
    assert (lease.length, len(lease.pages)) == (3, 1)
    cache.finish(lease)
    cache.check()


@pytest.mark.parametrize("pages", [2.5, -1, "1", True])
def test_what_is_no_number_of_pages_to_evict(pages: Any) -> None:
    cache = PrefixCache(4, 4)
    cache.finish(admitted(cache, range(16)))
    with pytest.raises(CacheConfigError, match="n_pages"):
        cache.evict(pages)
    assert cache.stats.cached == 4


def test_a_running_sequence_gives_what_it_computed_and_waits_for_the_copy() -> None:
    cache = PrefixCache(8, 16, share_on_admission=False)
    first = admitted(cache, range(10))
    with pytest.raises(LeaseError):
        cache.admit([*range(8), 99], running=(first, 11))
    assert cache.stats.held == 1
    second = cache.admit([*range(8), 99], running=(first, 7))
    other = cache.admit([*range(8), 99], "other", running=(first, 7))
    assert second is not None
    assert other is not None
    assert [(copy.src, copy.dst, copy.tokens) for copy in second.copies] == [
        (first.pages[0], second.pages[0], 7)
    ]
    assert (second.hit, second.reason.reused, other.hit, other.copies) == (7, 7, 0, [])
    assert cache.refs(first.pages[0]) == 2
    with pytest.raises(LeaseError, match="copy"):
        cache.finish(first)
    cache.copied(second)
    for lease in (first, second, other):
        cache.finish(lease)
    cache.check()
    assert cache.stats.hits == 7


@pytest.mark.parametrize("options", [{"partial_pages": False}, {"window": 8}, {"lookahead": 1}])
def test_where_pages_cannot_be_reused_in_part_nothing_is_copied_from_who_runs(
    options: dict[str, Any],
) -> None:
    cache = PrefixCache(8, 16, share_on_admission=False, **options)
    first = admitted(cache, range(10))
    second = cache.admit([*range(8), 99], running=(first, 10))
    assert second is not None
    assert (second.hit, second.copies) == (0, [])
