"""What keeps equal tokens apart: namespaces and extra keys."""

import itertools
from array import array
from dataclasses import replace

import numpy as np
import pytest

from promptcache_engine.cache import InvalidTokensError, Namespace, PrefixCache
from promptcache_engine.cache.namespaces import namespace_seed
from tests.engine.cache.kit import admitted, both, hit, ran

PROMPT = [1, 2, 99, 99, 99, 99, 99, 99, 3, 4, 5, 6, 7]


@both
def test_b1_a_salt_isolates(partial: bool) -> None:
    cache = PrefixCache(32, 4, partial_pages=partial)
    ran(cache, range(9), namespace="a")
    assert hit(cache, range(9), namespace="a") == 8
    other = admitted(cache, range(9), namespace="b")
    assert (other.hit, other.reason.isolated, other.reason.diverged_at) == (0, 8, 0)
    assert hit(cache, range(9)) == 0


@both
def test_b3_no_field_of_a_namespace_can_pass_for_another(partial: bool) -> None:
    fields = ("salt", "adapter", "adapter_version", "weights", "tokenizer")
    spaces: list[str | Namespace] = ["x", Namespace(), *(replace(Namespace(), **{f: "x"}) for f in fields)]
    spaces += [Namespace(adapter="x", adapter_version=version) for version in ("/one", "/two")]
    spaces += [Namespace(salt="x", adapter="y"), Namespace(salt="xy"), "", Namespace(salt="y", adapter="x")]
    cache = PrefixCache(64, 4, partial_pages=partial)
    for space in spaces:
        assert ran(cache, range(8), namespace=space) == 0
    assert len({namespace_seed(space) for space in spaces}) == len(spaces)
    keys = [key for event in cache.events() for key in event.keys]
    assert len(set(keys)) == len(keys)


@both
def test_b5_an_image_is_in_the_key(partial: bool) -> None:
    cache = PrefixCache(64, 4, partial_pages=partial)
    ran(cache, PROMPT, extra_keys=[(2, 6, "aaa")])
    assert hit(cache, PROMPT, extra_keys=[(2, 6, "aaa")]) == 12
    assert hit(cache, PROMPT, extra_keys=[(2, 6, "bbb")]) == (2 if partial else 0)
    assert hit(cache, PROMPT) == (2 if partial else 0)


@both
def test_b5_pages_before_the_image_still_hit(partial: bool) -> None:
    cache = PrefixCache(64, 4, partial_pages=partial)
    prompt = [*range(8), 99, 99, 99, 99, 5]
    ran(cache, prompt, extra_keys=[(8, 4, "aaa")])
    assert hit(cache, prompt, extra_keys=[(8, 4, "bbb")]) == 8


@pytest.mark.parametrize(
    "other", [(3, 5, "aaa"), (2, 5, "aaa"), (2, 6, b"aaa")], ids=["moved", "cut", "bytes"]
)
def test_b5_another_place_length_or_type_is_another_image(other: tuple[int, int, str | bytes]) -> None:
    cache = PrefixCache(64, 1)
    ran(cache, PROMPT, extra_keys=[(2, 6, "aaa")])
    assert hit(cache, PROMPT, extra_keys=[other]) == 2


def test_two_images_side_by_side_are_not_one_long_one() -> None:
    cache = PrefixCache(64, 1)
    ran(cache, PROMPT, extra_keys=[(2, 3, "aaa"), (5, 3, "aaa")])
    assert hit(cache, PROMPT, extra_keys=[(2, 6, "aaa")]) == 2
    assert hit(cache, PROMPT, extra_keys=[(5, 3, "aaa"), (2, 3, "aaa")]) == 12


def test_public_keys_tell_images_apart_and_do_not_depend_on_the_process() -> None:
    def keys(images: list[str], extra: list[tuple[int, int, str]]) -> list[bytes]:
        cache = PrefixCache(64, 4)
        for image in images:  # other images seen before must not show in the keys
            cache.match([1, 1], extra_keys=[(0, 1, image)])
        ran(cache, PROMPT, extra_keys=extra)
        (stored,) = cache.events()
        assert list(stored.tokens) == PROMPT[:12]
        return list(stored.keys)

    one = keys([], [(2, 6, "aaa")])
    assert one == keys(["p", "q"], [(2, 6, "aaa")])
    assert all(a != b for a, b in zip(one, keys([], [(2, 6, "bbb")]), strict=True))
    assert one[0] != keys([], [])[0]


def test_images_no_longer_in_use_are_forgotten() -> None:
    cache = PrefixCache(4, 4)
    for i in range(9_000):
        cache.match([1, 2, 3, 4], extra_keys=[(0, 4, f"image {i}")])
    assert cache._store.codec.num_extras <= 5_000
    kept = [(1, 2, "kept")]
    lease = admitted(cache, PROMPT, extra_keys=kept)
    for i in range(9_000):
        cache.match([1, 2, 3, 4], extra_keys=[(0, 4, f"other {i}")])
    cache.finish(lease)
    assert cache.match(PROMPT, extra_keys=kept) == len(PROMPT)


@pytest.mark.parametrize(
    "extra",
    [[(-1, 2, "k")], [(0, 0, "k")], [(12, 2, "k")], [(0, 3, "k"), (2, 2, "l")]],
    ids=["before", "empty", "behind", "overlapping"],
)
def test_an_extra_key_that_does_not_fit_is_refused(extra: list[tuple[int, int, str]]) -> None:
    with pytest.raises(InvalidTokensError, match="extra key"):
        PrefixCache(8, 4).admit(PROMPT, extra_keys=extra)


@pytest.mark.parametrize(
    "tokens",
    [
        [],
        [-1],
        [2**31],
        ["a"],
        [1.5],
        array("i", [-1]),
        array("I", [2**31]),
        np.array([2**31]),
        np.zeros((2, 2), dtype=int),
        np.array([-1]),
    ],
)
def test_what_is_no_prompt_is_refused(tokens: list[int]) -> None:
    cache = PrefixCache(8, 4)
    with pytest.raises(InvalidTokensError):
        cache.admit(tokens)
    assert cache.stats.free == 8


def test_any_kind_of_integer_sequence_is_the_same_prompt() -> None:
    cache = PrefixCache(8, 4)
    ran(cache, range(9))
    kinds = [
        tuple(range(9)),
        np.arange(9),
        np.arange(9, dtype=np.uint8),
        np.arange(9, dtype=np.int32),
        np.arange(9, dtype=">i4"),
        np.arange(18, dtype=np.int32)[:9],
        array("i", range(9)),
        array("Q", range(9)),
    ]
    assert [cache.match(tokens) for tokens in kinds] == [9] * len(kinds)


def test_isolation_is_found_among_thousands_of_tenants() -> None:
    cache = PrefixCache(8_192, 4)
    for tenant in range(1_000):
        lease = cache.admit([*range(12), tenant], namespace=f"tenant {tenant}")
        assert lease is not None
        cache.finish(lease)
    assert admitted(cache, range(13), namespace="new").reason.isolated == 12


def test_a_namespace_with_nothing_left_costs_nothing() -> None:
    cache = PrefixCache(4, 4, remember_tokens=0)
    for tenant in range(50):
        ran(cache, range(8), namespace=f"tenant {tenant}")
    assert len(cache._store.tree.roots) <= 2


def test_seeds_are_spread_over_all_lengths() -> None:
    texts = ["", "a", "aa", "a\0", "\0a", "\ud800"]
    seeds = {namespace_seed(Namespace(salt=a, adapter=b)) for a, b in itertools.product(texts, texts)}
    assert len(seeds) == len(texts) ** 2
