"""What is found: to the page, and to the token."""

import pytest

from promptcache_engine.cache import PageCopy, PrefixCache
from tests.engine.cache.kit import admitted, both, hit, ran


@both
def test_a1_an_exact_repeat_leaves_the_last_token_to_compute(partial: bool) -> None:
    cache = PrefixCache(16, 4, partial_pages=partial)
    ran(cache, range(12))
    assert hit(cache, range(12)) == (11 if partial else 8)


@both
def test_a2_one_token_more_is_one_page_more(partial: bool) -> None:
    cache = PrefixCache(16, 4, partial_pages=partial)
    ran(cache, range(13))
    assert hit(cache, range(13)) == 12


@both
def test_a3_shorter_than_a_page(partial: bool) -> None:
    cache = PrefixCache(4, 16, partial_pages=partial)
    ran(cache, range(15))
    assert cache.stats.cached == (1 if partial else 0)
    lease = admitted(cache, range(15))
    assert lease.hit == (14 if partial else 0)
    assert lease.reason.granularity == (0 if partial else 14)


@both
def test_a4_divergence_inside_a_page(partial: bool) -> None:
    cache = PrefixCache(16, 4, partial_pages=partial)
    ran(cache, [*range(12), 99])
    lease = admitted(cache, [*range(6), 50, 51, 52, 53, 54])
    assert lease.hit == (6 if partial else 4)
    assert lease.reason.diverged_at == 6
    assert lease.reason.granularity == (0 if partial else 2)


@both
def test_a6_equal_pages_at_another_depth_are_other_pages(partial: bool) -> None:
    cache = PrefixCache(16, 4, partial_pages=partial)
    ran(cache, [1, 2, 3, 4, 1, 2, 3, 4, 9])
    assert hit(cache, [5, 6, 7, 8, 1, 2, 3, 4, 9]) == 0
    stored = cache.events()[0]
    assert stored.kind == "stored"
    assert len(set(stored.keys)) == 2
    assert stored.parent is None


@both
def test_a8_matching_may_split_but_changes_nothing_stored(partial: bool) -> None:
    cache = PrefixCache(20, 1, partial_pages=partial)
    ran(cache, range(1, 9))
    ran(cache, [1, 2, 9, 10])
    assert cache.stats.cached == 10
    for tokens, found in (([1, 2, 3, 4, 999], 4), (list(range(1, 9)), 8), ([1, 2, 9, 10], 4)):
        assert cache.match(tokens) == found
        cache.check()
        assert cache.stats.cached == 10


@both
def test_a10_generated_tokens_are_reusable(partial: bool) -> None:
    cache = PrefixCache(16, 4, partial_pages=partial)
    ran(cache, range(6), generated=[60, 61, 62])
    assert hit(cache, [*range(6), 60, 61, 62, 7]) == (9 if partial else 8)


@both
def test_a10_a_token_that_was_never_computed_is_not_reusable(partial: bool) -> None:
    cache = PrefixCache(16, 4, partial_pages=partial)
    lease = admitted(cache, range(6))
    cache.append(lease, [60, 61])
    cache.finish(lease, computed=7)
    assert cache.match([*range(6), 60, 61]) == (7 if partial else 4)


@both
def test_a11_a_retokenized_reply_matches_up_to_the_seam(partial: bool) -> None:
    cache = PrefixCache(16, 4, partial_pages=partial)
    ran(cache, range(8), generated=[14, 198, 198, 14])
    assert hit(cache, [*range(8), 14, 271, 14, 3]) == (9 if partial else 8)


@pytest.mark.parametrize("page_size", [1, 2, 5, 16, 64, 128, 256])
def test_the_page_size_costs_no_hits(page_size: int) -> None:
    cache = PrefixCache(2_048 // page_size, page_size)
    ran(cache, range(700))
    assert hit(cache, [*range(333), 9, 9]) == 333


def test_a_copy_names_the_page_it_reads_and_the_tokens_it_takes() -> None:
    cache = PrefixCache(8, 4)
    first = admitted(cache, range(8))
    cache.finish(first)
    second = admitted(cache, [0, 1, 2, 3, 4, 5, 50])
    assert second.copies == [PageCopy(first.pages[1], second.pages[1], 2)]
    assert second.pages[0] == first.pages[0]
    assert second.pages[1] != first.pages[1]


def test_the_best_of_many_half_matching_pages_is_copied() -> None:
    cache = PrefixCache(64, 8)
    for last in range(20):
        ran(cache, [1, 2, 3, 4, 5, last, last, last])
    assert hit(cache, [1, 2, 3, 4, 5, 13, 13, 77]) == 7


@pytest.mark.parametrize("on_admission", [True, False])
@pytest.mark.parametrize("use_cache", [True, False])
def test_a_longer_turn_continues_a_half_full_page(on_admission: bool, use_cache: bool) -> None:
    cache = PrefixCache(16, 4, share_on_admission=on_admission)
    for turn in range(1, 8):
        found = ran(cache, range(3 * turn), use_cache=use_cache)
        assert found == (3 * (turn - 1) if use_cache else 0)
    assert cache.stats.cached == 6


def test_nothing_is_reused_on_request_but_the_pages_are_stored() -> None:
    cache = PrefixCache(16, 4)
    ran(cache, range(8))
    lease = admitted(cache, range(12), use_cache=False)
    assert (lease.hit, lease.reason.reused, lease.reason.shared) == (0, 0, 8)
    cache.finish(lease)
    assert cache.match(range(12)) == 12
    assert cache.stats.cached == 3


def test_f1_a_draft_model_needs_the_next_token_to_match_too() -> None:
    cache = PrefixCache(16, 16, partial_pages=False, lookahead=1)
    ran(cache, range(48))
    assert hit(cache, range(48)) == 32
    lease = admitted(cache, [*range(32), 99])
    assert lease.hit == 16
    assert lease.reason.lookahead == 16


def test_f1_to_the_token() -> None:
    cache = PrefixCache(16, 16, lookahead=1)
    ran(cache, range(48))
    assert hit(cache, range(60)) == 47
    assert hit(cache, [*range(32), 99, 98]) == 31
