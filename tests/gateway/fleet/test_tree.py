"""The radix tree of a cache, as far as routing knows it: paths stay whole, and it stays small."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from promptcache_gateway.fleet.tree import PrefixTree

PROMPTS = st.lists(st.integers(0, 2), min_size=1, max_size=6)
STEPS = st.lists(PROMPTS, min_size=1, max_size=25)


def path(prompt: list[int]) -> tuple[int, ...]:
    """Chained keys: a key stands for everything up to it."""
    return tuple(hash(tuple(prompt[: end + 1])) for end in range(len(prompt)))


@given(STEPS, st.integers(1, 12))
def test_a_match_is_the_longest_path_that_is_held_whole(steps: list[list[int]], limit: int) -> None:
    tree = PrefixTree(limit)
    for now, prompt in enumerate(steps):
        tree.insert(path(prompt), now)
        assert len(tree) <= limit
        assert tree.match(path(prompt)) == min(len(prompt), limit)
        for known in steps[: now + 1]:
            keys = path(known)
            matched = tree.match(keys)
            assert all(tree.match(keys[:end]) == min(end, matched) for end in range(len(keys) + 1))


@given(STEPS)
def test_without_a_bound_nothing_is_forgotten(steps: list[list[int]]) -> None:
    tree = PrefixTree()
    for now, prompt in enumerate(steps):
        expected = max((shared(prompt, earlier) for earlier in steps[:now]), default=0)
        assert tree.match(path(prompt)) == expected
        tree.insert(path(prompt), now)


def shared(one: list[int], other: list[int]) -> int:
    length = 0
    while length < min(len(one), len(other)) and one[length] == other[length]:
        length += 1
    return length


def test_the_least_recently_used_leaf_goes_first() -> None:
    tree = PrefixTree(4)
    tree.insert((1, 2, 3), 0.0)
    tree.insert((1, 9), 1.0)
    tree.insert((1, 8), 2.0)
    assert [tree.match(keys) for keys in ((1, 2, 3), (1, 9), (1, 8))] == [2, 2, 2]
    tree.insert((1, 7), 3.0)
    assert tree.match((1, 2)) == 1


def test_what_was_last_used_too_long_ago_is_no_match() -> None:
    tree = PrefixTree()
    tree.insert((1, 2, 3), 0.0)
    tree.insert((1, 2), 200.0)
    assert tree.match((1, 2, 3), not_before=100.0) == 2
    assert tree.match((1, 2, 3), not_before=300.0) == 0


def test_it_can_be_told_what_is_gone() -> None:
    tree = PrefixTree()
    tree.insert((1, 2, 3, 4), 0.0)
    tree.forget((3, 4))
    assert tree.match((1, 2, 3, 4)) == 2
    tree.resize(1)
    assert (len(tree), tree.match((1, 2))) == (1, 1)
    tree.resize(10)
    tree.insert((1, 2, 3), 1.0)
    assert tree.match((1, 2, 3)) == 3
    tree.clear()
    assert (len(tree), tree.match((1,))) == (0, 0)


@given(STEPS, STEPS)
def test_two_that_tell_each_other_know_the_same(ours: list[list[int]], theirs: list[list[int]]) -> None:
    one, other = PrefixTree(), PrefixTree()
    for now, prompt in enumerate(ours):
        one.insert(path(prompt), float(now))
    for now, prompt in enumerate(theirs):
        other.insert(path(prompt), now + 0.5)
    told, heard = one.news(), other.news()
    one.learn(heard)
    other.learn(told)
    for prompt in (*ours, *theirs):
        assert one.match(path(prompt)) == other.match(path(prompt)) == len(prompt)
    assert one.news() == []


def test_news_of_an_earlier_use_does_not_make_a_path_older() -> None:
    tree = PrefixTree()
    tree.insert((1, 2), 10.0)
    tree.learn([(2, 3.0), (1, 3.0)])
    assert tree.match((1, 2), not_before=5.0) == 2
