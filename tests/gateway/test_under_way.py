"""What requests under way hold in memory is bounded together, and never leaks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptcache_gateway.errors import ApiError
from promptcache_gateway.under_way import UnderWay


def budget(most: int) -> UnderWay:
    return UnderWay(most, "The things under way", "[table] key")


STEPS = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from(["take", "expect", "end"]), st.integers(0, 160)),
    max_size=80,
)


@given(STEPS)
def test_what_is_taken_keeps_to_the_budget_and_is_all_given_back(steps: list[tuple[int, str, int]]) -> None:
    under_way = budget(100)
    portions = [under_way.portion("t") for _ in range(6)]
    refused = 0
    for who, step, size in steps:
        portion, before = portions[who], under_way.bytes
        if step == "end":
            under_way.end(portion)
            portions[who] = under_way.portion("t")
            continue
        alone = before == portion.size
        if alone or before + size <= 100:
            getattr(portion, step)(size)
            assert under_way.bytes == before + (size if step == "take" else 0)
        else:
            with pytest.raises(ApiError) as caught:
                getattr(portion, step)(size)
            assert (caught.value.status, caught.value.code, caught.value.retry_after) == (
                503,
                "overloaded",
                1,
            )
            assert under_way.bytes == before
            refused += 1
        holders = [portion.size for portion in portions if portion.size]
        assert under_way.bytes == sum(holders)
        assert under_way.bytes <= 100 or len(holders) == 1
    assert under_way.refused.total() == refused
    for portion in portions:
        with portion:
            pass
    assert under_way.bytes == 0


def test_one_that_is_larger_than_all_goes_alone() -> None:
    under_way = budget(100)
    with under_way.portion("t") as large:
        large.take(80)
        large.take(5_000)
        with (
            under_way.portion("other") as small,
            pytest.raises(ApiError, match=r"The things .*\[table\] key"),
        ):
            small.take(1)
    assert under_way.bytes == 0
    assert under_way.refused == {"other": 1}


def test_who_has_ended_takes_no_more() -> None:
    """A database that answers when nobody waits any longer."""
    under_way = budget(100)
    with under_way.portion("t") as portion:
        pass
    with pytest.raises(ApiError):
        portion.take(10)
    assert (under_way.bytes, under_way.refused) == (0, {})


def test_a_budget_that_shrinks_holds_for_what_comes() -> None:
    under_way = budget(100)
    with under_way.portion("t") as first, under_way.portion("t") as second:
        first.take(60)
        under_way.most = 50
        with pytest.raises(ApiError):
            second.take(10)
        under_way.most = 70
        second.take(10)
        assert under_way.bytes == 70


def test_threads_lose_nothing() -> None:
    under_way = budget(10**9)

    def work(_: int) -> None:
        for _ in range(300):
            with under_way.portion("t") as portion:
                portion.take(7)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert under_way.bytes == 0
