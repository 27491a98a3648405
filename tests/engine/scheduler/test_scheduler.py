"""The scheduler alone, without a model: who is computed when, and who holds pages."""

import pytest

from promptcache_engine.scheduler import Chunk, Sequence
from tests.engine.scheduler.bench import Bench, sequence, work


def test_a_long_prompt_is_cut_in_chunks_of_the_budget() -> None:
    bench = Bench(budget=16)
    long = sequence(list(range(40)))
    bench.add(long)
    assert [work(bench.step()) for _ in range(4)] == [
        [(long, 0, 16)],
        [(long, 16, 16)],
        [(long, 32, 8)],
        [(long, 40, 1)],
    ]


def test_decodes_never_stall_behind_a_long_prompt() -> None:
    bench = Bench(budget=8)
    first = sequence([1, 2, 3])
    bench.add(first)
    bench.step()
    long = sequence(list(range(100, 150)))
    bench.add(long)
    for step in range(5):
        assert work(bench.step()) == [(first, 3 + step, 1), (long, 7 * step, 7)]


def test_prompts_share_the_budget_in_the_order_of_arrival() -> None:
    bench = Bench(budget=16)
    a, b, c = sequence([1] * 10), sequence([2] * 10), sequence([3] * 10)
    bench.add(a, b, c)
    assert work(bench.step()) == [(a, 0, 10), (b, 0, 6)]
    assert work(bench.step()) == [(a, 10, 1), (b, 6, 4), (c, 0, 10)]


def test_no_more_run_than_may() -> None:
    bench = Bench(running=2)
    sequences = [sequence([i, i]) for i in range(3)]
    bench.add(*sequences)
    assert list(bench.step().admitted) == sequences[:2]
    assert not bench.step().admitted
    bench.scheduler.release(sequences[0], keep=True)
    assert list(bench.step().admitted) == sequences[2:]


def test_who_does_not_fit_waits_and_is_not_overtaken() -> None:
    bench = Bench(num_pages=4, budget=32, policy="fcfs")
    first, large, small = sequence([1] * 8), sequence([2] * 12), sequence([3] * 2)
    bench.add(first, large, small)
    assert list(bench.step().admitted) == [first]
    assert not bench.step().admitted
    bench.scheduler.release(first, keep=False)
    assert list(bench.step().admitted) == [large, small]


def test_what_can_never_fit_is_rejected() -> None:
    bench = Bench(num_pages=2, budget=32, policy="fcfs")
    large, small = sequence([1] * 9), sequence([2] * 8)
    bench.add(large, small)
    plan = bench.step()
    assert list(plan.rejected) == [large]
    assert list(plan.admitted) == [small]


def test_the_youngest_gives_its_pages_and_comes_back_first() -> None:
    bench = Bench(num_pages=4, budget=32)
    old, young, late = sequence([1] * 7), sequence([2] * 7), sequence([3] * 7)
    bench.add(old, young, late)
    assert list(bench.step().admitted) == [old, young]
    bench.step()  # both fill their second page
    plan = bench.step()
    assert work(plan) == [(old, 8, 1)]
    assert (young.preemptions, young.lease, young.computed) == (1, None, 0)
    assert young.output_tokens == 2
    assert not plan.admitted
    bench.scheduler.release(old, keep=False)
    plan = bench.step()
    assert list(plan.admitted) == [young]
    # Its pages were kept, but for the one the older sequence needed.
    assert work(plan) == [(young, 4, 5)]
    assert bench.scheduler.stats().preemptions == 1
    stats = bench.cache.stats
    assert (stats.queries, stats.preempted_queries, stats.preempted_hits) == (14, 9, 4)


def test_a_sequence_alone_that_outgrows_the_pool_is_rejected() -> None:
    bench = Bench(num_pages=2)
    only = sequence([1] * 8)
    bench.add(only)
    bench.step()
    plan = bench.step()
    assert list(plan.rejected) == [only]
    assert bench.cache.stats.held == 0


def test_a_finished_prefix_is_found_to_the_token() -> None:
    bench = Bench()
    first = sequence(list(range(10)))
    bench.add(first)
    bench.step()
    bench.scheduler.release(first, keep=True)
    second = sequence([*range(10), 99])
    bench.add(second)
    assert work(bench.step()) == [(second, 10, 1)]
    assert second.cached_tokens == 10


def test_an_opted_out_sequence_leaves_nothing() -> None:
    bench = Bench()
    for _ in range(2):
        out = sequence(list(range(10)), use_cache=False)
        bench.add(out)
        assert work(bench.step()) == [(out, 0, 10)]
        bench.scheduler.release(out, keep=True)
        assert bench.cache.stats.cached == 0


def test_equal_cold_prompts_wait_for_the_first() -> None:
    bench = Bench(num_pages=200, budget=60, running=16)
    prefix = list(range(100))
    sequences = [sequence([*prefix, 200 + i]) for i in range(8)]
    other = sequence([7, 8, 9])
    bench.add(*sequences, other)
    assert work(bench.step()) == [(other, 0, 3), (sequences[0], 0, 57)]
    assert work(bench.step()) == [(other, 3, 1), (sequences[0], 57, 44)]
    assert bench.scheduler.stats().held_back == 7
    third = bench.step()
    assert [each.cached_tokens for each in third.admitted] == [100] * 7
    assert bench.scheduler.stats().held_back == 0


def test_a_hold_ends_with_its_leader() -> None:
    bench = Bench(num_pages=200, budget=40, running=16)
    leader, follower = sequence([*range(100), 1]), sequence([*range(100), 2])
    bench.add(leader, follower)
    bench.step()
    bench.scheduler.release(leader, keep=False)
    assert work(bench.step()) == [(follower, 0, 40)]


@pytest.mark.parametrize(
    ("leader", "follower"),
    [
        (sequence(list(range(101))), sequence(list(range(101)), namespace="other")),
        (sequence(list(range(101))), sequence(list(range(101)), use_cache=False)),
        (sequence(list(range(101)), use_cache=False), sequence(list(range(101)))),
        (sequence(list(range(101))), sequence([*range(20), *range(300, 381)])),
    ],
    ids=["namespace", "follower opted out", "leader opted out", "little shared"],
)
def test_who_gains_nothing_is_not_held(leader: Sequence, follower: Sequence) -> None:
    bench = Bench(num_pages=200, budget=150)
    bench.add(leader, follower)
    assert work(bench.step()) == [(leader, 0, 101), (follower, 0, 49)]


def test_what_is_cached_already_is_not_waited_for() -> None:
    bench = Bench(num_pages=200, budget=300)
    before = sequence(list(range(101)))
    bench.add(before)
    bench.step()
    bench.scheduler.release(before, keep=True)
    # The new leader has a longer way to go, but the follower shares only what is stored.
    leader, follower = sequence([*range(101), *range(500, 800)]), sequence([*range(101), 9])
    bench.add(leader, follower)
    assert list(bench.step().admitted) == [follower, leader]
    assert (leader.cached_tokens, follower.cached_tokens) == (101, 101)


def test_cancelled_sequences_are_found_wherever_they_are() -> None:
    bench = Bench(running=1)
    running, waiting, other = sequence([1] * 5), sequence([2] * 5), sequence([3] * 5)
    bench.add(running, waiting, other)
    bench.step()
    running.cancelled = waiting.cancelled = True
    dropped = bench.scheduler.drop_cancelled()
    assert dropped == [running, waiting]
    for each in dropped:
        bench.scheduler.release(each, keep=True)
    assert bench.scheduler.drop_cancelled() == []
    assert list(bench.step().admitted) == [other]


def test_a_chunk_samples_only_at_the_end_of_what_is_known() -> None:
    known = sequence([1, 2, 3, 4])
    assert not Chunk(known, 0, 3).samples
    assert Chunk(known, 2, 2).samples
